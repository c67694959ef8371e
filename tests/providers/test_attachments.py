"""Files with an e-mail: by reference, fetched before anything is sent, streamed, and never too large."""

import asyncio
import json
import random
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import ExitStack
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest

from tests.providers.function_server import HangUp, Say, Silence, answer, function_server
from tests.providers.items import PLAIN, marked, yes
from tests.providers.test_smtp import Mailbox, mail_server, smtp_provider
from tidings.domain.content.attachment import AttachmentReference
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, PrivateAddresses, no_private_addresses
from tidings.providers.attachments import AttachmentFetcher
from tidings.providers.enclosed import Fetched
from tidings.providers.letter import Letter, Sender, compose

PDF = bytes(range(256)) * 300
NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def file(content: bytes, status: int = 200) -> bytes:
    head = f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\ncontent-type: text/html\r\n\r\n"
    return head.encode() + content


def soon() -> float:
    return asyncio.get_running_loop().time() + 30


async def every_address(_: Workspace) -> PrivateAddresses:
    return EVERY_PRIVATE_ADDRESS


def payload(*references: dict[str, Any], **more: str) -> dict[str, str]:
    return {**PLAIN, **more, "attachments": json.dumps(references)}


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with mail_server() as mailbox:
        yield mailbox


async def send(mailbox: Mailbox, content: dict[str, str], **options: Any) -> Outcome:
    async with smtp_provider(mailbox.url(), **{"private_addresses": every_address, **options}) as provider:
        return await provider.send(marked(payload=content), yes)


async def send_files(mailbox: Mailbox, *answers: Say, **more: str) -> Outcome:
    async with function_server(*answers) as server:
        references = [
            {"url": server.url(f"/{number}.pdf"), "filename": f"{number}.pdf"} for number in range(len(answers))
        ]
        return await send(mailbox, payload(*references, **more))


def attached(message: EmailMessage) -> list[tuple[str | None, str, bytes]]:
    return [(one.get_filename(), one.get_content_type(), one.get_content()) for one in message.iter_attachments()]


@pytest.mark.parametrize("html", [{}, {"html": "<p>Good morning.</p>"}])
async def test_a_file_arrives_byte_for_byte_beside_the_text(mailbox: Mailbox, html: dict[str, str]) -> None:
    outcome = await send_files(mailbox, file(PDF), **html)

    assert isinstance(outcome, Accepted)
    message = mailbox.message()
    assert attached(message) == [("0.pdf", "application/pdf", PDF)]
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content().strip() == "Good morning."
    assert (message.get_body(("html",)) is not None) is bool(html)


async def test_several_files_come_in_their_order_and_with_the_type_that_was_given(mailbox: Mailbox) -> None:
    async with function_server(file(b"one"), file(b""), file(b"3")) as server:
        references = [
            {"url": server.url("/a?signature=x"), "filename": "Angebot für Ada.pdf"},
            {"url": server.url("/b"), "filename": "empty.bin"},
            {"url": server.url("/c"), "filename": "notes", "contentType": "text/markdown"},
        ]
        outcome = await send(mailbox, payload(*references))

    assert isinstance(outcome, Accepted)
    assert [request.line.split()[1] for request in server.requests] == ["/a?signature=x", "/b", "/c"]
    [first, second, third] = attached(mailbox.message())
    assert first == ("Angebot für Ada.pdf", "application/pdf", b"one")
    assert (second[0], second[2], third[1]) == ("empty.bin", b"", "text/markdown")


@pytest.mark.parametrize("size", [0, 1, 2, 3, 56, 57, 58, 114, 57_000, 57_001, 123_456])
def test_the_announced_size_is_the_size(size: int) -> None:
    content = random.Random(size).randbytes(size)
    with SpooledTemporaryFile() as kept:
        kept.write(content)
        letter = compose(
            marked(), Sender("news@example.com"), NOW, [Fetched(kept, "a.bin", "application/octet-stream", size)] * 2
        )
        assert isinstance(letter, Letter)
        wire = b"".join(letter.chunks())
        again = b"".join(letter.chunks())

    assert letter.size == len(wire)
    assert wire == again
    assert b"\n" not in wire.replace(b"\r\n", b"")
    assert max(map(len, wire.split(b"\r\n"))) <= 998
    parsed = message_from_bytes(wire, policy=policy.default)
    assert isinstance(parsed, EmailMessage)
    assert [one[2] for one in attached(parsed)] == [content, content]


async def test_a_large_file_is_never_in_memory_as_a_whole() -> None:
    size = 12_000_000
    with ExitStack() as files:
        async with function_server(file(bytes(size))) as server:
            fetcher = AttachmentFetcher(every_address)
            fetched = await fetcher.fetch([AttachmentReference(server.url(), "a.bin")], files, Workspace(), soon())
            await fetcher.close()
        assert isinstance(fetched, list)
        is_on_disk = fetched[0].file._rolled  # type: ignore[attr-defined]
        tracemalloc.start()  # only now: the server that had the file was this process, too
        letter = compose(marked(), Sender("news@example.com"), NOW, fetched)
        assert isinstance(letter, Letter)
        length = sum(map(len, letter.chunks()))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert is_on_disk
    assert length == letter.size > size
    assert peak < 2_000_000


@pytest.mark.parametrize(
    ("say", "outcome"),
    [
        (file(b"", 404), Rejected("the attachment '0.pdf' could not be fetched: its server answered 404")),
        (file(b"", 302), Rejected("the attachment '0.pdf' could not be fetched: its server answered 302")),
        (file(b"", 503), RetryLater("the attachment '0.pdf' could not be fetched: its server answered 503")),
        (file(b"", 429), RetryLater("the attachment '0.pdf' could not be fetched: its server answered 429")),
    ],
)
async def test_a_file_that_is_not_there_is_told_and_nothing_is_sent(
    mailbox: Mailbox, say: bytes, outcome: Outcome
) -> None:
    assert await send_files(mailbox, say) == outcome
    assert mailbox.envelopes == []


@pytest.mark.parametrize("say", [HangUp(), HangUp(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")])
async def test_a_file_that_breaks_off_is_fetched_again_later(mailbox: Mailbox, say: Say) -> None:
    outcome = await send_files(mailbox, say)

    assert isinstance(outcome, RetryLater)
    assert mailbox.connections == 0


async def test_a_file_that_never_comes_is_given_up_before_the_deadline_of_the_call(mailbox: Mailbox) -> None:
    async with (
        function_server(Silence()) as server,
        smtp_provider(mailbox.url(), private_addresses=every_address) as provider,
    ):
        provider.call_deadline = provider.call_deadline / 100
        content = payload({"url": server.url(), "filename": "a.pdf"})
        async with asyncio.timeout(5):
            outcome = await provider.send(marked(payload=content), yes)

    assert outcome == RetryLater("the attachments could not be fetched before the deadline of the call")


async def test_files_that_are_too_large_together_are_refused_for_good() -> None:
    with ExitStack() as files:
        async with function_server(file(bytes(600)), file(bytes(401))) as server:
            fetcher = AttachmentFetcher(every_address, largest=1_000)
            references = [AttachmentReference(server.url(), name) for name in ("a", "b")]
            outcome = await fetcher.fetch(references, files, Workspace(), soon())
            await fetcher.close()

    assert outcome == Rejected("the attachments are larger than 1,000 bytes: send a link instead")


async def test_a_private_address_is_refused(mailbox: Mailbox) -> None:
    async with function_server(answer({})) as server:
        outcome = await send(
            mailbox, payload({"url": server.url(), "filename": "a.pdf"}), private_addresses=no_private_addresses
        )

    assert isinstance(outcome, Rejected)
    assert "private address" in outcome.reason
    assert server.requests == []


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[7]",
        '[{"url": "https://example.com"}]',
        '[{"url": "file:///etc/passwd", "filename": "a"}]',
        '[{"url": "https://u:p@example.com/", "filename": "a"}]',
        '[{"url": "https://example.com/", "filename": "../a"}]',
        '[{"url": "https://example.com/", "filename": "a\\r\\nBcc: eve@x.org"}]',
        '[{"url": "https://example.com/", "filename": ""}]',
    ],
)
async def test_references_that_cannot_be_used_are_rejected(mailbox: Mailbox, text: str) -> None:
    outcome = await send(mailbox, {**PLAIN, "attachments": text})

    assert isinstance(outcome, Rejected)
    assert mailbox.connections == 0
