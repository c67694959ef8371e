"""Prove to an SMTP server who we are (RFC 4954): CRAM-MD5, PLAIN or LOGIN, whichever it offers and takes."""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping

from tidings.domain.flow.dialogue import hidden
from tidings.providers.smtp_reply import SmtpReply
from tidings.providers.smtp_wire import SmtpWire

_WELCOME, _GO_ON = 235, 334


class NotOffered(Exception):
    """What the SMTP URL asks for, and the server does not offer."""


class AuthRefused(Exception):
    """The code of the refusal alone: a server may repeat the password in what it says."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


async def authenticate(wire: SmtpWire, extensions: Mapping[str, str], username: str, password: str) -> None:
    """Try the methods that are offered until one is taken: some servers offer what they do not really have."""
    if "auth" not in extensions:
        raise NotOffered("user names and passwords (AUTH)")
    offered = extensions["auth"].upper().split()
    reply: SmtpReply | None = None
    for name, method in _METHODS.items():
        if name in offered:
            with hidden():
                reply = await method(wire, username.encode(), password.encode())
            if reply.code == _WELCOME:
                return
    if reply is None:
        raise NotOffered(f"any of {', '.join(_METHODS)}")
    raise AuthRefused(reply.code)


async def _cram_md5(wire: SmtpWire, username: bytes, password: bytes) -> SmtpReply:
    reply = await wire.ask(b"AUTH CRAM-MD5")
    if reply.code != _GO_ON:
        return reply
    try:
        challenge = b64decode(reply.message, validate=True)
    except (binascii.Error, ValueError):
        return await wire.ask(b"*")  # which takes the attempt back
    digest = hmac.new(password, challenge, "md5").hexdigest().encode("ascii")
    return await wire.ask(b64encode(username + b" " + digest))


async def _plain(wire: SmtpWire, username: bytes, password: bytes) -> SmtpReply:
    return await wire.ask(b"AUTH PLAIN " + b64encode(b"\0" + username + b"\0" + password))


async def _login(wire: SmtpWire, username: bytes, password: bytes) -> SmtpReply:
    reply = await wire.ask(b"AUTH LOGIN " + b64encode(username))
    return await wire.ask(b64encode(password)) if reply.code == _GO_ON else reply


_METHODS: dict[str, Callable[[SmtpWire, bytes, bytes], Awaitable[SmtpReply]]] = {
    "CRAM-MD5": _cram_md5,
    "PLAIN": _plain,
    "LOGIN": _login,
}
