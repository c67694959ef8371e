"""E-mail over SMTP: a blind provider, since nothing can tell what became of a message whose reply was lost.

A message goes command by command: connect, EHLO, STARTTLS, AUTH → MAIL → RCPT → DATA → the message → the final dot.
A server that offers PIPELINING gets MAIL, RCPT and DATA at once: two round trips for a message instead of five.
Until the server has greeted us and taken our credentials it knows nothing of the message: every failure is the server's
(Unavailable). Until the dot is written SMTP accepts nothing, so every failure before it is a safe retry; after it, only
the server's whole reply can say what happened, and without one the outcome is Unknown. smtp_reply.py says what replies
mean.

One item is one message, also where copies (cc, bcc) make several RCPT of it: its recipient's reply decides. A copy that
is refused is left out and logged; to refuse the whole message, or to try again for the copy alone, would write to the
others twice.
"""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from tidings.domain.content.attachment import AttachmentReference
from tidings.domain.errors import StorageUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, CannotTell, Doubtful, Evidence, MayStart
from tidings.domain.private_addresses import FindPrivateAddresses, no_private_addresses
from tidings.log import log
from tidings.providers.deadline_timer import take_slot
from tidings.providers.enclosed import Fetched, references_in
from tidings.providers.letter import Letter, Sender, compose
from tidings.providers.printable import printable
from tidings.providers.smtp_connection import ChannelRefused, Connection, open_connection
from tidings.providers.smtp_reply import SmtpReply, Stage, judge
from tidings.providers.smtp_url import SmtpServer, read_smtp_url
from tidings.providers.smtp_wire import Hoped

if TYPE_CHECKING:
    from tidings.providers.attachments import AttachmentFetcher

# What a broken, closed or babbling connection raises; uvloop adds RuntimeError for a transport that is gone.
_FAILURES = (OSError, ValueError, RuntimeError)
_RESET = b"RSET\r\n"
_DATA = b"DATA\r\n"
_DOT = b".\r\n"
_RESET_DONE = ((250,),)
_RECIPIENT_TAKEN = (250, 251)
_COPY_ANSWERED = frozenset({*_RECIPIENT_TAKEN, *range(400, 600)} - {421})
_TAKEN: Hoped = ((250,),)
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
        is_guarded: bool = False,
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self.call_deadline = call_deadline
        self._server = server
        self._sender = sender
        self._tls_context = tls_context or ssl.create_default_context()
        self._slots = asyncio.Semaphore(concurrency)
        self._private_addresses = private_addresses  # from which a workspace may have attachments fetched
        self._is_guarded = is_guarded  # whether the server is a workspace's choice, and must not be one of ours
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
        if not references:
            return await self._send(item, compose(item, self._sender, datetime.now(UTC)), may_start, deadline)
        with ExitStack() as files:
            fetched = await self._fetch(item, references, files, deadline)
            if not isinstance(fetched, list):
                return fetched
            letter = compose(item, self._sender, datetime.now(UTC), fetched)
            return await self._send(item, letter, may_start, deadline)

    async def _send(self, item: Marked, letter: Letter | Rejected, may_start: MayStart, deadline: float) -> Outcome:
        if isinstance(letter, Rejected):
            return letter
        call = _Call(letter, self._sender, item.workspace)
        try:
            await take_slot(self._slots, deadline)
        except TimeoutError as failure:
            return call.outcome_without_reply(failure)
        try:
            return _told(item, call, await self._make(call, may_start, deadline))
        except ChannelRefused as refused:
            return Unavailable(str(refused), is_refused=refused.is_final)
        except StorageUnavailable as error:
            return Unavailable(f"the addresses it may have could not be read: {error}")
        except _FAILURES as failure:
            return call.outcome_without_reply(failure)
        finally:
            self._put_back(call)
            self._slots.release()

    async def _fetch(
        self, item: Marked, references: Sequence[AttachmentReference], files: ExitStack, deadline: float
    ) -> list[Fetched] | Outcome:
        """Get the files of a message before anything of it is sent."""
        # Only messages with files pay for importing the client.
        from tidings.providers.attachments import AttachmentFetcher  # noqa: PLC0415

        if self._fetcher is None:
            self._fetcher = AttachmentFetcher(self._private_addresses)
        try:
            return await self._fetcher.fetch(references, files, item.workspace, deadline)
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

    async def _make(self, call: "_Call", may_start: MayStart, deadline: float) -> Outcome:
        """Use an idle connection if it still answers, else a new one."""
        self._calling += 1
        try:
            connection = self._take_idle()
            if connection is None or not await call.begin_if_alive(connection, deadline):
                async with asyncio.timeout_at(deadline):
                    private = await self._private_addresses(call.workspace) if self._is_guarded else None
                    connection = await open_connection(self._server, self._tls_context, private)
                await call.begin(connection, deadline)
            return await call.finish(connection, may_start)
        finally:
            self._calling -= 1

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
            connection.end()
            self._idle.append(connection)
        else:
            connection.abort()


class _Call:
    """One message on its way: which connection it holds, and whether its final dot was written."""

    def __init__(self, letter: Letter, sender: Sender, workspace: Workspace) -> None:
        self.workspace = workspace
        self.connection: Connection | None = None
        self.declined_copies: list[int] = []  # what the server said to those it refused
        self.is_settled = False  # both sides agree where the connection stands, so it may be used again
        self._letter = letter
        self._sender = sender
        self._refused: SmtpReply | None = None
        self._resets = 0  # 1 on a connection that was used before: RSET goes before MAIL
        self._answered = 0  # commands up to DATA that were answered well
        self._ahead = 0  # commands that went with the refused one, and whose replies are still to come
        self._dot_written = False

    async def begin_if_alive(self, connection: Connection, deadline: float) -> bool:
        """Begin on a connection that was used before; False when the server has let go of it meanwhile."""
        self.connection, self._resets = connection, 1
        connection.begin(deadline)
        try:
            await self._ask(connection, [_RESET, *self._questions(connection)], (*_RESET_DONE, *self._hoped))
        except TimeoutError:
            raise  # too late for another connection
        except _FAILURES:
            if not self._is_let_go:
                raise
        if not self._is_let_go:
            return True
        # Nothing was started: a new connection can have the message.
        connection.abort()
        self.connection, self._refused, self._resets, self._answered = None, None, 0, 0
        self.declined_copies = []
        return False

    async def begin(self, connection: Connection, deadline: float) -> None:
        """Begin on a new connection."""
        self.connection = connection
        connection.begin(deadline)
        await self._ask(connection, self._questions(connection), self._hoped)

    async def finish(self, connection: Connection, may_start: MayStart) -> Outcome:
        """Go on from the replies up to DATA's to the reply to the whole message."""
        if self._refused is not None:
            return await self._judged(connection, self._stages[self._answered - self._resets], self._refused)
        if not self._can_be_addressed(connection):
            self.is_settled = True
            return Rejected("the server cannot write to addresses beyond ASCII (no SMTPUTF8)")
        if not may_start():
            return RetryLater("the lease was spent before the message was handed over", uses_attempt=False)
        return await self._hand_over(connection)

    def outcome_without_reply(self, failure: Exception) -> Outcome:
        """Say what a broken connection or a passed deadline means at this point."""
        reason = printable(str(failure) or "the deadline of the call passed")
        if self._dot_written:
            # The server may have accepted before the reply was lost; resending here would mail people twice.
            return Unknown(f"{reason} (after the end of the message)")
        if self.connection is None:
            return Unavailable(f"{reason} (when opening the connection)")
        return RetryLater(f"{reason} (before the end of the message)")

    @property
    def _is_let_go(self) -> bool:
        """Whether a connection that was used before ended at RSET or MAIL, or the server said that it ends."""
        is_closing = self._refused is None or self._refused.code == 421
        return self._answered == 0 or (self._answered == 1 and is_closing)

    def _can_be_addressed(self, connection: Connection) -> bool:
        return connection.takes_utf8 or not self._letter.needs_utf8

    def _questions(self, connection: Connection) -> list[bytes]:
        """All that is asked up to DATA, with what the server offers for it; MAIL alone where nothing can follow."""
        letter = self._letter
        size = b" SIZE=%d" % letter.size if connection.takes_size else b""
        if letter.needs_utf8 and connection.takes_utf8:
            size += b" SMTPUTF8 BODY=8BITMIME"
        mail = b"MAIL FROM:<%s>%s\r\n" % (self._sender.address.encode("ascii"), size)
        if not self._can_be_addressed(connection):
            return [mail]
        recipients = [b"RCPT TO:<%s>\r\n" % one.encode() for one in (letter.recipient, *letter.copies)]
        return [mail, *recipients, _DATA]

    @property
    def _hoped(self) -> Hoped:
        """The replies that let the message go on: a copy may be refused, its recipient may not."""
        return ((250,), _RECIPIENT_TAKEN, *[_COPY_ANSWERED] * len(self._letter.copies), (354,))

    @property
    def _stages(self) -> Sequence[Stage]:
        return (Stage.MAIL, Stage.RCPT, *[Stage.RCPT] * len(self._letter.copies), Stage.DATA)

    async def _ask(self, connection: Connection, questions: Sequence[bytes], hoped: Hoped) -> None:
        """Ask all at once if the server takes that, else one after the other, until one is refused."""
        if connection.pipelines:
            try:
                self._refused = await connection.exchange(b"".join(questions), hoped[: len(questions)])
            finally:
                self._answered = connection.came
            self.declined_copies = connection.declined
            self._ahead = len(questions) - self._answered - 1
            return
        for question, hope in zip(questions, hoped, strict=False):
            self._refused = await connection.exchange(question, (hope,))
            if self._refused is not None:
                return
            self._answered += 1
            self.declined_copies += connection.declined

    async def _hand_over(self, connection: Connection) -> Outcome:
        for chunk in self._letter.chunks():
            await connection.write_content(chunk)
        self._dot_written = True
        refused = await connection.exchange(_DOT, _TAKEN)
        if refused is not None:
            self._ahead = 0
            return await self._judged(connection, Stage.END, refused)
        self.is_settled = True
        return Accepted(self._letter.message_id)

    async def _judged(self, connection: Connection, stage: Stage, reply: SmtpReply) -> Outcome:
        self.is_settled = _is_refusal(reply) and await self._is_all_refused(connection)
        return judge(stage, reply)

    async def _is_all_refused(self, connection: Connection) -> bool:
        """Read the replies to what went ahead; one who says 354 after a refusal waits for a message there is not."""
        if not self._ahead:
            return True
        try:
            async with asyncio.timeout(_LATE_REPLIES_SECONDS):
                return all([_is_refusal(await connection.reply()) for _ in range(self._ahead)])
        except _FAILURES:
            return False


def _told(item: Marked, call: _Call, outcome: Outcome) -> Outcome:
    """Say in the log that copies were left out: what the server said of them, and not who they are."""
    if call.declined_copies and isinstance(outcome, Accepted):
        log.warning("copies_refused", **item.line, codes=call.declined_copies)
    return outcome


def _is_refusal(reply: SmtpReply) -> bool:
    """Whether the server said no and keeps the connection."""
    return 400 <= reply.code < 600 and reply.code != 421
