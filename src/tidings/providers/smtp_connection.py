"""One SMTP connection: opened (greeting, EHLO, STARTTLS, AUTH), then used by smtp.py, one message after the other."""

import asyncio
import re
import socket
import ssl

from tidings.domain.flow.dialogue import dialogue
from tidings.domain.private_addresses import PrivateAddresses
from tidings.providers.deadline_timer import DeadlineTimer
from tidings.providers.guard import REMEDY, AddressRefused, connect_checked
from tidings.providers.printable import printable
from tidings.providers.smtp_auth import AuthRefused, NotOffered, authenticate
from tidings.providers.smtp_reply import SmtpReply
from tidings.providers.smtp_url import SmtpServer
from tidings.providers.smtp_wire import Hoped, SmtpBroken, SmtpWire

_QUIT_SECONDS = 2.0


class ChannelRefused(Exception):
    """The server takes no messages from us; it says nothing about any person. `is_final`: as we are set up, never."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.is_final = is_final


class Connection:
    """A connection that greeted us; it carries one message at a time and dies of any surprise."""

    def __init__(self, wire: SmtpWire) -> None:
        self._wire = wire
        self._timer = DeadlineTimer(self._expire)
        self.pipelines = self.takes_size = self.takes_utf8 = False

    @property
    def is_usable(self) -> bool:
        """True while the connection is open and the server silent."""
        return self._wire.is_usable

    @property
    def declined(self) -> list[int]:
        """The codes of the replies to the last exchange that said no and were as good as hoped for."""
        return self._wire.declined

    @property
    def came(self) -> int:
        """How many replies of the last exchange were the ones hoped for."""
        return self._wire.came

    def begin(self, deadline: float) -> None:
        """A call begins; when its deadline passes, whatever it waits for ends with TimeoutError."""
        self._timer.start(deadline)

    def end(self) -> None:
        """The call is over, and the connection may wait for another."""
        self._timer.stop()

    async def exchange(self, commands: bytes, hoped: Hoped) -> SmtpReply | None:
        """Write commands, more than one only with PIPELINING; return the first reply that is not hoped for."""
        return await self._wire.exchange(commands, hoped)

    async def reply(self) -> SmtpReply:
        """Read the next reply, whatever that is."""
        return await self._wire.next_reply()

    async def write_content(self, content: bytes) -> None:
        """Hand the message to the operating system; without its final dot it counts for nothing.

        Raises when the connection broke on the way, or the server did not wait for the end.
        """
        self._wire.write(content)
        if noted := dialogue():
            noted.note(f"> (the message: {len(content):,} bytes)")
        await self._wire.wait_flushed()
        self._wire.check_ready()

    async def quit(self) -> None:
        """Take leave, without waiting long for an answer."""
        try:
            async with asyncio.timeout(_QUIT_SECONDS):
                await self._wire.ask(b"QUIT")
        except OSError:
            pass  # the connection ends either way
        finally:
            self.abort()

    def abort(self) -> None:
        """Drop the connection and whatever was not sent yet."""
        self._timer.close()
        self._wire.transport.abort()

    def _expire(self) -> None:
        self._wire.fail(TimeoutError("the deadline of the call passed"))

    async def greet(self, server: SmtpServer, tls_context: ssl.SSLContext) -> None:
        """Go through greeting, EHLO, STARTTLS and AUTH."""
        _insist(220, await self._wire.next_reply())
        extensions = await self._hello()
        if server.tls == "required" or (server.tls == "when offered" and "starttls" in extensions):
            if "starttls" not in extensions:
                raise NotOffered("STARTTLS")
            _insist(220, await self._wire.ask(b"STARTTLS"))
            await self._wire.start_tls(tls_context, server.host)
            extensions = await self._hello()  # what was offered in the clear may have been anybody's word
        if server.username is not None:
            await authenticate(self._wire, extensions, server.username, server.password or "")
        self.pipelines, self.takes_size = "pipelining" in extensions, "size" in extensions
        self.takes_utf8 = "smtputf8" in extensions

    async def _hello(self) -> dict[str, str]:
        """Say EHLO; return what is offered, by names in lower case."""
        reply = await self._wire.ask(b"EHLO %s" % _own_name(self._wire.transport).encode("ascii"))
        _insist(250, reply)
        extensions: dict[str, str] = {}
        for line in reply.message.lower().split("\n")[1:]:
            # Old servers write AUTH=PLAIN for AUTH PLAIN, some beside it.
            name, _, words = line.replace("auth=", "auth ", 1).partition(" ")
            extensions[name] = f"{extensions.get(name, '')} {words}"
        return extensions


class _Unwelcome(Exception):
    """The server answered a step of the opening with another code than it should."""

    def __init__(self, reply: SmtpReply) -> None:
        super().__init__(f"unexpected reply {reply.code} {printable(reply.message)}")
        self.reply = reply


def _insist(code: int, reply: SmtpReply) -> None:
    if reply.code != code:
        raise _Unwelcome(reply)


async def open_connection(
    server: SmtpServer, tls_context: ssl.SSLContext, private: PrivateAddresses | None = None
) -> Connection:
    """Connect and greet; raise ChannelRefused when only other settings would help, else what the network raised.

    With `private` the server must have a public address, or one of these.
    """
    try:
        return await _open(server, tls_context, private)
    except AddressRefused as refused:
        raise ChannelRefused(f"{refused}: {REMEDY}", is_final=True) from None
    except AuthRefused as refused:
        raise ChannelRefused(_auth_reason(refused.code), is_final=refused.code >= 500) from None
    except NotOffered as missing:
        reason = printable(f"the server does not offer what the SMTP URL asks for: {missing}")
        raise ChannelRefused(reason, is_final=True) from None
    except ssl.SSLCertVerificationError as error:
        reason = f"the server's certificate is not trusted: {printable(error.verify_message)}"
        raise ChannelRefused(reason, is_final=True) from None
    except _Unwelcome as unwelcome:
        code, message = unwelcome.reply
        if code < 400:
            raise SmtpBroken(str(unwelcome)) from None
        reason = f"the server refused us: {code} {printable(message)} (when opening the connection)"
        raise ChannelRefused(reason, is_final=code >= 500) from None


async def _open(server: SmtpServer, tls_context: ssl.SSLContext, private: PrivateAddresses | None) -> Connection:
    implicit = tls_context if server.tls == "implicit" else None
    loop = asyncio.get_running_loop()

    async def dial(address: str) -> SmtpWire:
        name = server.host if implicit else None  # TLS speaks to the name, whatever address was checked
        _, wire = await loop.create_connection(SmtpWire, address, server.port, ssl=implicit, server_hostname=name)
        return wire

    wire = await (dial(server.host) if private is None else connect_checked(server.host, server.port, private, dial))
    connection = Connection(wire)
    try:
        await connection.greet(server, tls_context)
    except BaseException:
        connection.abort()
        raise
    return connection


def _auth_reason(code: int) -> str:
    if code < 500:
        return f"the server could not check our user name and password just now: {code}"
    return f"the server refused our user name or password with {code}: correct them in the SMTP URL"


def _own_name(transport: asyncio.Transport) -> str:
    """Name this host for EHLO without asking DNS, which may hang: its full name, or its address as a literal."""
    name = socket.gethostname()
    if re.fullmatch(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", name):
        return name
    address: str = transport.get_extra_info("sockname")[0]
    return f"[IPv6:{address}]" if ":" in address else f"[{address}]"
