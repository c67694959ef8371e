"""The sink's HTTP server, called by our own vendors: what it takes is Accepted, what it refuses is not."""

import asyncio
import json
import urllib.error
import urllib.request
from contextlib import suppress
from datetime import timedelta

import pytest

from tests.providers.items import marked, yes
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.connections.kind import Value
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable
from tidings.domain.flow.provider import CannotTell, Doubtful, Found, Provider
from tidings.providers.catalogue import CATALOGUE
from tidings.sink.arrivals import MOST_KEPT, Answer, Arrival, Arrivals
from tidings.sink.email_forms import EMAIL_FORMS
from tidings.testing import RunningSink, running_sink

SETTINGS: dict[str, dict[str, Value]] = {
    "amazon-ses": {"region": "eu-west-1", "accessKeyId": "AKIAIOSFODNN7EXAMPLE", "secretAccessKey": "secret"},
    "mailgun": {"apiKey": "key", "domain": "mg.example.com"},
    "postmark": {"serverToken": "token"},
    "resend": {"apiKey": "key"},
    "sendgrid": {"apiKey": "key"},
}
PEOPLE = [f"person{number}@example.com" for number in range(12)]


def provider_for(sink: RunningSink, vendor: str) -> Provider:
    make = maker(vendor, Channel.EMAIL, **SETTINGS[vendor], **{"from": "Tidings <news@example.com>"})
    return make(sink.base_url, timedelta(seconds=30))


async def send(sink: RunningSink, vendor: str, *recipients: str) -> list[Outcome]:
    provider = provider_for(sink, vendor)
    try:
        payload = {"subject": "Grüße", "body": "Hi"}
        return [await provider.send(marked(one, payload), yes) for one in recipients]
    finally:
        await provider.close()


def test_every_vendor_of_email_in_the_catalogue_has_its_form() -> None:
    vendors = {name for name, kind in CATALOGUE.items() if Channel.EMAIL in kind.channels and name != "smtp"}

    assert vendors == {one.vendor for one in EMAIL_FORMS} == set(SETTINGS)


@pytest.mark.parametrize("vendor", SETTINGS)
async def test_what_is_taken_is_accepted_and_shown(vendor: str) -> None:
    async with running_sink() as sink:
        outcomes = await send(sink, vendor, "ann@example.com", "bob@example.com")

    ids = [one.message_id for one in outcomes if isinstance(one, Accepted)]
    first = sink.arrivals.taken[0]
    assert len(set(ids)) == 2
    assert None not in ids
    assert (first.via, first.recipients, first.subject) == (vendor, ["ann@example.com"], "Grüße")
    assert "news@example.com" in first.sender


@pytest.mark.parametrize("vendor", SETTINGS)
async def test_refusals_are_about_the_message_and_deferrals_are_tried_again(vendor: str) -> None:
    async with running_sink(refuse=1) as refusing:
        refused = await send(refusing, vendor, *PEOPLE)
    async with running_sink(defer=1) as busy:
        deferred = await send(busy, vendor, *PEOPLE)

    assert all(isinstance(one, Rejected) for one in refused), refused
    assert all(
        (isinstance(one, RetryLater) and not one.uses_attempt) or (isinstance(one, Unavailable) and not one.is_refused)
        for one in deferred
    ), deferred
    assert {one.answer for one in busy.arrivals.newest()} == {Answer.DEFERRED}


async def test_resends_key_takes_a_message_once() -> None:
    async with running_sink() as sink:
        outcomes = await send(sink, "resend", "ann@example.com", "ann@example.com")

    assert outcomes[0] == outcomes[1]
    assert sink.arrivals.total == 1


@pytest.mark.parametrize("vendor", ["mailgun", "postmark", "sendgrid"])
async def test_a_look_up_finds_what_was_taken_and_nothing_else(vendor: str) -> None:
    async with running_sink() as sink:
        provider = provider_for(sink, vendor)
        item = marked("ann@example.com")
        accepted = await provider.send(item, yes)
        since = sink.arrivals.taken[0].at
        ours = Doubtful(item.recipient, item.key, since, item.payload)
        other = Doubtful(item.recipient, bytes(32), since, item.payload)
        found, missing = await provider.look_up(ours), await provider.look_up(other)
        await provider.close()

    assert isinstance(accepted, Accepted)
    assert found == Found(accepted.message_id)
    assert isinstance(missing, CannotTell)


async def test_what_no_vendor_knows_is_a_webhook_that_says_yes() -> None:
    async with running_sink() as sink:
        status, body = await asyncio.to_thread(_ask, f"{sink.base_url}/my/hook", b'{"a": 1}')

    [arrival] = sink.arrivals.taken
    assert (status, arrival.via, arrival.raw) == (200, "webhook", b'{"a": 1}')
    assert json.loads(body)["id"]


async def test_what_arrived_is_shown_over_http_and_each_as_it_came() -> None:
    async with running_sink(refuse=0.5, seed=2) as sink:
        await send(sink, "resend", *PEOPLE)
        listed = json.loads((await asyncio.to_thread(_ask, f"{sink.base_url}/messages?limit=2"))[1])
        one = json.loads((await asyncio.to_thread(_ask, f"{sink.base_url}/messages/1"))[1])
        _, raw = await asyncio.to_thread(_ask, f"{sink.base_url}/messages/1/raw")
        missing, _ = await asyncio.to_thread(_ask, f"{sink.base_url}/messages/99")
        nothing, _ = await asyncio.to_thread(_ask, f"{sink.base_url}/elsewhere")

    assert sum(listed["counts"].values()) == 12
    assert listed["counts"]["refused"] > 0
    assert [each["id"] for each in listed["data"]] == [12, 11]
    assert (one["to"], one["via"], one["bytes"]) == (["person0@example.com"], "resend", len(raw))
    assert json.loads(raw)["subject"] == "Grüße"
    assert (missing, nothing) == (404, 404)


async def test_html_that_arrived_does_not_run_in_the_browser_that_looks_at_it() -> None:
    async with running_sink() as sink:
        request = urllib.request.Request(f"{sink.base_url}/hook", b"<script>", {"Content-Type": "text/html"})
        await asyncio.to_thread(urllib.request.urlopen, request)
        answer = await asyncio.to_thread(urllib.request.urlopen, f"{sink.base_url}/messages/1/raw")

    assert answer.headers["Content-Type"] == "text/plain"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GARBAGE\r\n\r\n", b"400"),
        (b"POST /emails HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", b"200"),
        (b"PUT /x HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"405"),
        (b"POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", b"100"),
        (b"GET /messages HTTP/1.1\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", b"200"),
    ],
)
async def test_whatever_is_said_gets_an_answer(sent: bytes, status: bytes) -> None:
    async with running_sink() as sink:
        reader, writer = await asyncio.open_connection("127.0.0.1", sink.http_port)
        writer.write(sent)
        said = await reader.readline()
        writer.close()

    assert said.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize("length", ["50000001", "9" * 30])
async def test_a_call_that_is_too_large_is_refused_before_it_is_sent(length: str) -> None:
    async with running_sink() as sink:
        reader, writer = await asyncio.open_connection("127.0.0.1", sink.http_port)
        writer.write(f"POST /x HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode())
        said = await reader.read()
        writer.close()

    assert said.startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))  # a number of thirty digits is no length to a parser
    assert sink.arrivals.total == 0


async def test_a_body_without_an_end_is_left() -> None:
    async with running_sink() as sink:
        reader, writer = await asyncio.open_connection("127.0.0.1", sink.http_port)
        writer.write(b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(60):
                writer.write(b"f4240\r\n" + b"x" * 1_000_000 + b"\r\n")
                await writer.drain()
            await reader.read()
        writer.close()

    assert sink.arrivals.total == 0


def test_the_oldest_are_forgotten_and_all_are_counted() -> None:
    arrivals = Arrivals()
    for number in range(MOST_KEPT + 10):
        arrivals.add(Arrival(id=arrivals.next_id(), via="smtp", recipients=[f"{number}@example.com"]))

    assert arrivals.total == MOST_KEPT + 10
    assert len(arrivals.newest()) == MOST_KEPT
    assert (arrivals.find(10), arrivals.newest(1)[0].id) == (None, MOST_KEPT + 10)


async def test_a_test_can_wait_for_what_it_expects() -> None:
    async with running_sink() as sink:
        waiting = asyncio.create_task(sink.arrivals.until_taken(2))
        await send(sink, "postmark", "ann@example.com")
        assert not waiting.done()
        await send(sink, "postmark", "bob@example.com")
        async with asyncio.timeout(10):
            taken = await waiting

    assert [one.recipients for one in taken] == [["ann@example.com"], ["bob@example.com"]]


async def test_answers_wait_as_long_as_they_are_told_to() -> None:
    loop = asyncio.get_running_loop()

    async with running_sink(latency=timedelta(milliseconds=50)) as sink:
        began = loop.time()
        await send(sink, "resend", "ann@example.com")

    assert loop.time() - began >= 0.05


def _ask(url: str, body: bytes | None = None) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, body) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
