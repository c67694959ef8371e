"""E-mail over SMTP: a blind provider, since nothing can tell what became of a message whose reply was lost.

A message goes command by command: connect, EHLO, STARTTLS, AUTH → MAIL → RCPT → DATA → the message → the final dot.
A server that offers PIPELINING gets MAIL, RCPT and DATA at once: two round trips for a message instead of five.
Until the server has greeted us and taken our credentials it knows nothing of the message: every failure is the server's
(Unavailable). Until the dot is written SMTP accepts nothing, so every failure before it is a safe retry; after it, only
the server's whole reply can say what happened, and without one the outcome is Unknown. smtp_reply.py says what replies
mean.
"""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from aiosmtplib import SMTPException, SMTPResponse

from tidings.domain.content.attachment import AttachmentReference
from tidings.domain.errors import StorageUnavailable
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, CannotTell, Doubtful, Evidence, MayStart
from tidings.domain.private_addresses import FindPrivateAddresses, no_private_addresses
from tidings.providers.enclosed import Fetched, references_in
from tidings.providers.letter import Letter, Sender, compose
from tidings.providers.printable import printable
from tidings.providers.smtp_connection import ChannelRefused, Connection, open_connection
from tidings.providers.smtp_reply import Stage, judge
from tidings.providers.smtp_url import SmtpServer, read_smtp_url

if TYPE_CHECKING:
    from tidings.providers.attachments import AttachmentFetcher

# What a broken, closed or babbling connection raises; uvloop adds RuntimeError for a transport that is gone.
_FAILURES = (OSError, SMTPException, ValueError, RuntimeError)
_RESET, _DATA = b"RSET", b"DATA"
_LATE_REPLIES_SECONDS = 5.0


class SmtpProvider:
    """Sends items over a pool of at most `concurrency` connections."""

    provider_class = Blind()

    def __init__(
        self,
        server: SmtpServer,
        sender: Sender,
        *,
        name: str = "smtp",
        concurrency: int = 10,
        call_deadline: timedelta = timedelta(seconds=60),
        tls_context: ssl.SSLContext | None = None,
        private_addresses: FindPrivateAddresses = no_private_addresses,
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self.call_deadline = call_deadline
        self._server = server
        self._sender = sender
        self._tls_context = tls_context or ssl.create_default_context()
        self._slots = asyncio.Semaphore(concurrency)
        self._private_addresses = private_addresses  # from which a workspace may have attachments fetched
        self._fetcher: AttachmentFetcher | None = None
        self._idle: list[Connection] = []
        self._most, self._calling = concurrency, 0
        self._is_closed = False

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        name: str = "smtp",
        concurrency: int = 10,
        call_deadline: timedelta = timedelta(seconds=60),
        tls_context: ssl.SSLContext | None = None,
        private_addresses: FindPrivateAddresses = no_private_addresses,
    ) -> Self:
        """Make a provider from smtp://user:password@host:port?from=you@example.com, or smtps:// for TLS at once.

        STARTTLS is used when offered, and demanded when there is a password; `starttls=true` and `starttls=false`
        say otherwise. Raises ConfigInvalid, without the password in it.
        """
        server, sender = read_smtp_url(url)
        return cls(
            server,
            sender,
            name=name,
            concurrency=concurrency,
            call_deadline=call_deadline,
            tls_context=tls_context,
            private_addresses=private_addresses,
        )

    @property
    def _patience(self) -> float:
        """A little less than the kernel's: the side that gives up first must know whether anything was sent."""
        seconds = self.call_deadline.total_seconds()
        return seconds - min(1.0, seconds / 10)

    def __repr__(self) -> str:
        return f"SmtpProvider({self.name!r}, {self._server.host}:{self._server.port}, from {self._sender.address!r})"

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Send one message, or say why not; never raises for what a server or the network does."""
        references = references_in(item.payload)
        if isinstance(references, Rejected):
            return references
        deadline = asyncio.get_running_loop().time() + self._patience
        with ExitStack() as files:
            fetched = await self._fetch(item, references, files, deadline) if references else []
            if not isinstance(fetched, list):
                return fetched
            letter = compose(item, self._sender, datetime.now(UTC), fetched)
            return letter if isinstance(letter, Rejected) else await self._send(letter, may_start, deadline)

    async def _send(self, letter: Letter, may_start: MayStart, deadline: float) -> Outcome:
        call = _Call(letter, self._sender)
        try:
            async with asyncio.timeout_at(deadline), self._slots:
                return await self._make(call, may_start)
        except ChannelRefused as refused:
            return Unavailable(str(refused), is_refused=refused.is_final)
        except _FAILURES as failure:
            return call.outcome_without_reply(failure)

    async def _fetch(
        self, item: Marked, references: Sequence[AttachmentReference], files: ExitStack, deadline: float
    ) -> list[Fetched] | Outcome:
        """Get the files of a message before anything of it is sent."""
        # Only messages with files pay for importing the client.
        from tidings.providers.attachments import AttachmentFetcher  # noqa: PLC0415

        if self._fetcher is None:
            self._fetcher = AttachmentFetcher(self._private_addresses)
        try:
            async with asyncio.timeout_at(deadline):
                return await self._fetcher.fetch(references, files, item.workspace)
        except TimeoutError:
            return RetryLater("the attachments could not be fetched before the deadline of the call")
        except StorageUnavailable as error:
            return RetryLater(f"the attachments could not be fetched: {error}", uses_attempt=False)

    def keep_connections(self, most: int) -> None:
        """Hold no more connections than this from now on, apart from those of calls that are under way."""
        self._most = most
        while self._idle and len(self._idle) + self._calling > most:
            self._idle.pop(0).abort()  # at once: another worker may open one in its place

    async def look_up(self, item: Doubtful) -> Evidence:  # noqa: ARG002
        """Return no evidence: SMTP has no way to ask."""
        return CannotTell("SMTP cannot be asked what became of a message")

    async def close(self) -> None:
        """Say QUIT on every idle connection; those in use end with their call."""
        self._is_closed = True
        idle, self._idle = self._idle, []
        await asyncio.gather(*(connection.quit() for connection in idle))
        if self._fetcher is not None:
            await self._fetcher.close()

    async def _make(self, call: "_Call", may_start: MayStart) -> Outcome:
        """Use an idle connection if it still answers, else a new one."""
        self._calling += 1
        try:
            connection = self._take_idle()
            reply = await call.begin_if_alive(connection) if connection is not None else None
            if connection is None or reply is None:
                connection = await open_connection(self._server, self._tls_context)
                reply = await call.begin(connection)
            return await call.finish(connection, reply, may_start)
        finally:
            self._calling -= 1
            self._put_back(call)

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.abort()
        return None

    def _put_back(self, call: "_Call") -> None:
        connection = call.connection
        if connection is None:
            return
        has_room = len(self._idle) + self._calling < self._most
        if call.is_settled and connection.is_usable and has_room and not self._is_closed:
            self._idle.append(connection)
        else:
            connection.abort()


class _Call:
    """One message on its way: which connection it holds, and whether its final dot was written."""

    def __init__(self, letter: Letter, sender: Sender) -> None:
        self.connection: Connection | None = None
        self.is_settled = False  # both sides agree where the connection stands, so it may be used again
        self._letter = letter
        self._sender = sender
        self._ahead = 0  # commands that went with an earlier one, and whose replies are still to come
        self._dot_written = False

    async def begin_if_alive(self, connection: Connection) -> SMTPResponse | None:
        """Try MAIL on a connection that was used before; None when the server has let go of it meanwhile."""
        self.connection = connection
        try:
            reset, reply = await self._ask_from(connection, _RESET), None
            if reset.code == 250:
                reply = await self._ask(connection, self._mail(connection))
            if reply is not None and reply.code != 421:
                return reply
        except _FAILURES:
            pass  # nothing was started: a new connection can have the message
        connection.abort()
        self.connection = None
        return None

    async def begin(self, connection: Connection) -> SMTPResponse:
        """Send MAIL, with what the server offers for it."""
        self.connection = connection
        return await self._ask_from(connection, self._mail(connection))

    async def finish(self, connection: Connection, reply: SMTPResponse, may_start: MayStart) -> Outcome:
        """Go on from the reply to MAIL up to the reply to the whole message."""
        if reply.code != 250:
            return await self._refused(connection, Stage.MAIL, reply)
        if self._letter.needs_utf8 and not connection.offers("smtputf8"):
            self.is_settled = True
            return Rejected("the server cannot write to addresses beyond ASCII (no SMTPUTF8)")
        reply = await self._ask(connection, self._rcpt)
        if reply.code not in (250, 251):
            return await self._refused(connection, Stage.RCPT, reply)
        reply = await self._ask(connection, _DATA)
        if reply.code != 354:
            return await self._refused(connection, Stage.DATA, reply)
        if not may_start():
            return RetryLater("the lease was spent before the message was handed over", uses_attempt=False)
        return await self._hand_over(connection)

    def _mail(self, connection: Connection) -> bytes:
        options = b" SIZE=%d" % self._letter.size if connection.offers("size") else b""
        if self._letter.needs_utf8 and connection.offers("smtputf8"):
            options += b" SMTPUTF8 BODY=8BITMIME"
        return b"MAIL FROM:<%s>%s" % (self._sender.address.encode("ascii"), options)

    @property
    def _rcpt(self) -> bytes:
        return b"RCPT TO:<%s>" % self._letter.recipient.encode()

    async def _ask_from(self, connection: Connection, first: bytes) -> SMTPResponse:
        """Ask the first question, and with it all that follow up to DATA if the server takes them together."""
        questions = [first]
        if connection.offers("pipelining") and (connection.offers("smtputf8") or not self._letter.needs_utf8):
            mail = [self._mail(connection)] if first == _RESET else []
            questions += [*mail, self._rcpt, _DATA]
        connection.ask(questions)
        self._ahead = len(questions) - 1
        return await connection.reply()

    async def _ask(self, connection: Connection, question: bytes) -> SMTPResponse:
        """Ask, unless that went ahead; and read the reply."""
        if self._ahead:
            self._ahead -= 1
        else:
            connection.ask([question])
        return await connection.reply()

    def outcome_without_reply(self, failure: Exception) -> Outcome:
        """Say what a broken connection or a passed deadline means at this point."""
        reason = printable(getattr(failure, "message", "") or str(failure) or "the deadline of the call passed")
        if self._dot_written:
            # The server may have accepted before the reply was lost; resending here would mail people twice.
            return Unknown(f"{reason} (after the end of the message)")
        if self.connection is None:
            return Unavailable(f"{reason} (when opening the connection)")
        return RetryLater(f"{reason} (before the end of the message)")

    async def _hand_over(self, connection: Connection) -> Outcome:
        for chunk in self._letter.chunks():
            await connection.write_content(chunk)
        self._dot_written = True
        reply = await connection.write_dot()
        if reply.code != 250:
            return await self._refused(connection, Stage.END, reply)
        self.is_settled = True
        return Accepted(self._letter.message_id)

    async def _refused(self, connection: Connection, stage: Stage, reply: SMTPResponse) -> Outcome:
        self.is_settled = _is_refusal(reply) and await self._is_all_refused(connection)
        return judge(stage, reply)

    async def _is_all_refused(self, connection: Connection) -> bool:
        """Read the replies to what went ahead; one who says 354 after a refusal waits for a message there is not."""
        try:
            async with asyncio.timeout(_LATE_REPLIES_SECONDS):
                return all([_is_refusal(await connection.reply()) for _ in range(self._ahead)])
        except _FAILURES:
            return False


def _is_refusal(reply: SMTPResponse) -> bool:
    """Whether the server said no and keeps the connection."""
    return 400 <= reply.code < 600 and reply.code != 421
