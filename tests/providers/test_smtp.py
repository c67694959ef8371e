"""SMTP against a real server (aiosmtpd): what arrives is what was meant, over few connections."""

import asyncio
import re
import ssl
import subprocess
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import uvloop
from aiosmtpd.smtp import SMTP, AuthResult

from tests.providers.items import marked, yes
from tests.providers.scripted_smtp import Say, scripted
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, Unavailable
from tidings.domain.flow.provider import Blind, CannotTell, Doubtful
from tidings.providers.smtp import SmtpProvider

PASSWORD = "p@ss/wörd:secret"
QUOTED = "p%40ss%2Fw%C3%B6rd%3Asecret"


@dataclass
class Mailbox:
    """What a server took in."""

    port: int = 0
    connections: int = 0
    envelopes: list[Any] = field(default_factory=list)

    async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: N802
        self.envelopes.append(envelope)
        return "250 2.0.0 queued"

    def url(self, user: str = "", query: str = "", host: str = "127.0.0.1") -> str:
        return f"smtp://{user}{host}:{self.port}?from=News%20<news@example.com>{query}"

    def message(self, index: int = 0) -> EmailMessage:
        parsed = message_from_bytes(self.envelopes[index].content, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed


@asynccontextmanager
async def mail_server(**options: Any) -> AsyncIterator[Mailbox]:
    mailbox = Mailbox()

    def connected() -> Any:
        mailbox.connections += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # aiosmtpd warns of AUTH without TLS, which is what some tests are about
            return SMTP(mailbox, hostname="mail.test", **options)

    server = await asyncio.get_running_loop().create_server(connected, "127.0.0.1", 0)
    mailbox.port = server.sockets[0].getsockname()[1]
    try:
        yield mailbox
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def smtp_provider(url: str, **options: Any) -> AsyncIterator[SmtpProvider]:
    provider = SmtpProvider.from_url(url, call_deadline=timedelta(seconds=20), **options)
    try:
        yield provider
    finally:
        await provider.close()


def let_in(_server: object, _session: object, _envelope: object, _mechanism: str, data: Any) -> AuthResult:
    return AuthResult(success=data.login == b"ann" and data.password == PASSWORD.encode(), handled=False)


async def test_a_message_arrives_as_it_was_meant() -> None:
    item = marked("ann@example.org", {"subject": "Grüße, Ann", "body": "Hello\nAnn — how are you?\n"})
    async with mail_server() as mailbox, smtp_provider(mailbox.url()) as provider:
        outcome = await provider.send(item, yes)

    message = mailbox.message()
    assert outcome == Accepted(f"<{item.key.hex()}@example.com>")
    assert mailbox.envelopes[0].mail_from == "news@example.com"
    assert mailbox.envelopes[0].rcpt_tos == ["ann@example.org"]
    assert message["From"] == "News <news@example.com>"
    assert message["To"] == "ann@example.org"
    assert message["Subject"] == "Grüße, Ann"
    assert message["Message-ID"] == f"<{item.key.hex()}@example.com>"
    assert abs((message["Date"].datetime - datetime.now(UTC)).total_seconds()) < 60
    assert message.get_content().splitlines() == ["Hello", "Ann — how are you?"]


async def test_text_and_html_become_alternatives() -> None:
    payload = {"subject": "Both", "body": "plain", "html": "<p>rich € </p>"}
    async with mail_server() as mailbox, smtp_provider(mailbox.url()) as provider:
        await provider.send(marked(payload=payload), yes)

    message = mailbox.message()
    assert message.get_content_type() == "multipart/alternative"
    parts = [(part.get_content_type(), part.get_content().strip()) for part in message.iter_parts()]
    assert parts == [("text/plain", "plain"), ("text/html", "<p>rich € </p>")]


async def test_html_can_stand_alone() -> None:
    async with mail_server() as mailbox, smtp_provider(mailbox.url()) as provider:
        await provider.send(marked(payload={"subject": "Rich", "html": "<p>hi</p>"}), yes)

    assert mailbox.message().get_content_type() == "text/html"


async def test_dots_and_bare_line_ends_can_neither_end_nor_change_the_message() -> None:
    body = ".\r.\n..\r\n.\r\nQUIT\n.\n\rMAIL FROM:<evil@example.com>\r\r\n."
    async with mail_server() as mailbox, smtp_provider(mailbox.url()) as provider:
        await provider.send(marked(payload={"subject": "Dots", "body": body}), yes)

    content = mailbox.envelopes[0].content
    assert len(mailbox.envelopes) == 1
    assert re.search(rb"\r(?!\n)|(?<!\r)\n", content) is None
    assert mailbox.message().get_content().splitlines() == re.split("\r\n|\r|\n", body)


async def test_one_connection_carries_many_messages() -> None:
    async with mail_server() as mailbox, smtp_provider(mailbox.url()) as provider:
        for number in range(20):
            assert isinstance(await provider.send(marked(f"p{number}@example.org"), yes), Accepted)

    assert len(mailbox.envelopes) == 20
    assert mailbox.connections == 1


async def test_concurrent_messages_share_as_many_connections_as_allowed() -> None:
    async with mail_server() as mailbox, smtp_provider(mailbox.url(), concurrency=4) as provider:
        await asyncio.gather(*(provider.send(marked(f"p{number}@example.org"), yes) for number in range(40)))

    assert len({envelope.rcpt_tos[0] for envelope in mailbox.envelopes}) == 40
    assert mailbox.connections == 4


async def test_connections_beyond_the_slots_that_are_left_are_closed_when_their_calls_have_ended() -> None:
    async with mail_server() as mailbox, smtp_provider(mailbox.url(), concurrency=4) as provider:
        everybody = [provider.send(marked(f"p{number}@example.org"), yes) for number in range(4)]
        calls = asyncio.gather(*everybody)
        await asyncio.sleep(0)  # they have begun
        provider.keep_connections(3)
        await calls
        while_three = len(provider._idle)
        provider.keep_connections(1)
        while_one = len(provider._idle)
        await provider.send(marked("again@example.org"), yes)
        provider.keep_connections(0)
        await provider.send(marked("once@example.org"), yes)

    assert (while_three, while_one, len(provider._idle)) == (3, 1, 0)
    assert mailbox.connections == 5
    assert len(mailbox.envelopes) == 6


async def test_an_address_beyond_ascii_is_used_where_the_server_offers_it() -> None:
    async with mail_server(enable_SMTPUTF8=True) as mailbox, smtp_provider(mailbox.url()) as provider:
        outcome = await provider.send(marked("jürgen@例え.jp", {"subject": "Grüße", "body": "Hallo"}), yes)

    assert isinstance(outcome, Accepted)
    assert mailbox.envelopes[0].rcpt_tos == ["jürgen@例え.jp"]
    assert mailbox.envelopes[0].smtp_utf8
    assert mailbox.message()["To"] == "jürgen@例え.jp"


async def test_an_address_beyond_ascii_is_rejected_where_the_server_does_not_offer_it() -> None:
    async with mail_server(enable_SMTPUTF8=False) as mailbox, smtp_provider(mailbox.url()) as provider:
        outcome = await provider.send(marked("jürgen@example.org"), yes)
        next_one = await provider.send(marked(), yes)

    assert outcome == Rejected("the server cannot write to addresses beyond ASCII (no SMTPUTF8)")
    assert isinstance(next_one, Accepted)
    assert mailbox.connections == 1


async def test_an_unfit_item_is_rejected_before_any_connection() -> None:
    async with mail_server() as mailbox, smtp_provider(mailbox.url()) as provider:
        outcome = await provider.send(marked("ann@example.org\r\nBcc: eve@example.org"), yes)

    assert outcome == Rejected("recipient has a control character")
    assert mailbox.connections == 0


async def test_credentials_let_us_in() -> None:
    server = mail_server(authenticator=let_in, auth_required=True, auth_require_tls=False)
    async with server as mailbox, smtp_provider(mailbox.url(f"ann:{QUOTED}@", "&starttls=false")) as provider:
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Accepted)


async def test_wrong_credentials_are_the_channels_fault_and_nobodys_loss() -> None:
    server = mail_server(authenticator=let_in, auth_required=True, auth_require_tls=False)
    async with server as mailbox, smtp_provider(mailbox.url("ann:geheim@", "&starttls=false")) as provider:
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Unavailable)
    assert outcome.is_refused
    assert "refused our user name or password with 535" in outcome.reason
    assert "geheim" not in repr(outcome)


async def test_a_server_that_repeats_the_password_does_not_get_it_into_the_reason() -> None:
    script = {
        "EHLO": Say(b"250-scripted\r\n250 AUTH PLAIN\r\n"),
        "AUTH": Say(b"535 no such thing as ann geheim AGFubgBnZWhlaW0=\r\n"),
    }
    async with scripted(script) as smtp, smtp_provider(smtp.url(user="ann:geheim@")) as provider:
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Unavailable)
    assert "geheim" not in outcome.reason
    assert "AGFubgBnZWhlaW0=" not in outcome.reason


async def test_a_password_is_not_sent_without_tls_unless_told_so() -> None:
    async with scripted({"EHLO": Say(b"250-x\r\n250 AUTH PLAIN\r\n")}) as smtp:
        url = f"smtp://ann:geheim@127.0.0.1:{smtp.port}?from=news@example.com"
        async with smtp_provider(url) as provider:
            outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Unavailable)
    assert "STARTTLS" in outcome.reason
    assert not any(command.startswith("AUTH") for command in smtp.commands)


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


async def test_starttls_protects_the_password(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    server = mail_server(tls_context=server_tls, require_starttls=True, authenticator=let_in, auth_required=True)
    payload = {"subject": "Secret", "body": "x" * 70 + "\n" + ("y" * 70 + "\n") * 20_000}
    async with server as mailbox:
        url = mailbox.url(f"ann:{QUOTED}@", host="localhost")
        async with smtp_provider(url, tls_context=client_tls) as provider:
            first = await provider.send(marked(payload=payload), yes)
            second = await provider.send(marked(), yes)

    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    assert mailbox.connections == 1


async def test_an_untrusted_certificate_is_the_channels_fault(server_tls: ssl.SSLContext) -> None:
    server = mail_server(tls_context=server_tls)
    async with server as mailbox, smtp_provider(mailbox.url(host="localhost")) as provider:
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Unavailable)
    assert "certificate is not trusted" in outcome.reason
    assert mailbox.envelopes == []


async def test_smtps_is_encrypted_from_the_first_byte(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    mailbox = Mailbox()
    serve: Callable[[], Any] = lambda: SMTP(mailbox, hostname="mail.test")  # noqa: E731
    server = await asyncio.get_running_loop().create_server(serve, "127.0.0.1", 0, ssl=server_tls)
    port = server.sockets[0].getsockname()[1]
    url = f"smtps://localhost:{port}?from=news@example.com"
    async with smtp_provider(url, tls_context=client_tls) as provider:
        outcome = await provider.send(marked(), yes)
    server.close()
    await server.wait_closed()

    assert isinstance(outcome, Accepted)
    assert len(mailbox.envelopes) == 1


async def test_tls_works_on_the_loop_that_workers_have(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """Its transports are no children of asyncio's: a check for those once took every encrypted connection for lost."""

    def send(url: str) -> Outcome:
        async def once() -> Outcome:
            async with smtp_provider(url, tls_context=client_tls) as provider:
                return await provider.send(marked(), yes)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(once())

    mailbox = Mailbox()
    implicit = await asyncio.get_running_loop().create_server(
        lambda: SMTP(mailbox, hostname="mail.test"), "127.0.0.1", 0, ssl=server_tls
    )
    async with mail_server(tls_context=server_tls, require_starttls=True) as starting, implicit:
        starttls = await asyncio.to_thread(send, starting.url(host="localhost") + "&starttls=true")
        port = implicit.sockets[0].getsockname()[1]
        smtps = await asyncio.to_thread(send, f"smtps://localhost:{port}?from=news@example.com")

    assert isinstance(starttls, Accepted)
    assert isinstance(smtps, Accepted)


async def test_text_slipped_in_before_tls_is_not_read_as_the_servers(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    push: Callable[[Any, Any], Any] = SMTP.push
    extra = {"220 Ready to start TLS": "220 Ready to start TLS\r\n250-mail.test\r\n250 AUTH PLAIN"}
    monkeypatch.setattr(SMTP, "push", lambda server, status: push(server, extra.get(status, status)))
    server = mail_server(tls_context=server_tls)
    async with server as mailbox, smtp_provider(mailbox.url(host="localhost"), tls_context=client_tls) as provider:
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Unavailable)
    assert "out of turn" in outcome.reason


async def test_smtp_is_blind() -> None:
    async with smtp_provider("smtp://localhost?from=news@example.com") as provider:
        evidence = await provider.look_up(Doubtful("ann@example.org", b"k" * 32, datetime.now(UTC)))

    assert provider.provider_class == Blind()
    assert isinstance(evidence, CannotTell)


def test_the_password_is_not_in_what_is_shown() -> None:
    provider = SmtpProvider.from_url("smtp://ann:geheim@localhost?from=news@example.com")

    assert "geheim" not in repr(provider)
    assert "geheim" not in repr(vars(provider))
