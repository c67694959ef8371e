"""Functions over HTTP, against a real server: every answer, every lack of one, and what is never shown."""

import asyncio
import json
import logging
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvloop
from structlog.testing import capture_logs

from tests.providers.function_server import (
    HangUp,
    Say,
    Silence,
    Stall,
    answer,
    function_server,
    silent_port,
)
from tests.providers.items import marked, no, yes
from tidings.domain.errors import ConfigInvalid, StorageUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import CannotTell, Doubtful, Provider
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, NO_PRIVATE_ADDRESSES
from tidings.domain.workflows.function import Endpoint
from tidings.providers.function_answer import DEEPEST_ANSWER, LARGEST_ANSWER
from tidings.providers.functions import IDEMPOTENT, ONCE, FunctionProvider

TLS = ssl.create_default_context()  # reading every root certificate for each test would take most of the time
SECRET = "s3cret-t0ken-of-the-workspace"
PAYLOAD = '{"to":"ada@example.com","n":1.50}'


def function_item(name: str = "send-email", *, timeout: str = "5", workspace: Workspace | None = None) -> Marked:
    payload = {"action": "welcome", "payload": PAYLOAD, "timeout": timeout}
    return marked(name, payload, channel=Channel.FUNCTION, provider="functions", key=bytes(32), workspace=workspace)


@asynccontextmanager
async def provider_for(
    url: str | None,
    *,
    once: bool = False,
    secret: str | None = SECRET,
    allow_private: bool = True,
    call_deadline: timedelta = timedelta(seconds=10),
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[FunctionProvider]:
    async def directory(_: Workspace, __: str) -> Endpoint | None:
        private = EVERY_PRIVATE_ADDRESS if allow_private else NO_PRIVATE_ADDRESSES
        return None if url is None else Endpoint(url, secret, private)

    provider = FunctionProvider(
        "functions_once" if once else "functions",
        provider_class=ONCE if once else IDEMPOTENT,
        directory=directory,
        call_deadline=call_deadline,
        tls_context=tls or TLS,
    )
    try:
        yield provider
    finally:
        await provider.close()


async def outcome_of(*says: Say, once: bool = False, timeout: str = "5") -> Outcome:
    async with function_server(*says) as server, provider_for(server.url(), once=once) as provider:
        return await provider.send(function_item(timeout=timeout), yes)


# The request


async def test_the_request_is_the_one_that_004_prints_with_an_idempotency_key() -> None:
    async with function_server() as server, provider_for(server.url("/functions/v1/send-email?x=1;y")) as provider:
        checked: Provider = provider
        await checked.send(function_item(), yes)

    [request] = server.requests
    assert request.line == "POST /functions/v1/send-email?x=1;y HTTP/1.1"
    assert request.body == b'{"action":"welcome","payload":' + PAYLOAD.encode() + b"}"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["idempotency-key"] == "00" * 32
    assert request.headers["host"] == f"127.0.0.1:{server.port}"


async def test_a_repeat_has_the_same_key_and_the_same_bytes() -> None:
    async with function_server() as server, provider_for(server.url()) as provider:
        await provider.send(function_item(), yes)
        await provider.send(function_item(), yes)

    first, second = server.requests
    assert first == second


async def test_without_a_secret_no_authorization_is_sent() -> None:
    async with function_server() as server, provider_for(server.url(), secret=None) as provider:
        await provider.send(function_item(), yes)

    assert "authorization" not in server.requests[0].headers


async def test_calls_that_may_be_repeated_share_a_connection_and_others_do_not() -> None:
    async with function_server() as server, provider_for(server.url()) as provider:
        await provider.send(function_item(), yes)
        await provider.send(function_item(), yes)
        shared = server.connections
    async with function_server() as server, provider_for(server.url(), once=True) as provider:
        await provider.send(function_item(), yes)
        await provider.send(function_item(), yes)

    assert shared == 1
    assert server.connections == 2


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert isinstance(await outcome_of(answer({})), Accepted)


async def test_nothing_is_sent_when_the_lease_is_spent() -> None:
    async with function_server() as server, provider_for(server.url()) as provider:
        outcome = await provider.send(function_item(), no)

    assert outcome == RetryLater("the lease was spent before the call", uses_attempt=False)
    assert server.requests == []


async def test_a_lease_that_ends_while_connecting_stops_the_call_before_its_first_byte() -> None:
    asked: list[int] = []

    def only_after_the_connection() -> bool:
        asked.append(server.connections)
        return False

    async with function_server() as server, provider_for(server.url()) as provider:
        await provider.send(function_item(), only_after_the_connection)

    assert len(asked) == 1
    assert server.requests == []


# Answers that are the same for both classes

BOTH = pytest.mark.parametrize("once", [False, True], ids=["idempotent", "once"])


@BOTH
@pytest.mark.parametrize(
    ("body", "result"),
    [
        ({"success": True, "data": {"id": 7}}, {"id": 7}),
        ({"data": [1, 2]}, [1, 2]),
        ({"data": 0}, 0),
        ({"data": False}, False),
        ({"success": True, "data": None}, {"success": True, "data": None}),
        ({"id": 7}, {"id": 7}),
        ({"success": "false"}, {"success": "false"}),
        ({}, {}),
        ([1], [1]),
        ("done", "done"),
        (None, None),
        (12345678901234567890, 12345678901234567890),
    ],
)
async def test_json_of_a_2xx_is_the_result_and_its_data_if_there_is_any(
    body: object, result: object, once: bool
) -> None:
    assert await outcome_of(answer(body, 201), once=once) == Accepted(result=result)


@BOTH
async def test_success_false_is_a_failure_although_the_status_is_200(once: bool) -> None:
    outcome = await outcome_of(answer({"success": False, "error": "the quota is used up"}), once=once)

    assert outcome == RetryLater("the quota is used up")


@BOTH
@pytest.mark.parametrize("error", ["", None, 0])
async def test_a_failure_without_words_is_told_in_those_of_004(error: object, once: bool) -> None:
    outcome = await outcome_of(answer({"success": False, "error": error}), once=once)

    assert outcome == RetryLater("send-email/welcome failed with status 200")


async def test_an_error_that_is_no_text_is_shown_as_json() -> None:
    outcome = await outcome_of(answer({"error": {"code": 7}}, 400))

    assert outcome == Rejected('{"code":7}')


@BOTH
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 422])
async def test_a_4xx_is_a_refusal_for_good(status: int, once: bool) -> None:
    assert await outcome_of(answer({"error": "no"}, status), once=once) == Rejected("no")
    assert await outcome_of(answer(raw=b"<html>", status=status), once=once) == Rejected(
        f"send-email/welcome failed with status {status}"
    )


@BOTH
@pytest.mark.parametrize("status", [408, 425])
async def test_what_was_not_taken_is_tried_again(status: int, once: bool) -> None:
    assert await outcome_of(answer({"error": "slow"}, status), once=once) == RetryLater("slow")


@BOTH
async def test_too_many_requests_use_no_attempt_and_wait_as_long_as_asked(once: bool) -> None:
    outcome = await outcome_of(answer({"error": "slow"}, 429, headers=["Retry-After: 17"]), once=once)

    assert outcome == RetryLater("slow", timedelta(seconds=17), uses_attempt=False)


async def test_retry_after_may_be_a_date() -> None:
    date = (datetime.now(UTC) + timedelta(minutes=2)).strftime("%a, %d %b %Y %H:%M:%S GMT")

    outcome = await outcome_of(answer({}, 503, headers=[f"Retry-After: {date}"]))

    assert isinstance(outcome, RetryLater)
    assert outcome.delay is not None
    assert timedelta(seconds=110) < outcome.delay <= timedelta(minutes=2)


@pytest.mark.parametrize("word", ["soon", "-5", "1e9", "٣", "Mon, 32 Foo 2026 00:00:00 GMT", ""])
async def test_a_retry_after_that_says_nothing_is_ignored(word: str) -> None:
    outcome = await outcome_of(answer({}, 429, headers=[f"Retry-After: {word.encode().decode('latin-1')}"]))

    assert isinstance(outcome, RetryLater)
    assert outcome.delay is None


@pytest.mark.parametrize(("word", "delay"), [("99999999999999999999", None), ("999999", timedelta(days=1))])
async def test_a_retry_after_of_ages_is_cut_or_ignored(word: str, delay: timedelta | None) -> None:
    outcome = await outcome_of(answer({}, 429, headers=[f"Retry-After: {word}"]))

    assert isinstance(outcome, RetryLater)
    assert outcome.delay == delay


@BOTH
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_refused_and_not_followed(status: int, once: bool) -> None:
    async with function_server() as elsewhere:
        location = f"Location: {elsewhere.url()}"
        outcome = await outcome_of(answer(raw=b"", status=status, headers=[location]), once=once)

    assert isinstance(outcome, Rejected)
    assert "redirects are refused" in outcome.reason
    assert elsewhere.connections == 0


# Answers that depend on whether the function may be called again


@pytest.mark.parametrize("status", [500, 501, 502, 503, 504, 599])
async def test_a_5xx_may_be_called_again_only_where_that_is_declared(status: int) -> None:
    say = answer({"error": "down"}, status)

    assert await outcome_of(say) == RetryLater("down")
    assert await outcome_of(say, once=True) == Unknown("down")


@pytest.mark.parametrize(
    ("raw", "headers", "kind"),
    [
        (b"", [], "nothing at all"),
        (b"<html>", ["Content-Type: text/html; charset=utf-8"], "text/html; charset=utf-8"),
        (b"ok", [], "no content type"),
        (b'{"a":', ["Content-Type: application/json"], "application/json"),
        (b"NaN", ["Content-Type: application/json"], "application/json"),
        (b"\xff\xfe{}", ["Content-Type: application/json"], "application/json"),
        (
            b"\x1f\x8b\x08",
            ["Content-Type: application/json", "Content-Encoding: gzip"],
            "application/json, gzip",
        ),
    ],
)
async def test_a_2xx_without_json_is_a_failure_that_names_what_came(raw: bytes, headers: list[str], kind: str) -> None:
    reason = f"send-email/welcome answered 200 without JSON ({kind}): let it answer a JSON object"

    assert await outcome_of(answer(raw=raw, headers=headers)) == RetryLater(reason)
    assert await outcome_of(answer(raw=raw, headers=headers), once=True) == Unknown(reason)


# No answer


@BOTH
async def test_a_refused_connection_is_a_safe_retry(once: bool) -> None:
    async with function_server() as server:
        url = server.url()
    async with provider_for(url, once=once) as provider:
        outcome = await provider.send(function_item(), yes)

    assert isinstance(outcome, RetryLater)
    assert outcome.uses_attempt
    assert "before the request was sent" in outcome.reason


@BOTH
async def test_a_host_without_an_address_is_a_safe_retry(once: bool) -> None:
    async with provider_for("http://nobody.invalid/f", once=once) as provider:
        outcome = await provider.send(function_item(), yes)

    assert isinstance(outcome, RetryLater)


@BOTH
async def test_a_hang_before_the_request_is_a_safe_retry_and_leaves_no_connection(once: bool) -> None:
    async with (
        silent_port() as (port, left),
        provider_for(f"https://127.0.0.1:{port}/f", once=once) as provider,  # TLS waits for a hello that never comes
    ):
        outcome = await provider.send(function_item(timeout="0.5"), yes)
        await asyncio.wait_for(left.wait(), 2)

    assert outcome == RetryLater("no answer before the deadline (before the request was sent)", is_unanswered=True)


@BOTH
async def test_a_certificate_of_somebody_else_is_a_safe_retry(once: bool, server_tls: ssl.SSLContext) -> None:
    async with (
        function_server(tls=server_tls) as server,
        provider_for(server.url(scheme="https"), once=once) as provider,
    ):
        outcome = await provider.send(function_item(), yes)

    assert isinstance(outcome, RetryLater)
    assert server.requests == []


@BOTH
async def test_a_hang_after_the_request_is_unknown(once: bool) -> None:
    outcome = await outcome_of(Silence(), once=once, timeout="0.3")

    assert outcome == Unknown("no answer before the deadline (after the request was sent)", is_unanswered=True)


@BOTH
@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\nContent-Le"])
async def test_a_connection_cut_before_the_answer_is_unknown(first: bytes, once: bool) -> None:
    outcome = await outcome_of(HangUp(first), once=once)

    assert isinstance(outcome, Unknown)
    assert "after the request was sent" in outcome.reason


@BOTH
@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
)
async def test_half_of_an_answer_is_unknown(first: bytes, once: bool) -> None:
    outcome = await outcome_of(HangUp(first), once=once)

    assert outcome == Unknown("send-email/welcome answered 200, but the answer did not come whole")


@BOTH
async def test_an_answer_that_stops_half_way_is_unknown(once: bool) -> None:
    outcome = await outcome_of(Stall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), once=once, timeout="0.3")

    assert isinstance(outcome, Unknown)


async def test_a_refusal_counts_although_its_body_broke_off() -> None:
    outcome = await outcome_of(HangUp(b"HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n{"))

    assert outcome == Rejected("send-email/welcome failed with status 404")


async def test_what_is_no_http_is_unknown() -> None:
    assert isinstance(await outcome_of(HangUp(b"220 mail.example.com ESMTP\r\n")), Unknown)


async def test_a_call_never_takes_longer_than_the_provider_may() -> None:
    async with (
        function_server(Silence()) as server,
        provider_for(server.url(), call_deadline=timedelta(seconds=0.5)) as provider,
    ):
        started = datetime.now(UTC)
        outcome = await provider.send(function_item(timeout="3600"), yes)
        took = datetime.now(UTC) - started

    assert isinstance(outcome, Unknown)
    assert took < timedelta(seconds=0.5)


@pytest.mark.parametrize("timeout", ["", "soon", "-1", "0", "nan", "inf"])
async def test_a_timeout_that_is_none_leaves_the_provider_s(timeout: str) -> None:
    assert isinstance(await outcome_of(answer({}), timeout=timeout), Accepted)


# Answers made to hurt


@BOTH
async def test_a_body_that_is_too_large_is_refused_without_reading_it_all(once: bool) -> None:
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    first = endless + (b"10000\r\n" + b" " * 0x10000 + b"\r\n") * 40

    outcome = await outcome_of(Stall(first), once=once)

    assert isinstance(outcome, Rejected)
    assert f"more than {LARGEST_ANSWER:,} bytes" in outcome.reason


@pytest.mark.parametrize("depth", [DEEPEST_ANSWER + 1, 5_000, 400_000])
async def test_json_that_is_too_deep_is_refused(depth: int) -> None:
    outcome = await outcome_of(answer(raw=b"[" * depth + b"]" * depth))

    assert isinstance(outcome, Rejected)
    assert "deeper than" in outcome.reason


async def test_json_as_deep_as_allowed_is_kept() -> None:
    depth = DEEPEST_ANSWER

    assert isinstance(await outcome_of(answer(raw=b"[" * depth + b"]" * depth)), Accepted)


async def test_characters_that_cannot_be_stored_are_replaced_in_a_result() -> None:
    outcome = await outcome_of(answer(raw=rb'{"data": {"a\u0000": "b\u0000\\u0000\\\u0000"}}'))

    assert outcome == Accepted(result={"a\ufffd": "b\ufffd\\u0000\\\ufffd"})


async def test_an_error_is_one_short_printable_line() -> None:
    outcome = await outcome_of(answer({"error": "a\r\n\x00\x1b[31m" + "x" * 10_000}, 400))

    assert isinstance(outcome, Rejected)
    assert outcome.reason.isprintable()
    assert len(outcome.reason) < 600


async def test_endless_headers_end_the_call() -> None:
    outcome = await outcome_of(Stall(b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * 200_000))

    assert isinstance(outcome, Unknown)


# Where it goes


async def test_a_function_that_nobody_knows_is_refused_with_its_name_and_the_remedy() -> None:
    async with provider_for(None) as provider:
        outcome = await provider.send(function_item("send-emial"), yes)

    assert isinstance(outcome, Rejected)
    assert "'send-emial'" in outcome.reason
    assert "TIDINGS_FUNCTIONS_URL" in outcome.reason


@pytest.mark.parametrize("name", ["", ".", "..", "a\nb", "x" * 300])
async def test_a_name_that_no_url_can_carry_is_refused(name: str) -> None:
    async with function_server() as server, provider_for(server.url()) as provider:
        outcome = await provider.send(function_item(name), yes)

    assert isinstance(outcome, Rejected)
    assert server.connections == 0


@pytest.mark.parametrize("error", [StorageUnavailable("no database"), ConfigInvalid("wrong key"), TimeoutError()])
async def test_trouble_with_the_look_up_is_nobody_s_fault_and_uses_no_attempt(error: Exception) -> None:
    async def directory(_: Workspace, __: str) -> Endpoint | None:
        raise error

    outcome = await FunctionProvider(directory=directory).send(function_item(), yes)

    assert isinstance(outcome, RetryLater)
    assert not outcome.uses_attempt
    assert "could not be looked up" in outcome.reason


async def test_the_directory_is_asked_for_the_item_s_own_workspace() -> None:
    asked: list[tuple[Workspace, str]] = []

    async def directory(workspace: Workspace, name: str) -> Endpoint | None:
        asked.append((workspace, name))
        return None

    workspace = Workspace("acme", "eu")
    await FunctionProvider(directory=directory).send(function_item("f", workspace=workspace), yes)

    assert asked == [(workspace, "f")]


PRIVATE = [
    *("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "127.1"),
    *("2130706433", "0x7f000001", "017700000001", "169.254.169.254", "10.0.0.1"),
]


@BOTH
@pytest.mark.parametrize("host", PRIVATE)
async def test_a_private_address_is_not_called_however_it_is_written(host: str, once: bool) -> None:
    async with (
        function_server() as server,
        provider_for(server.url(host=host), once=once, allow_private=False) as provider,
    ):
        outcome = await provider.send(function_item(), yes)

    assert isinstance(outcome, Rejected)
    assert "TIDINGS_ALLOW_PRIVATE_ADDRESSES" in outcome.reason
    assert server.connections == 0


async def test_a_look_up_tells_nothing() -> None:
    async with provider_for(None) as provider:
        evidence = await provider.look_up(Doubtful("f", bytes(32), datetime.now(UTC)))

    assert isinstance(evidence, CannotTell)


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    san = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)]
    try:
        subprocess.run([*make, *san], check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return key, cert


@pytest.fixture
def server_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    return context


@pytest.fixture
def client_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate[1]))


async def test_tls_is_spoken_to_the_name_and_not_to_the_address(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async with function_server(tls=server_tls) as server:
        async with provider_for(server.url(host="localhost", scheme="https"), tls=client_tls) as provider:
            by_name = await provider.send(function_item(), yes)
        async with provider_for(server.url(host="127.0.0.1", scheme="https"), tls=client_tls) as provider:
            by_address = await provider.send(function_item(), yes)

    assert isinstance(by_name, Accepted)
    assert isinstance(by_address, RetryLater)


async def test_tls_works_on_the_loop_that_workers_have(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    def send_twice(url: str) -> list[Outcome]:
        async def twice() -> list[Outcome]:
            async with provider_for(url, tls=client_tls) as provider:
                return [await provider.send(function_item(), yes) for _ in range(2)]

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(twice())

    async with function_server(tls=server_tls) as server:
        outcomes = await asyncio.to_thread(send_twice, server.url(host="localhost", scheme="https"))

    assert all(isinstance(outcome, Accepted) for outcome in outcomes)
    assert server.connections == 1


# Secrets


async def test_the_secret_is_in_no_representation() -> None:
    async with provider_for("https://example.com/f") as provider:
        shown = [repr(provider), str(provider), repr(Endpoint("https://example.com/f", SECRET))]

    assert not any(SECRET in text for text in shown)


@BOTH
@pytest.mark.parametrize("status", [200, 302, 400, 429, 500])
async def test_a_secret_that_a_function_repeats_reaches_no_reason_and_no_log(
    status: int, once: bool, caplog: pytest.LogCaptureFixture
) -> None:
    say = answer({"success": False, "error": f"not allowed: Bearer {SECRET}!"}, status)

    with caplog.at_level(logging.DEBUG), capture_logs() as lines:
        outcome = await outcome_of(say, once=once)

    assert not isinstance(outcome, Accepted)
    assert SECRET not in outcome.reason
    assert SECRET not in json.dumps(lines, default=str)
    assert not any(SECRET in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("before", range(460, 501, 5))
async def test_no_half_of_a_secret_stays_where_a_long_error_is_cut_off(before: int) -> None:
    outcome = await outcome_of(answer({"error": "x" * before + SECRET}, 400))

    assert isinstance(outcome, Rejected)
    assert SECRET[:4] not in outcome.reason


async def test_a_secret_in_what_is_no_http_is_struck_out() -> None:
    outcome = await outcome_of(HangUp(f"Bearer {SECRET}\r\n\r\n".encode()))

    assert isinstance(outcome, Unknown)
    assert SECRET not in outcome.reason


async def test_many_calls_at_once_get_each_its_own_answer() -> None:
    async with function_server(answer({"data": 1})) as server, provider_for(server.url()) as provider:
        outcomes = await asyncio.gather(*(provider.send(function_item(), yes) for _ in range(50)))

    assert outcomes == [Accepted(result=1)] * 50
    assert len(server.requests) == 50
