"""Write the e-mail that most are without the email package: ASCII, nothing to fold or encode, one text.

The package takes most of a millisecond for it, more than everything else together that is done for an item. Whatever it
would write in another way is left to it; tests/providers/test_plain_letter.py compares the two byte for byte.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime

from tidings.domain.item import Payload

_ADDRESS = re.compile(r"(?=[^@]{1,64}@)[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_SUBJECT = re.compile(r"[!-~]+(?: [!-~]+)*")
_ODD = re.compile(r"[^\t\n -~]")
_LINE_LENGTH = 78
"""Longer ones are folded or encoded."""
_KEY_BYTES = 32
_TEXT = b"""\
Content-Type: text/plain; charset="utf-8"\r
Content-Transfer-Encoding: 7bit\r
MIME-Version: 1.0\r
\r
"""


@dataclass(frozen=True, slots=True)
class PlainHead:
    """The lines of the head that depend on the sender alone, as the package writes them."""

    sender: bytes
    before_key: bytes
    after_key: bytes


def write_plain(head: PlainHead, recipient: str, payload: Payload, written_at: datetime, key: bytes) -> bytes | None:
    """The whole message up to its final dot, dots not doubled; None when it is not so plain."""
    subject, body = payload.get("subject"), payload.get("body")
    if subject is None or body is None or payload.get("html") is not None or len(key) != _KEY_BYTES:
        return None
    lines = body.splitlines()
    if not (_is_plain_head(recipient, subject) and _is_plain_body(body, lines)):
        return None
    named = f"To: {recipient}\r\nSubject: {subject}\r\nDate: {format_datetime(written_at)}\r\n".encode("ascii")
    message_id = head.before_key + key.hex().encode("ascii") + head.after_key
    return b"".join((head.sender, named, message_id, _TEXT, "\r\n".join(lines).encode("ascii"), b"\r\n"))


def _is_plain_head(recipient: str, subject: str) -> bool:
    fits = len(recipient) <= _LINE_LENGTH - len("To: ") and len(subject) <= _LINE_LENGTH - len("Subject: ")
    if not fits or "=?" in subject:
        return False
    return bool(_ADDRESS.fullmatch(recipient) and _SUBJECT.fullmatch(subject))


def _is_plain_body(body: str, lines: Sequence[str]) -> bool:
    return not _ODD.search(body) and max(map(len, lines), default=0) <= _LINE_LENGTH
