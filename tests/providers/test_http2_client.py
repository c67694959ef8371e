"""The HTTP/2 client tells how far each call came, over one connection that many share."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.providers.items import no, yes
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, NO_PRIVATE_ADDRESSES, PrivateAddresses
from tidings.providers import http2_client
from tidings.providers.http2_client import Http2Client
from tidings.providers.http2_connection import Http2Connection
from tidings.providers.http2_frames import FrameSplitter, Goaway
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
from tidings.testing.scripted_h2 import H2Fault, H2Reply, scripted_h2_server
from tidings.testing.scripted_http import Break, HttpReply, scripted_server

OK = HttpReply(200, b"fine", {"x-a": "b"})


@pytest.fixture
async def client() -> AsyncIterator[Http2Client]:
    made = Http2Client()
    yield made
    await made.close()


async def send(
    client: Http2Client,
    url: str,
    body: bytes = b"{}",
    *,
    seconds: float = 20.0,
    private: PrivateAddresses = EVERY_PRIVATE_ADDRESS,
) -> HttpEnd:
    request = HttpRequest("POST", f"{url}/x?y=1", [("X-Own", "1")], body, private, 1_000_000)
    return await client.send(request, asyncio.get_running_loop().time() + seconds, yes)


async def test_a_request_and_its_answer(client: Http2Client) -> None:
    async with scripted_h2_server(OK) as server:
        end = await send(client, server.url)

    [seen] = server.seen
    assert end == HttpAnswer(200, {"x-a": "b"}, b"fine", 4)
    assert (seen.method, seen.path, seen.body) == ("POST", "/x?y=1", b"{}")
    assert seen.headers["x-own"] == "1"


async def test_calls_share_one_connection_and_no_more_at_once_than_the_server_takes(client: Http2Client) -> None:
    async with scripted_h2_server(OK, most_streams=3) as server:
        server.held.clear()
        calls = [asyncio.create_task(send(client, server.url)) for _ in range(10)]
        async with asyncio.timeout(20):
            while len(server.seen) < 3:
                await asyncio.sleep(0.01)
        server.held.set()
        ends = await asyncio.gather(*calls)

    assert [end.status for end in ends if isinstance(end, HttpAnswer)] == [200] * 10
    assert (server.connections, server.most_open) == (1, 3)


async def test_an_answer_that_never_comes_holds_up_no_other(client: Http2Client) -> None:
    async with scripted_h2_server(HttpReply(leaves_off=Break.AFTER_READING), OK) as server:
        silent, answered = await asyncio.gather(send(client, server.url, seconds=1), send(client, server.url))
        after = await send(client, server.url)

    assert silent == NoAnswer(LATE)
    assert isinstance(answered, HttpAnswer)
    assert isinstance(after, HttpAnswer)
    assert server.connections == 1


async def test_a_body_larger_than_the_windows_arrives_whole(client: Http2Client) -> None:
    body = bytes(range(256)) * 2_000

    async with scripted_h2_server(OK) as server:
        end = await send(client, server.url, body)

    assert isinstance(end, HttpAnswer)
    assert server.seen[0].body == body


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (H2Reply(fault=H2Fault.REFUSES), NotSent),
        (H2Reply(fault=H2Fault.GOES_AWAY_BEFORE), NotSent),
        (H2Reply(fault=H2Fault.CANCELS), NoAnswer),
        (H2Reply(200, b"fine", fault=H2Fault.GOES_AWAY_AFTER), HttpAnswer),
        (HttpReply(leaves_off=Break.CLOSES), NoAnswer),
        (HttpReply(leaves_off=Break.HALF_A_HEAD), NoAnswer),
    ],
)
async def test_what_the_server_did_not_process_was_not_sent(
    client: Http2Client, reply: HttpReply, kind: type[HttpEnd]
) -> None:
    async with scripted_h2_server(reply, OK) as server:
        end = await send(client, server.url)
        after = await send(client, server.url)

    assert isinstance(end, kind)
    assert isinstance(after, HttpAnswer)
    assert after.status == 200


async def test_half_a_body_is_an_answer_without_one(client: Http2Client) -> None:
    async with scripted_h2_server(HttpReply(200, b"fine", leaves_off=Break.HALF_A_BODY)) as server:
        end = await send(client, server.url)

    assert isinstance(end, HttpAnswer)
    assert end.body is None


async def test_after_a_farewell_the_calls_it_names_are_answered_and_the_others_were_not_sent(
    client: Http2Client,
) -> None:
    async with scripted_h2_server(H2Reply(200, b"a", fault=H2Fault.GOES_AWAY_AFTER), OK) as server:
        server.held.clear()
        first = asyncio.create_task(send(client, server.url))
        second = asyncio.create_task(send(client, server.url))
        async with asyncio.timeout(20):
            while len(server.seen) < 2:
                await asyncio.sleep(0.01)
        server.held.set()
        ends = await asyncio.gather(first, second)
        after = await send(client, server.url)

    assert isinstance(ends[0], HttpAnswer)
    assert isinstance(ends[1], NotSent)
    assert "Shutdown" in ends[1].reason
    assert isinstance(after, HttpAnswer)
    assert server.connections == 2


async def test_a_connection_that_was_silent_is_asked_for_a_sign_of_life(
    client: Http2Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2_client, "_SILENT_SECONDS", 0.0)
    async with scripted_h2_server(OK) as server:
        ends = [await send(client, server.url) for _ in range(2)]
        [kept] = client._kept.values()
        kept.transport.pause_reading()  # as a network that has forgotten the connection
        monkeypatch.setattr(http2_client, "_SIGN_OF_LIFE_SECONDS", 0.1)
        ends.append(await send(client, server.url))

    assert all(isinstance(end, HttpAnswer) for end in ends)
    assert server.connections == 2


async def test_without_its_lease_nothing_is_written(client: Http2Client) -> None:
    async with scripted_h2_server(OK) as server:
        request = HttpRequest("POST", server.url, [], b"{}", EVERY_PRIVATE_ADDRESS)
        end = await client.send(request, asyncio.get_running_loop().time() + 20, no)

    assert end == LeaseSpent()
    assert server.seen == []


async def test_a_private_address_is_closed(client: Http2Client) -> None:
    async with scripted_h2_server(OK) as server:
        end = await send(client, server.url, private=NO_PRIVATE_ADDRESSES)

    assert isinstance(end, AddressClosed)
    assert server.connections == 0


async def test_a_server_that_speaks_http_1_was_sent_nothing(client: Http2Client) -> None:
    async with scripted_server(HttpReply(400)) as server:
        end = await send(client, server.url, seconds=2)

    assert isinstance(end, NotSent)


@pytest.mark.parametrize(
    ("url", "header"),
    [("http://user:word@localhost", "a"), ("http://localhost/ü", "a"), ("http://localhost", "a\r\nb")],
)
async def test_what_cannot_be_written_is_not_sent(client: Http2Client, url: str, header: str) -> None:
    request = HttpRequest("POST", url, [("X-Own", header)], b"", EVERY_PRIVATE_ADDRESS)

    end = await client.send(request, asyncio.get_running_loop().time() + 2, yes)

    assert isinstance(end, NotSent)


async def test_over_tls_it_speaks_to_who_has_a_certificate_and_chooses_http_2(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *names], check=True, capture_output=True)
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(certificate, key)
    served.set_alpn_protocols(["h2"])
    trusting = Http2Client(tls_context=ssl.create_default_context(cafile=str(certificate)))
    doubting = Http2Client()

    async with scripted_h2_server(OK, tls=served) as server:
        trusted, doubted = await send(trusting, server.url), await send(doubting, server.url)
        served.set_alpn_protocols(["http/1.1"])
        other = await send(Http2Client(tls_context=ssl.create_default_context(cafile=str(certificate))), server.url)
        await trusting.close()

    assert isinstance(trusted, HttpAnswer)
    assert isinstance(doubted, NotSent)
    assert "certificate" in doubted.reason
    assert isinstance(other, NotSent)
    assert "HTTP/2" in other.reason


def test_a_farewell_is_found_wherever_the_stream_is_cut() -> None:
    ping = bytes.fromhex("000008060000000000") + b"12345678"
    farewell = bytes.fromhex("00000a0700000000008000000500000002") + b"hi"
    whole = ping + farewell + ping

    for cut in range(len(whole)):
        frames = FrameSplitter()
        assert [*frames.feed(whole[:cut]), *frames.feed(whole[cut:])] == [ping, Goaway(5, 2, "hi"), ping]


_SETTINGS, _PING, _HUGE_TABLE = 0x4, 0x6, b"\x00\x01" + (2**31).to_bytes(4, "big")


def frame(kind: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind]) + bytes(5) + payload


@pytest.mark.parametrize("flood", [frame(_PING, b"tidings!"), frame(_SETTINGS, b""), frame(0xEE, b"")])
async def test_a_server_that_talks_without_end_and_answers_nothing_is_left(client: Http2Client, flood: bytes) -> None:
    written = 0

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(frame(_SETTINGS, b""))
        try:
            while written < 50_000_000:
                writer.write(flood * 1_000)
                await writer.drain()
                written += len(flood) * 1_000
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        end = await send(client, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    assert isinstance(end, NoAnswer | NotSent)
    assert end.reason != LATE
    assert written < 50_000_000


async def test_a_server_that_ends_each_connection_at_once_is_not_knocked_at_until_the_deadline(
    client: Http2Client,
) -> None:
    opened = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        writer.write(frame(_SETTINGS, b"") + frame(0x7, bytes(8)))
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        end = await send(client, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", seconds=5.0)

    assert isinstance(end, NotSent)
    assert end.reason != LATE
    assert opened <= 5


async def test_a_server_cannot_have_every_header_remembered() -> None:
    connection = Http2Connection()
    connection.connection_made(_Nowhere())

    connection.data_received(frame(_SETTINGS, _HUGE_TABLE))

    assert connection.header_table_size <= 4_096


class _Nowhere(asyncio.Transport):
    """A transport that takes everything and leads nowhere."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Forget it."""

    def is_closing(self) -> bool:
        """Never."""
        return False
