"""The sink's mail server, talked to by our own SMTP provider and by the standard library's client."""

import asyncio
import smtplib
from contextlib import suppress
from email.message import EmailMessage

import pytest

from tests.providers.items import marked, yes
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable
from tidings.providers.smtp import SmtpProvider
from tidings.sink.arrivals import Answer
from tidings.sink.mailbox_providers import PROVIDERS
from tidings.sink.smtp_server import LARGEST_MESSAGE
from tidings.testing import RunningSink, running_sink


async def send(sink: RunningSink, *recipients: str) -> list[Outcome]:
    provider = SmtpProvider.from_url(sink.smtp_url)
    try:
        payload = {"subject": "Grüße", "body": "One\n.\n..two"}
        return [await provider.send(marked(one, payload), yes) for one in recipients]
    finally:
        await provider.close()


async def test_what_is_taken_is_shown_as_it_was_sent() -> None:
    async with running_sink() as sink:
        [outcome] = await send(sink, "ann@example.com")

    [arrival] = sink.arrivals.taken
    assert isinstance(outcome, Accepted)
    assert (arrival.via, arrival.recipients, arrival.sender) == ("smtp", ["ann@example.com"], "you@example.com")
    assert (arrival.id, arrival.subject, arrival.answer) == (1, "Grüße", Answer.TAKEN)
    assert outcome.message_id is not None
    assert f"Message-ID: {outcome.message_id}".encode() in arrival.raw
    assert b"\r\n.\r\n..two" in arrival.raw  # the dots as they were written


async def test_the_same_seed_refuses_the_same_people_and_the_share_is_kept() -> None:
    people = [f"person{number}@example.com" for number in range(200)]
    refused = []
    for _ in range(2):
        async with running_sink(refuse=0.2, seed=5) as sink:
            outcomes = await send(sink, *people)
        refused.append([one for one, outcome in zip(people, outcomes, strict=True) if isinstance(outcome, Rejected)])
        assert sink.arrivals.counts == {Answer.REFUSED: len(refused[-1]), Answer.TAKEN: 200 - len(refused[-1])}

    assert refused[0] == refused[1]
    assert 20 <= len(refused[0]) <= 60


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_mailbox_providers_say_is_a_reply_of_one_line_with_its_code(provider: object) -> None:
    assert isinstance(provider, type(PROVIDERS[0]))
    for one in provider.refusals:
        assert one.text.startswith(("550 5.", "552 ", "554 5."))
    for one in provider.deferrals:
        assert one.text.startswith(("421 4.", "450 4.", "451 4.", "452 4."))
    for one in (*provider.refusals, *provider.deferrals):
        assert len(one.text) < 510
        assert one.text.isprintable()


@pytest.mark.parametrize("domain", ["gmail.com", "outlook.com", "yahoo.com", "example.com"])
async def test_a_refusal_is_an_outcome_about_the_recipient_and_a_deferral_is_tried_again(domain: str) -> None:
    people = [f"person{number}@{domain}" for number in range(12)]

    async with running_sink(refuse=1) as refusing:
        refused = await send(refusing, *people)
    async with running_sink(defer=1) as busy:
        deferred = await send(busy, *people)

    assert all(isinstance(one, Rejected) for one in refused), refused
    assert all(isinstance(one, RetryLater | Unavailable) for one in deferred), deferred
    assert {one.answer for one in refusing.arrivals.newest()} == {Answer.REFUSED}
    assert {one.answer for one in busy.arrivals.newest()} == {Answer.DEFERRED}


async def test_gmails_refusals_are_for_gmails_mailboxes() -> None:
    async with running_sink(refuse=1) as sink:
        await send(sink, *(f"person{number}@gmail.com" for number in range(20)))

    said = {one.said[:9] for one in sink.arrivals.newest()}
    assert said == {"550 5.1.1", "550 5.2.1", "550 5.7.1"}


async def test_other_clients_with_a_password_and_many_recipients_are_served() -> None:
    message = EmailMessage()
    message["Subject"], message["From"] = "Hello", "news@example.com"
    message.set_content(".\n" * 3)

    def talk(port: int) -> None:
        with smtplib.SMTP("127.0.0.1", port) as client:
            client.login("anybody", "anything")
            client.noop()
            client.send_message(message, to_addrs=["a@example.com", "b@example.com"])
            client.send_message(message, to_addrs=["c@example.com"])

    async with running_sink() as sink:
        await asyncio.to_thread(talk, sink.smtp_port)

    assert [one.recipients for one in sink.arrivals.taken] == [["a@example.com", "b@example.com"], ["c@example.com"]]
    assert sink.arrivals.taken[0].raw.endswith(b"\r\n.\r\n.\r\n.\r\n")


@pytest.mark.parametrize("method", ["auth_login", "auth_plain"])
async def test_both_ways_to_give_a_password_work(method: str) -> None:
    def talk(port: int) -> int:
        with smtplib.SMTP("127.0.0.1", port) as client:
            client.ehlo()
            client.user, client.password = "anybody", "anything"
            code, _ = client.auth(method.removeprefix("auth_").upper(), getattr(client, method))
            return code

    async with running_sink() as sink:
        assert await asyncio.to_thread(talk, sink.smtp_port) == 235


async def test_commands_out_of_order_are_refused_and_leave_nothing() -> None:
    said = []
    async with running_sink() as sink:
        reader, writer = await asyncio.open_connection("127.0.0.1", sink.smtp_port)
        writer.write(b"DATA\r\nRCPT TO:nobody\r\nWHAT\r\nHELO x\r\nRSET\r\nQUIT\r\n")
        said = (await reader.read()).decode().splitlines()
        writer.close()

    assert [one[:3] for one in said] == ["220", "554", "501", "502", "250", "250", "221"]
    assert sink.arrivals.total == 0


async def test_a_line_without_an_end_is_left() -> None:
    async with running_sink() as sink:
        reader, writer = await asyncio.open_connection("127.0.0.1", sink.smtp_port)
        writer.write(b"x" * 200_000)
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    assert sink.arrivals.total == 0


async def test_a_message_that_is_too_large_is_refused_and_not_kept() -> None:
    async with running_sink() as sink:
        reader, writer = await asyncio.open_connection("127.0.0.1", sink.smtp_port)
        writer.write(b"MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\nDATA\r\n")
        line = b"x" * 9_998 + b"\r\n"
        for _ in range(LARGEST_MESSAGE // len(line) + 1):
            writer.write(line)
            await writer.drain()
        writer.write(b".\r\nQUIT\r\n")
        said = await reader.read()
        writer.close()

    assert b"552 5.3.4" in said
    assert sink.arrivals.total == 0
