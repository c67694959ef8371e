"""One SMTP connection: opened, then used by smtp.py, one message after the other.

aiosmtplib opens it: greeting, EHLO, STARTTLS, AUTH. For messages this adds what its calls lack: replies checked
against the grammar, no reply ever paired with the wrong command, several commands written at once, and the final dot
written apart from the message.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Sequence
from typing import cast

from aiosmtplib import SMTP, SMTPAuthenticationError, SMTPException, SMTPResponse, SMTPResponseException
from aiosmtplib.errors import SMTPServerDisconnected
from aiosmtplib.protocol import SMTPProtocol

from tidings.providers.printable import printable
from tidings.providers.smtp_url import SmtpServer

_REPLY = re.compile(rb"([2-5][0-9]{2})(?:-[^\n]*\n\1)*(?: [^\n]*)?\r?\n")
_BEGINNING = re.compile(rb"([2-5][0-9]{2})-[^\n]*\n(?:\1-[^\n]*\n)*(?:[^\n]*)")
_LONGEST_REPLY = 65_536
_MALFORMED = -1
_QUIT_SECONDS = 2.0
# With no more room than this in the buffer, "flushed" means that the operating system has it all. Zero would do for
# plain connections, but makes asyncio's TLS transport pause for ever.
_BUFFER_BYTES = 1


class ChannelRefused(Exception):
    """The server takes no messages from us; it says nothing about any person. `is_final`: as we are set up, never."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.is_final = is_final


class StrictProtocol(SMTPProtocol):
    """Refuses replies that are malformed, and connections on which the server speaks out of turn.

    aiosmtplib keeps a reply that came too early and pairs it with the next command, so that a stray "250" could
    stand for a message that was refused.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._unread = bytearray()
        self._more: asyncio.Future[None] | None = None  # a reader waits for more to arrive
        self._ended = False

    @property
    def is_silent(self) -> bool:
        """True while nothing has arrived that no command asked for."""
        return not self._unread

    def data_received(self, data: bytes) -> None:
        """Keep what arrives beside aiosmtplib's own buffer."""
        if len(self._unread) < _LONGEST_REPLY:
            self._unread += data
        self._stir()
        super().data_received(data)  # which takes no notice while no command of its own waits

    def eof_received(self) -> bool:
        """The server has said its last."""
        self._ended = True
        self._stir()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing will come any more."""
        self._ended = True
        self._stir()
        super().connection_lost(exc)

    def _stir(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    async def next_reply(self) -> SMTPResponse:
        """Read one reply to what was written here; several may have been asked for at once."""
        while (reply := self._take_reply()) is None:
            if self._ended:
                raise SMTPServerDisconnected("connection lost")
            self._more = self._loop.create_future()
            await self._more
        return reply

    def _take_reply(self) -> SMTPResponse | None:
        """The reply that has arrived, if all of it has; raise for what can become none."""
        found = _REPLY.match(self._unread)
        if found is None and self._can_become_a_reply():
            return None
        if found is None:
            said = printable(self._unread[:200].decode("utf-8", "replace"))
            raise SMTPResponseException(_MALFORMED, f"malformed reply {said!r}")
        reply = found[0]
        del self._unread[: len(reply)]
        text = b"\n".join(line[4:].strip() for line in reply.splitlines())
        return SMTPResponse(int(reply[:3]), text.decode("utf-8", "surrogateescape"))

    def _can_become_a_reply(self) -> bool:
        is_begun = b"\n" not in self._unread or _BEGINNING.fullmatch(self._unread) is not None
        return is_begun and len(self._unread) < _LONGEST_REPLY

    async def read_response(self, timeout: float | None = None) -> SMTPResponse:
        """Read one reply, and check it against the grammar of RFC 5321 §4.2."""
        response = await super().read_response(timeout)
        reply = _REPLY.match(self._unread)
        if reply is None:
            raise SMTPResponseException(_MALFORMED, f"malformed reply {printable(response.message)!r}")
        del self._unread[: reply.end()]
        return response

    def write(self, data: bytes) -> None:
        """Write, unless the connection is lost or the server spoke out of turn: then raise and write nothing."""
        self.check_ready()
        super().write(data)

    def check_ready(self) -> None:
        """Raise when nothing may be written any more."""
        if not self.is_silent:
            said = printable(self._unread[:200].decode("utf-8", "replace"))
            raise SMTPServerDisconnected(f"the server spoke out of turn: {said}")
        if not self.is_connected:
            raise SMTPServerDisconnected("connection lost")

    async def wait_flushed(self) -> None:
        """Wait until the operating system has taken every byte."""
        await self._drain_helper()


class Connection:
    """A connection that greeted us; it carries one message at a time and dies of any surprise."""

    def __init__(self, smtp: SMTP, protocol: StrictProtocol, transport: asyncio.Transport) -> None:
        self._smtp = smtp
        self._protocol = protocol
        self._transport = transport

    @property
    def is_usable(self) -> bool:
        """True while the connection is open and the server silent."""
        return self._protocol.is_connected and self._protocol.is_silent

    def offers(self, extension: str) -> bool:
        """Say whether the server announced an extension."""
        return self._smtp.supports_extension(extension)

    def ask(self, commands: Sequence[bytes]) -> None:
        """Send commands, all at once; each has a reply, to be read in this order. More than one needs PIPELINING."""
        if any(b"\r" in command or b"\n" in command or b"\0" in command for command in commands):
            raise ValueError("a command holds a control character")
        self._protocol.write(b"".join(b"%s\r\n" % command for command in commands))

    async def reply(self) -> SMTPResponse:
        """Read the next reply, whatever that is."""
        return await self._protocol.next_reply()

    async def write_content(self, content: bytes) -> None:
        """Hand the message to the operating system; without its final dot it counts for nothing.

        Raises when the connection broke on the way, or the server did not wait for the end.
        """
        self._protocol.write(content)
        await self._protocol.wait_flushed()
        self._protocol.check_ready()

    async def write_dot(self) -> SMTPResponse:
        """End the message and read the reply: from here on the server may have accepted it."""
        self._protocol.write(b".\r\n")
        return await self._protocol.next_reply()

    async def quit(self) -> None:
        """Take leave, without waiting long for an answer."""
        try:
            async with asyncio.timeout(_QUIT_SECONDS):
                await self._smtp.quit()
        except (OSError, SMTPException):
            pass  # the connection ends either way
        finally:
            self.abort()

    def abort(self) -> None:
        """Drop the connection and whatever was not sent yet."""
        self._transport.abort()
        self._smtp.close()

    async def greet(self, server: SmtpServer, tls_context: ssl.SSLContext) -> None:
        """Go through greeting, EHLO, STARTTLS and AUTH."""
        greeting = await self._protocol.read_response()
        if greeting.code != 220:
            raise SMTPResponseException(greeting.code, greeting.message)
        await self._smtp.ehlo()
        if server.tls == "required" or (server.tls == "when offered" and self.offers("starttls")):
            await self._smtp.starttls(tls_context=tls_context)
            self._flush_at_once()
            await self._smtp.ehlo()
        if server.username is not None:
            await self._smtp.login(server.username, server.password or "")

    def _flush_at_once(self) -> None:
        if self._protocol.transport is None:
            raise SMTPServerDisconnected("connection lost")
        self._transport = cast("asyncio.Transport", self._protocol.transport)  # not by isinstance: uvloop's is no child
        self._transport.set_write_buffer_limits(high=_BUFFER_BYTES)


async def open_connection(server: SmtpServer, tls_context: ssl.SSLContext) -> Connection:
    """Connect and greet; raise ChannelRefused when only other settings would help, else what the network raised."""
    try:
        return await _open(server, tls_context)
    except (OSError, SMTPException) as error:
        reason = _refusal(error)
        if reason is None:
            raise
        is_final = not isinstance(error, SMTPResponseException) or error.code >= 500
        # `from None`: a server may repeat the password in what it says, and the cause would carry that.
        raise ChannelRefused(reason, is_final=is_final) from None


async def _open(server: SmtpServer, tls_context: ssl.SSLContext) -> Connection:
    loop = asyncio.get_running_loop()
    implicit = tls_context if server.tls == "implicit" else None
    transport, protocol = await loop.create_connection(
        lambda: StrictProtocol(loop), server.host, server.port, ssl=implicit
    )
    transport.set_write_buffer_limits(high=_BUFFER_BYTES)
    smtp = SMTP(hostname=server.host, local_hostname=_own_name(transport), timeout=None)
    smtp.protocol, smtp.transport = protocol, transport
    connection = Connection(smtp, protocol, transport)
    try:
        await connection.greet(server, tls_context)
    except BaseException:
        connection.abort()
        raise
    return connection


def _refusal(error: Exception) -> str | None:
    match error:
        case SMTPAuthenticationError() if error.code < 500:
            return f"the server could not check our user name and password just now: {error.code}"
        case SMTPAuthenticationError():
            return f"the server refused our user name or password with {error.code}: correct them in the SMTP URL"
        case SMTPResponseException() if error.code >= 400:
            return f"the server refused us: {error.code} {printable(error.message)} (when opening the connection)"
        case ssl.SSLCertVerificationError():
            return f"the server's certificate is not trusted: {printable(error.verify_message)}"
        case OSError() | SMTPResponseException():
            return None  # the network, or a reply that is no SMTP
        case _:
            return printable(f"the server does not offer what the SMTP URL asks for: {error}")


def _own_name(transport: asyncio.Transport) -> str:
    """Name this host for EHLO without asking DNS, which may hang: its full name, or its address as a literal."""
    name = socket.gethostname()
    if re.fullmatch(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", name):
        return name
    address: str = transport.get_extra_info("sockname")[0]
    return f"[IPv6:{address}]" if ":" in address else f"[{address}]"
