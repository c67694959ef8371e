"""The HTTP client against a server that says anything: how far each call came, and which connections are used again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Any

import pytest
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.providers.function_server import FunctionServer, HangUp, Say, Silence, Stall, answer, function_server
from tests.providers.items import no, yes
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, PrivateAddresses
from tidings.providers import http_client
from tidings.providers.http_client import HttpClient
from tidings.providers.http_connection import LARGEST_HEAD
from tidings.providers.http_request import (
    LATE,
    AddressClosed,
    HttpAnswer,
    HttpEnd,
    HttpRequest,
    LeaseSpent,
    NoAnswer,
    NotSent,
)

OK = answer(raw=b"fine")
HEAD = b"HTTP/1.1 200 OK\r\n"


@asynccontextmanager
async def client_for(*, connections: int = 10, keeps: bool = True, **options: Any) -> AsyncIterator[HttpClient]:
    client = HttpClient(connections=connections, keeps_connections=keeps, **options)
    try:
        yield client
    finally:
        await client.close()


def request(server: FunctionServer, **options: Any) -> HttpRequest:
    chosen = {"body": b"{}", "private": EVERY_PRIVATE_ADDRESS, "largest_answer": 1_000, **options}
    return HttpRequest(chosen.pop("method", "POST"), chosen.pop("url", server.url()), **chosen)


async def send(client: HttpClient, asked: HttpRequest, *, seconds: float = 20) -> HttpEnd:
    return await client.send(asked, asyncio.get_running_loop().time() + seconds, yes)


async def ends_of(*says: Say, calls: int = 1, seconds: float = 20, **options: Any) -> tuple[list[HttpEnd], int]:
    """Make calls one after the other; return how each ended, and over how many connections they went."""
    async with function_server(*says) as server, client_for() as client:
        ends = [await send(client, request(server, **options), seconds=seconds) for _ in range(calls)]
        return ends, server.connections


# What is an answer

WHOLE = [
    (HEAD + b"Content-Length: 4\r\n\r\nfine", b"fine"),
    (HEAD + b"content-length:4\r\n\r\nfine", b"fine"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n2;x=y\r\nne\r\n0\r\n\r\n", b"fine"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\nX-Trailer: x\r\n\r\n", b"fine"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"fine"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n" + OK, b"fine"),
    (b"HTTP/1.1 204 Nothing\r\n\r\n", b""),
    (b"HTTP/1.1 304 Same\r\nContent-Length: 400\r\n\r\n", b""),
    (HEAD + b"Content-Length: 0\r\n\r\n", b""),
]


@pytest.mark.parametrize(("said", "body"), WHOLE)
async def test_an_answer_is_read_whole_and_its_connection_serves_on(said: bytes, body: bytes) -> None:
    [first, second], connections = await ends_of(said, calls=2)

    assert isinstance(first, HttpAnswer)
    assert first.body == body
    assert isinstance(second, HttpAnswer)
    assert connections == 1


async def test_an_interim_answer_leaves_nothing_in_the_final_one() -> None:
    [end], _ = await ends_of(b"HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\n" + answer(raw=b"", headers=["X-Late:  2 "]))

    assert isinstance(end, HttpAnswer)
    assert end.status == 200
    assert end.headers == {"content-length": "0", "x-late": "2"}


async def test_the_end_of_the_connection_ends_an_answer_without_a_length() -> None:
    [end, _], connections = await ends_of(HangUp(HEAD + b"\r\nfine"), calls=2)

    assert isinstance(end, HttpAnswer)
    assert end.body == b"fine"
    assert connections == 2


LAST = [
    HEAD + b"Connection: close\r\nContent-Length: 4\r\n\r\nfine",
    b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine",
    OK + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
    OK + b"HTTP/1.1 2",
    OK + b"\0\0\0",
]


@pytest.mark.parametrize("said", LAST)
async def test_a_connection_that_ends_or_says_more_than_it_was_asked_is_not_used_again(said: bytes) -> None:
    [first, second], connections = await ends_of(said, OK, calls=2)

    assert isinstance(first, HttpAnswer)
    assert isinstance(second, HttpAnswer)
    assert (first.body, second.body) == (b"fine", b"fine")
    assert connections == 2


async def test_what_comes_while_nobody_asks_is_no_answer_to_the_next_request() -> None:
    async with function_server(OK) as server, client_for() as client:
        await send(client, request(server))
        [(_, waiting)] = next(iter(client._idle.values()))
        waiting.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
        end = await send(client, request(server))

    assert isinstance(end, HttpAnswer)
    assert end.body == b"fine"
    assert server.connections == 2


HALF = [
    HangUp(HEAD + b"Content-Length: 10\r\n\r\nfine"),
    HangUp(HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n"),
    HangUp(HEAD + b"Transfer-Encoding: gzip\r\n\r\nfine"),
    Stall(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nfine\r\n"),
    Stall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nfine+2\r\n"),
    Stall(HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"),
]


@pytest.mark.parametrize("say", HALF)
async def test_of_half_an_answer_the_status_is_known_and_the_body_is_not(say: Say) -> None:
    [end, again], connections = await ends_of(say, OK, calls=2)

    assert isinstance(end, HttpAnswer)
    assert (end.status, end.body) == (200, None)
    assert isinstance(again, HttpAnswer)
    assert connections == 2


NONE = [
    HangUp(),
    HangUp(b"HTTP/1.1 20"),
    HangUp(HEAD + b"Content-Length: 4\r\n"),
    HangUp(b"HTTP/1.1 100 Continue\r\n\r\n"),
    Stall(b"220 mail.example.com ESMTP\r\n"),
    Stall(b"HTTP/2 200 OK\r\n\r\n"),
    Stall(HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nfine"),
    Stall(HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n"),
    Stall(HEAD + b"Content-Length: -4\r\n\r\nfine"),
    Stall(HEAD + b"Content-Length: 4, 4\r\n\r\nfine"),
    Stall(HEAD + b"X-A: a\0b\r\nContent-Length: 0\r\n\r\n"),
    Stall(HEAD + b"X A: b\r\n\r\n"),
    Stall(HEAD + b"X-A: " + b"a" * 2 * LARGEST_HEAD),
    Stall(HEAD + b"X-A: a\r\n" * LARGEST_HEAD),
    Stall(b"HTTP/1.1 100 Continue\r\n\r\n" * LARGEST_HEAD),
]


@pytest.mark.parametrize("say", NONE)
async def test_without_a_whole_and_plain_head_there_is_no_answer(say: Say) -> None:
    [end, again], connections = await ends_of(say, OK, calls=2)

    assert isinstance(end, NoAnswer), end
    assert isinstance(again, HttpAnswer)
    assert connections == 2


async def test_switching_protocols_is_an_answer_that_nobody_asked_for() -> None:
    said = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00"
    [end, _], connections = await ends_of(said, OK, calls=2)

    assert isinstance(end, HttpAnswer)
    assert end.status == 101
    assert connections == 2


@pytest.mark.parametrize(
    "said",
    [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + b"x" * 1024 + b"\r\n",
        HEAD + b"Content-Length: 999999999\r\n\r\n" + b"x" * 1024,
        HEAD + b"\r\n" + b"x" * 1024,
    ],
)
async def test_an_endless_body_is_read_as_far_as_allowed(said: bytes) -> None:
    [end], _ = await ends_of(Stall(said))

    assert isinstance(end, HttpAnswer)
    assert end.size > 1_000
    assert end.body is not None
    assert len(end.body) == end.size


async def test_endless_framing_around_a_small_body_is_given_up() -> None:
    chunks = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 2 * LARGEST_HEAD
    trailers = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: " + b"x" * 2 * LARGEST_HEAD
    for said in (chunks, trailers):
        [end], _ = await ends_of(Stall(said))

        assert isinstance(end, HttpAnswer)
        assert end.body is None


async def test_a_body_may_go_elsewhere_as_it_comes_and_only_that_of_a_success() -> None:
    class Pieces(list[bytes]):
        def write(self, data: bytes) -> None:
            self.append(data)

    taken, refused, large = Pieces(), Pieces(), Pieces()
    [first], _ = await ends_of(OK, into=taken)
    [second], _ = await ends_of(Stall(answer(raw=b"no such file", status=404)), into=refused)
    [third], _ = await ends_of(Stall(HEAD + b"\r\n" + b"x" * 5_000), into=large)

    assert isinstance(first, HttpAnswer)
    assert (b"".join(taken), first.size) == (b"fine", 4)
    assert isinstance(second, HttpAnswer)
    assert (second.status, refused) == (404, [])
    assert isinstance(third, HttpAnswer)
    assert third.size > 1_000 >= sum(map(len, large))


async def test_a_body_that_cannot_be_put_away_did_not_come_whole() -> None:
    class Full:
        def write(self, data: bytes) -> None:
            raise OSError("no space left on device")

    [end], _ = await ends_of(OK, into=Full())

    assert isinstance(end, HttpAnswer)
    assert end.body is None


NOISE = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda head, rest: HEAD + head + rest, st.sampled_from([b"", b"A: b\r\n", b"\r\n"]), st.binary(max_size=40)
    ),
)


@given(said=NOISE)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_noise_never_raises(said: bytes) -> None:
    [end], _ = asyncio.run(ends_of(HangUp(said)))

    assert isinstance(end, HttpAnswer | NoAnswer)


# How far a call came


async def test_a_deadline_is_told_by_what_was_written() -> None:
    stall = Stall(HEAD + b"Content-Length: 9\r\n\r\n{")
    async with function_server(OK, Silence(), stall) as server, client_for(connections=1) as client:
        await send(client, request(server))
        silent = await send(client, request(server), seconds=1)
        stalled = await send(client, request(server), seconds=2)
        holding = asyncio.create_task(send(client, request(server), seconds=2))
        await asyncio.sleep(0)
        waiting = await send(client, request(server), seconds=0.1)
        await holding

    assert (silent, stalled, waiting) == (NoAnswer(LATE), NoAnswer(LATE), NotSent(LATE))


async def test_the_lease_is_asked_about_once_the_connection_stands_and_spends_none() -> None:
    async with function_server(OK) as server, client_for() as client:
        until = asyncio.get_running_loop().time() + 20
        spent = await client.send(request(server), until, no)
        sent = await client.send(request(server), until, yes)

    assert spent == LeaseSpent()
    assert isinstance(sent, HttpAnswer)
    assert server.connections == 1
    assert len(server.requests) == 1


async def test_a_request_on_a_connection_that_ended_before_it_goes_over_another() -> None:
    async with function_server(OK) as server, client_for() as client:
        await send(client, request(server))
        await server.hang_up()
        end = await send(client, request(server))

    assert isinstance(end, HttpAnswer)
    assert len(server.requests) == 2
    assert server.connections == 2


async def test_a_connection_that_ends_with_a_request_on_it_is_doubt_and_nothing_is_sent_again() -> None:
    async with function_server(OK, HangUp(), OK) as server, client_for() as client:
        await send(client, request(server))
        end = await send(client, request(server))

    assert isinstance(end, NoAnswer)
    assert len(server.requests) == 2
    assert server.connections == 1


async def test_a_cancelled_call_drops_its_connection() -> None:
    async with function_server(Silence(), OK) as server, client_for() as client:
        call = asyncio.create_task(send(client, request(server)))
        async with asyncio.timeout(10):
            while not server.requests:
                await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        end = await send(client, request(server))

    assert isinstance(end, HttpAnswer)
    assert server.connections == 2


# The request


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({"headers": [("X-A", "a\r\nX-B: b")]}, "/"),
        ({"headers": [("X-A", "a\nb")]}, "/"),
        ({"headers": [("X-A\r\nX-B", "b")]}, "/"),
        ({"headers": [("X-A", "a\0")]}, "/"),
        ({"headers": [("X-A", "ä")]}, "/"),
        ({"method": "GET / HTTP/1.1\r\nX: "}, "/"),
        ({}, "/a b"),
        ({}, "/ä"),
        ({}, "/\x7f"),
    ],
)
async def test_what_could_be_read_as_another_request_is_not_sent(options: dict[str, Any], url: str) -> None:
    async with function_server(OK) as server, client_for() as client:
        end = await send(client, request(server, url=server.url(url), **options))

    assert isinstance(end, NotSent)
    assert server.connections == 0


@pytest.mark.parametrize(
    "url", ["", "ftp://example.com/", "http:///x", "http://a@127.0.0.1/", "http://127.0.0.1:x/", "/x"]
)
async def test_an_address_that_is_none_is_not_called(url: str) -> None:
    async with client_for() as client:
        end = await client.send(HttpRequest("GET", url), asyncio.get_running_loop().time() + 5, yes)

    assert isinstance(end, NotSent)


async def test_nothing_packed_is_asked_for_and_a_request_is_as_long_as_it_says() -> None:
    async with function_server(OK) as server, client_for() as client:
        await send(client, request(server, body=b"x" * 300_000, headers=[("X-A", "a: b")]))
        await send(client, request(server, method="GET", body=b""))

    posted, got = server.requests
    assert posted.headers["accept-encoding"] == "identity"
    assert posted.headers["x-a"] == "a: b"
    assert posted.body == b"x" * 300_000
    assert "content-length" not in got.headers


# The connections


async def test_connections_are_not_shared_between_lists_of_private_addresses() -> None:
    one = PrivateAddresses(frozenset({ip_network("127.0.0.0/8")}))
    async with function_server(OK) as server, client_for() as client:
        allowed = await send(client, request(server, private=one))
        others = await send(client, request(server, private=EVERY_PRIVATE_ADDRESS))
        refused = await send(client, request(server, private=PrivateAddresses()))

    assert isinstance(allowed, HttpAnswer)
    assert isinstance(others, HttpAnswer)
    assert isinstance(refused, AddressClosed)
    assert server.connections == 2


async def test_no_more_calls_at_once_than_allowed_and_no_more_connections_kept() -> None:
    async with function_server(OK) as server, client_for(connections=3) as client:
        ends = await asyncio.gather(*(send(client, request(server)) for _ in range(20)))
        kept = client._idle_count

    assert all(isinstance(end, HttpAnswer) for end in ends)
    assert server.connections <= 3
    assert kept <= 3
    assert client._idle_count == 0


async def test_an_idle_connection_is_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "_KEPT_SECONDS", 0.05)
    async with function_server(OK) as server, client_for() as client:
        await send(client, request(server))
        async with asyncio.timeout(10):
            while client._idle_count:
                await asyncio.sleep(0.01)

        assert client._sweeper is None
        assert isinstance(await send(client, request(server)), HttpAnswer)
        assert server.connections == 2


async def test_a_connection_that_was_idle_for_too_long_is_not_used_before_it_is_swept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with function_server(OK) as server, client_for() as client:
        await send(client, request(server))
        monkeypatch.setattr(http_client, "_KEPT_SECONDS", -1)
        await send(client, request(server))  # on the first, which is then kept until a second ago
        await send(client, request(server))

    assert server.connections == 2


def test_it_works_on_the_loop_that_workers_have() -> None:
    async def once() -> tuple[list[HttpEnd], int]:
        return await ends_of(OK, OK, HangUp(), OK, calls=4)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        ends, connections = runner.run(once())

    assert [type(end) for end in ends] == [HttpAnswer, HttpAnswer, NoAnswer, HttpAnswer]
    assert connections == 2
