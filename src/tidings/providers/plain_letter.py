"""Write ordinary e-mails without the email package: to a plain address, with a text part, an HTML part, or both.

The package takes a millisecond or two for one, ten times as long as all else that is done for an item, nearly all of it
to take apart headers that we have just put together. Here they are written as they are; what must be encoded (a body, a
subject) is still encoded by the package, and whatever is out of the ordinary is left to it altogether.
tests/providers/test_plain_letter.py compares the two byte for byte.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from email.contentmanager import raw_data_manager
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import lru_cache
from typing import cast

from tidings.domain.flow.item import Payload
from tidings.providers.quoted_printable import quoted_if_shorter

# Nothing but 7-bit content, so no server has to offer 8BITMIME and none re-encodes on the way.
ASCII_HEADERS = SMTP.clone(cte_type="7bit")

_ADDRESS = re.compile(r"(?=[^@]{1,64}@)[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_WORDS = re.compile(r"[!-~]+(?: [!-~]+)*")
_NOT_PLAIN = re.compile(r"[^\t\n -~]")
_ODD_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NO_ODD_CONTROL = bytes(byte for byte in range(256) if not _ODD_CONTROL.match(chr(byte)))
_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE_LENGTH = 78
"""Longer ones are folded or encoded."""
_LONG_TEXT = 1_000
"""Shorter ones are encoded by the package in no time."""
_KEY_BYTES = 32
_VERSION = "MIME-Version: 1.0\r\n"


@dataclass(frozen=True, slots=True)
class PlainHead:
    """The lines of the head that depend on the sender alone, as the package writes them."""

    sender: str
    before_key: str
    after_key: str


def write_plain(head: PlainHead, recipient: str, payload: Payload, written_at: datetime, key: bytes) -> bytes | None:
    """The whole message up to its final dot, dots not doubled; None when it is not so plain."""
    if len(key) != _KEY_BYTES or len(recipient) > _LINE_LENGTH - len("To: ") or not _ADDRESS.fullmatch(recipient):
        return None
    reply_to = _reply_to(payload.get("replyTo"))
    try:
        subject, content = _subject(payload.get("subject")), _content(payload, key)
    except UnicodeEncodeError:
        return None
    if subject is None or content is None or reply_to is None:
        return None
    date, id = _date(written_at.replace(microsecond=0)), f"{head.before_key}{key.hex()}{head.after_key}"
    return f"{head.sender}To: {recipient}\r\n{reply_to}{subject}Date: {date}\r\n{id}{content}".encode("ascii")


@lru_cache(maxsize=4)
def _date(second: datetime) -> str:
    """Written once for all messages of a second: it takes a third as long as the rest of an ordinary one."""
    return format_datetime(second)


def _reply_to(address: str | None) -> str | None:
    """The line that says where answers go, empty without one; None where the address is out of the ordinary."""
    if not address:
        return ""
    is_plain = len(address) <= _LINE_LENGTH - len("Reply-To: ") and _ADDRESS.fullmatch(address)
    return f"Reply-To: {address}\r\n" if is_plain else None


def _subject(text: str | None) -> str | None:
    """The subject's line, or lines; None where it might break out of them."""
    if not text or not text.isprintable() or "=?" in text:  # which the package would decode, line ends and all
        return None
    if len(text) <= _LINE_LENGTH - len("Subject: ") and _WORDS.fullmatch(text):
        return f"Subject: {text}\r\n"
    written: str = ASCII_HEADERS.header_factory("Subject", text).fold(policy=ASCII_HEADERS)
    first, *others = _LINE_END.split(written.removesuffix("\r\n"))
    is_one_header = first.startswith("Subject:") and all(line.startswith((" ", "\t")) for line in others)
    return written if is_one_header else None


def _content(payload: Payload, key: bytes) -> str | None:
    body, html = payload.get("body"), payload.get("html")
    if body is None or html is None:
        text, subtype = (html, "html") if body is None else (body, "plain")
        return None if text is None else _part(text, subtype, _VERSION)
    boundary = boundary_of(key)
    return (
        f'{_VERSION}Content-Type: multipart/alternative;\r\n boundary="{boundary}"\r\n\r\n'
        f"--{boundary}\r\n{_part(body, 'plain')}\r\n"
        f"--{boundary}\r\n{_part(html, 'html', _VERSION)}\r\n--{boundary}--\r\n"
    )


def boundary_of(key: bytes) -> str:
    """What separates the text part from the HTML part; the package's own is random, ours is the same at a repeat."""
    return f"=_{key.hex()[:40]}"


def encoding_of(text: str) -> str | None:
    """Pick base64 for what must not stand in a message as it is (NUL and its like), else leave it to the package."""
    return "base64" if _ODD_CONTROL.search(text) else None


def _part(text: str, subtype: str, after: str = "") -> str:
    encoding, encoded = _encoded(text)
    head = f'Content-Type: text/{subtype}; charset="utf-8"\r\nContent-Transfer-Encoding: {encoding}\r\n{after}\r\n'
    return head + encoded


def _encoded(text: str) -> tuple[str, str]:
    lines = text.split("\n")
    if not _NOT_PLAIN.search(text) and max(map(len, lines)) <= _LINE_LENGTH:
        return "7bit", "\r\n".join(lines if lines[-1] else lines[:-1]) + "\r\n"
    long = _long_quoted(text)
    if long is not None:
        return "quoted-printable", long
    encoder = _Encoder()
    raw_data_manager.set_content(cast("EmailMessage", encoder), text, cte=encoding_of(text))
    return encoder.encoding, _LINE_END.sub("\r\n", encoder.payload)


def _long_quoted(text: str) -> str | None:
    """A long text in quoted-printable; None where it is short or better off in base64, which is left to the package."""
    if len(text) < _LONG_TEXT:
        return None
    encoded = text.encode()
    has_odd_control = encoded.translate(None, _NO_ODD_CONTROL) != b""  # a third of what the pattern takes
    return None if has_odd_control else quoted_if_shorter(encoded.splitlines(), _LINE_LENGTH)


class _Encoder:
    """Stands in for a message where the package encodes a body: it keeps the result and parses no header."""

    policy = ASCII_HEADERS

    def __init__(self) -> None:
        self.encoding, self.payload = "", ""

    def get_content_maintype(self) -> str:
        return "text"

    def clear_content(self) -> None:
        """There is no such header."""

    def __setitem__(self, name: str, value: str) -> None:
        if name == "Content-Transfer-Encoding":
            self.encoding = value

    def set_payload(self, payload: str) -> None:
        self.payload = payload

    def set_param(self, name: str, value: str, *, replace: bool) -> None:
        """The charset is always the same."""
