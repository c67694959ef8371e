"""What is tried again, how often, and what never is."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.client.conftest import EXECUTION, WORKFLOW, Cut, Reply, Script, execution, problem, workflow
from tidings.client import ApiError, Client, Conflict, NotFound, Retrying, ServerUnreachable, Unauthorized

Call = Callable[[Client], Awaitable[object]]
ONCE: dict[str, Call] = {
    "create a workflow": lambda client: client.workflows.create("welcome", {}),
    "delete a workflow": lambda client: client.workflows.delete(WORKFLOW),
    "retry an execution": lambda client: client.executions.retry(EXECUTION),
    "replay dead letters": lambda client: client.dead_letters.replay({"workflow": "welcome"}),
    "create a key": lambda client: client.keys.create("app", "triggerOperator"),
}


async def test_looking_is_tried_again_until_it_succeeds(client: Client, script: Script) -> None:
    script.answers(Cut(), Reply(503), Cut(), Reply(200, execution()))

    assert (await client.status(EXECUTION)).status == "enqueued"
    assert len(script.asked) == 4


async def test_a_server_that_stays_away_is_named_with_the_number_of_tries(client: Client, script: Script) -> None:
    script.answers(Cut())

    with pytest.raises(ServerUnreachable, match=rf"no answer from {script.url}, tried 4 times: .*check TIDINGS_URL"):
        await client.status(EXECUTION)

    assert len(script.asked) == 4


async def test_a_passing_answer_that_does_not_pass_is_raised(client: Client, script: Script) -> None:
    script.answers(problem(503, "storage_unavailable", "try again in a moment"))

    with pytest.raises(ApiError, match="503 storage_unavailable: try again in a moment"):
        await client.status(EXECUTION)

    assert len(script.asked) == 4


@pytest.mark.parametrize("call", ONCE.values(), ids=ONCE.keys())
@pytest.mark.parametrize("lost", [Cut(), Reply(503)])
async def test_what_may_have_happened_is_not_asked_for_twice(
    client: Client, script: Script, call: Call, lost: Reply | Cut
) -> None:
    script.answers(lost)

    with pytest.raises((ServerUnreachable, ApiError)):
        await call(client)

    assert len(script.asked) == 1


async def test_what_cannot_have_arrived_is_tried_again_whatever_it_is(script: Script) -> None:
    retrying = Retrying(attempts=3, base_seconds=0.001, cap_seconds=0.002)
    async with Client("http://127.0.0.1:1", "key", retrying=retrying) as client:
        with pytest.raises(ServerUnreachable, match="tried 3 times"):
            await client.workflows.create("welcome", {})


@pytest.mark.parametrize("call", ONCE.values(), ids=ONCE.keys())
async def test_too_many_requests_are_waited_out_as_long_as_asked(client: Client, script: Script, call: Call) -> None:
    script.answers(Reply(429, headers={"retry-after": "0.2"}), problem(409, "conflict", "not now"))
    began = time.monotonic()

    with pytest.raises(Conflict):
        await call(client)

    assert len(script.asked) == 2
    assert time.monotonic() - began >= 0.2


def test_a_wait_is_never_shorter_than_asked_for_and_never_endless() -> None:
    retrying = Retrying(base_seconds=1.0, cap_seconds=4.0, longest_retry_after_seconds=10.0)

    assert all(0.5 <= retrying.wait(1) <= 1.0 for _ in range(100))
    assert all(2.0 <= retrying.wait(9) <= 4.0 for _ in range(100))
    assert retrying.wait(1, 7.0) == 7.0
    assert retrying.wait(1, 9_999.0) == 10.0


async def test_a_date_in_retry_after_is_understood(client: Client, script: Script) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    script.answers(Reply(429, headers={"retry-after": past}), Reply(200, execution()))

    assert (await client.status(EXECUTION)).status == "enqueued"


@pytest.mark.parametrize(
    ("status", "kind"), [(401, Unauthorized), (403, Unauthorized), (404, NotFound), (409, Conflict), (500, ApiError)]
)
async def test_an_error_has_its_class_and_is_not_tried_again(
    client: Client, script: Script, status: int, kind: type[ApiError]
) -> None:
    script.answers(problem(status, "some_code", "because"))

    with pytest.raises(kind) as raised:
        await client.status(EXECUTION)

    assert (raised.value.status, raised.value.code, raised.value.detail) == (status, "some_code", "because")
    assert len(script.asked) == 1


async def test_a_page_of_a_proxy_is_an_error_too(client: Client, script: Script) -> None:
    script.answers(Reply(418, "teapot"))

    with pytest.raises(ApiError, match="418 error"):
        await client.status(EXECUTION)


async def test_an_answer_that_is_none_of_ours_is_said_so(client: Client, script: Script) -> None:
    script.answers(Reply(200, ["what"]))

    with pytest.raises(ApiError, match="answer_unreadable"):
        await client.status(EXECUTION)


async def test_a_redirect_is_not_followed_with_the_key(client: Client, script: Script) -> None:
    script.answers(Reply(302, headers={"location": f"{script.url}/elsewhere"}))

    with pytest.raises(ApiError, match="302"):
        await client.status(EXECUTION)

    assert len(script.asked) == 1


async def test_a_server_that_only_drips_is_left_in_time() -> None:
    left = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
        while not reader.at_eof():  # faster than any wait for a single byte, and never done
            writer.write(b".")
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(10_000), 0.02)
        writer.close()
        left.set()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    began = time.monotonic()

    async with Client(url, "key", timeout=0.1, retrying=Retrying(attempts=1)) as client:
        with pytest.raises(ServerUnreachable, match="tried once"):
            await asyncio.wait_for(client.status(EXECUTION), 10)

    assert time.monotonic() - began < 2
    await asyncio.wait_for(left.wait(), 5)
    server.close()
    await server.wait_closed()


async def test_the_address_and_the_key_come_from_the_environment(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.answers(Reply(200, workflow()))
    monkeypatch.setenv("TIDINGS_URL", f"{script.url}/")
    monkeypatch.setenv("TIDINGS_KEY", "tid_environment")

    async with Client() as client:
        await client.workflows.get(WORKFLOW)

    [asked] = script.asked
    assert asked.headers["authorization"] == "Bearer tid_environment"
    assert asked.path == f"/v1/workflows/{WORKFLOW}"


@pytest.mark.parametrize("url", ["", "example.com", "ftp://example.com"])
def test_without_an_address_the_client_says_what_to_do(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDINGS_URL", raising=False)

    with pytest.raises(ValueError, match="give a url like http://host:port, or set TIDINGS_URL"):
        Client(url)
