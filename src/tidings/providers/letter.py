"""Write one item as an e-mail, ready for the wire; what could forge a header is refused."""

import re
import unicodedata
from base64 import b64encode, encodebytes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address, BaseHeader
from email.message import EmailMessage
from email.policy import SMTPUTF8
from email.utils import format_datetime
from functools import lru_cache
from hashlib import sha256

import msgspec

from tidings.domain.content.mail_headers import problem_of_header
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Rejected
from tidings.domain.messages import quoted
from tidings.providers.enclosed import Fetched
from tidings.providers.plain_letter import ASCII_HEADERS, PlainHead, boundary_of, encoding_of, write_plain

_UTF8_HEADERS = SMTPUTF8.clone(cte_type="7bit")

_ADDRESS = re.compile(r"""[^\s@<>()\[\]\\,;:"]{1,64}@[^\s@<>()\[\]\\,;:"]{1,255}""")
_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]*)>")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BREAKS_HEADERS = frozenset({"Cc", "Cs", "Zl", "Zp"})
_LONGEST_ADDRESS = 254
_LINE, _BYTES_IN_LINE, _LINES_AT_ONCE = 76, 57, 1_000
_PLAIN = frozenset({"subject", "body", "html", "from", "replyTo"})
"""What an ordinary letter is made of; plain_letter.py writes those."""
_decode_list = msgspec.json.Decoder(list[str]).decode
_decode_names = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True, slots=True)
class Sender:
    """Who the message is from: the bare address of the envelope, and the name shown with it."""

    address: str
    name: str = ""

    @property
    def domain(self) -> str:
        """What follows the @."""
        return self.address.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file in its place: encoded when it is sent, and followed by what comes after it."""

    file: Fetched
    after: bytes

    @property
    def encoded_size(self) -> int:
        """The bytes it takes on the wire."""
        lines, rest = divmod(self.file.size, _BYTES_IN_LINE)
        encoded = lines * (_LINE + 2) + (-(-rest // 3) * 4 + 2 if rest else 0)
        return max(encoded - 2, 0) + len(self.after)

    def chunks(self) -> Iterator[bytes]:
        """The file in base64, a piece at a time, without the end of its last line."""
        self.file.file.seek(0)
        first = True
        while piece := self.file.file.read(_BYTES_IN_LINE * _LINES_AT_ONCE):
            yield (b"" if first else b"\r\n") + encodebytes(piece).rstrip(b"\n").replace(b"\n", b"\r\n")
            first = False
        yield self.after


@dataclass(frozen=True, slots=True)
class Letter:
    """An e-mail as bytes: CRLF line ends, dots doubled, everything but the final dot.

    One item is one message: `copies` are further addresses of its envelope, seen (cc) or not (bcc).
    """

    recipient: str
    message_id: str
    content: bytes
    size: int
    needs_utf8: bool
    enclosed: tuple[Enclosure, ...] = ()
    copies: tuple[str, ...] = ()

    def chunks(self) -> Iterator[bytes]:
        """The whole of it, a piece at a time; files are read as they are sent."""
        yield self.content
        for one in self.enclosed:
            yield from one.chunks()


class _Refused(Exception):
    """Why this item cannot be an e-mail."""


def no_address(text: str) -> str:
    """Why a text is not taken for an address, with the remedy."""
    return f"{quoted(text)} is no address: write it as you@example.com or You <you@example.com>"


def sender_of(text: str) -> Sender | None:
    """Read "address" or "name <address>"; None when it is neither, or not ASCII in the address."""
    named = _NAMED.fullmatch(text.strip())
    name, address = (named["name"].strip().strip('"'), named["address"]) if named else ("", text.strip())
    # The email package decodes =?…?= in a name as well, line ends and all.
    if not address.isascii() or _address(address) is None or _breaks_headers(name) or "=?" in name:
        return None
    return Sender(address, name)


def compose(item: Marked, sender: Sender, written_at: datetime, files: Sequence[Fetched] = ()) -> Letter | Rejected:
    """Write the item as an e-mail, or say why it cannot be one.

    The Message-ID comes from the key, so that a message sent twice can be recognised. `written_at` is the only
    part that differs between two attempts.
    """
    try:
        return _compose(item, sender, written_at, files)
    except _Refused as refused:
        return Rejected(str(refused))
    except Exception as error:
        # Odd strings make the email package raise almost anything; that is this item's end, not the worker's.
        return Rejected(f"the message cannot be written: {type(error).__name__}")


def _compose(item: Marked, sender: Sender, written_at: datetime, files: Sequence[Fetched]) -> Letter:
    shown = _shown_sender(item.payload, sender)
    head = _plain_head(shown, sender) if not files and item.payload.keys() <= _PLAIN else None
    plain = write_plain(head, item.recipient, item.payload, written_at, item.key) if head else None
    if plain is None:
        return _compose_any(item, sender, written_at, files)
    return Letter(item.recipient, message_id_of(sender, item.key.hex()), _double_dots(plain), len(plain), False)


def _compose_any(item: Marked, sender: Sender, written_at: datetime, files: Sequence[Fetched]) -> Letter:
    _check_subject(item.payload)
    copies = _Copies.of(item)
    message_id = message_id_of(sender, item.key.hex())
    message = EmailMessage(policy=_UTF8_HEADERS if copies.need_utf8 else ASCII_HEADERS)
    message["From"] = _from_header(_shown_sender(item.payload, sender))
    message["To"] = copies.recipient
    if reply_to := item.payload.get("replyTo"):
        message["Reply-To"] = _known_address("replyTo", reply_to)
    if copies.seen:
        message["Cc"] = copies.seen
    message["Subject"] = item.payload["subject"]
    message["Date"] = format_datetime(written_at)
    message["Message-ID"] = message_id
    _write_headers(message, item.payload)
    _write_content(message, item)
    shown, beside = _divided(files, item.payload)
    places = _show_inside(message, item, shown) + _enclose(message, item, beside, after=len(shown))
    plain = _as_wire(message)
    content, *after = _split(_double_dots(plain), places)
    enclosed = tuple(Enclosure(file, rest) for file, rest in zip((*shown, *beside), after, strict=True))
    size = len(plain) - sum(map(len, places)) + sum(one.encoded_size - len(one.after) for one in enclosed)
    return Letter(item.recipient, message_id, content, size, copies.need_utf8, enclosed, copies.envelope)


@dataclass(frozen=True, slots=True)
class _Copies:
    """Whom one message goes to: its recipient, those who are named as copies, and those who are not."""

    recipient: Address
    seen: list[Address]
    unseen: list[Address]

    @classmethod
    def of(cls, item: Marked) -> "_Copies":
        cc, bcc = (_addresses(name, item.payload) for name in ("cc", "bcc"))
        return cls(_recipient(item.recipient), cc, bcc)

    @property
    def envelope(self) -> tuple[str, ...]:
        """The addresses beside the recipient's own, each once."""
        own = self.recipient.addr_spec.casefold()
        by_spelling = {one.addr_spec.casefold(): one.addr_spec for one in (*self.seen, *self.unseen)}
        return tuple(address for spelled, address in by_spelling.items() if spelled != own)

    @property
    def need_utf8(self) -> bool:
        """Whether the server must take addresses beyond ASCII."""
        return not all(one.addr_spec.isascii() for one in (self.recipient, *self.seen, *self.unseen))


def _shown_sender(payload: Payload, sender: Sender) -> Sender:
    """Who the message says it is from; the envelope has the connection's own address, where bounces go."""
    given = payload.get("from")
    if given is None:
        return sender
    shown = sender_of(given)
    if shown is None:
        raise _Refused(f"from {no_address(given)}")
    return shown


def _named_address(sender: Sender) -> Address:
    return Address(sender.name, addr_spec=sender.address)


def _addresses(name: str, payload: Payload) -> list[Address]:
    text = payload.get(name)
    try:
        return [_known_address(name, one) for one in _decode_list(text)] if text else []
    except msgspec.DecodeError as error:
        raise _Refused(f"{name} cannot be read: {error}") from None


def _known_address(name: str, text: str) -> Address:
    """An address, perhaps with a name before it."""
    if not _breaks_headers(text) and (bare := _address(text)):
        return bare
    named = sender_of(text)
    if named is None:
        raise _Refused(f"{name} {no_address(text)}")
    return _named_address(named)


def _write_headers(message: EmailMessage, payload: Payload) -> None:
    try:
        headers = _decode_names(payload["headers"]) if "headers" in payload else {}
    except msgspec.DecodeError as error:
        raise _Refused(f"headers cannot be read: {error}") from None
    for name, value in headers.items():
        if wrong := problem_of_header(name):
            raise _Refused(f"headers: {wrong}")
        if _breaks_headers(value):
            raise _Refused(f"the header {name} has a control character")
        message[name] = value


def _divided(files: Sequence[Fetched], payload: Payload) -> tuple[list[Fetched], list[Fetched]]:
    """The files that the HTML shows, and those that stand beside the text."""
    shown = [file for file in files if file.content_id and "html" in payload]
    return shown, [file for file in files if file not in shown]


def _show_inside(message: EmailMessage, item: Marked, files: Sequence[Fetched]) -> list[bytes]:
    """Make room for pictures that the HTML shows by their content ids."""
    part = message.get_body(preferencelist=("html",))
    if not files or not isinstance(part, EmailMessage):
        return []
    places = []
    for number, file in enumerate(files):
        stand_in, kind, subtype = _stand_in(item, number, file)
        cid = f"<{file.content_id}>"
        part.add_related(stand_in, kind, subtype, cid=cid, filename=file.filename, disposition="inline")
        places.append(b64encode(stand_in))
    part.set_boundary(f"=_r{item.key.hex()[:40]}")
    return places


def _enclose(message: EmailMessage, item: Marked, files: Sequence[Fetched], *, after: int) -> list[bytes]:
    """Make room for files; return what stands in the place of each, which no content can hold by accident."""
    places = []
    for number, file in enumerate(files, start=after):
        stand_in, kind, subtype = _stand_in(item, number, file)
        message.add_attachment(stand_in, kind, subtype, filename=file.filename)
        places.append(b64encode(stand_in))
    if files:
        message.set_boundary(f"=_m{item.key.hex()[:40]}")
    return places


def _stand_in(item: Marked, number: int, file: Fetched) -> tuple[bytes, str, str]:
    kind, _, subtype = file.content_type.partition("/")
    return sha256(item.key + number.to_bytes(4, "big")).digest(), kind, subtype or "octet-stream"


def _split(wire: bytes, places: Sequence[bytes]) -> list[bytes]:
    pieces = []
    for place in places:
        before, _, wire = wire.partition(place)
        pieces.append(before)
    return [*pieces, wire]


def _recipient(text: str) -> Address:
    if _breaks_headers(text):
        raise _Refused("recipient has a control character")
    address = _address(text)
    if address is None:
        raise _Refused("recipient is not an e-mail address")
    return address


@lru_cache(maxsize=64)
def _from_header(sender: Sender) -> BaseHeader:
    """Parse the sender once: the email package takes a tenth of a millisecond for each header."""
    header: BaseHeader = ASCII_HEADERS.header_factory("From", _named_address(sender))
    return header


@lru_cache(maxsize=64)
def _plain_head(shown: Sender, sender: Sender) -> PlainHead | None:
    """What the email package writes of a sender, with room for a key; None where it would break the key apart."""
    place = "0" * 64
    written = ASCII_HEADERS.header_factory("Message-ID", message_id_of(sender, place)).fold(policy=ASCII_HEADERS)
    before, found, after = written.partition(place)
    if not found:
        return None
    from_line = _from_header(shown).fold(policy=ASCII_HEADERS)
    return PlainHead(from_line, before, after)


def message_id_of(sender: Sender, key: str) -> str:
    """The Message-ID of an item: the same at every attempt, so that a message sent twice can be recognised."""
    return f"<{key}@{sender.domain}>"


def _check_subject(payload: Payload) -> None:
    if "subject" not in payload:
        raise _Refused("payload has no subject")
    if _breaks_headers(payload["subject"]):
        raise _Refused("subject has a control character")


def _address(text: str) -> Address | None:
    """Read a bare address; None when it is not one, or when anything could be read into it."""
    fits = len(text.encode("utf-8", "replace")) <= _LONGEST_ADDRESS
    if not fits or not text.isprintable() or not _ADDRESS.fullmatch(text):
        return None
    try:
        address = Address(addr_spec=text) if text.isascii() else Address("", *text.split("@"))
    except (ValueError, IndexError, MessageError):
        return None
    # The email package decodes =?…?= even here: what it could read differently is no address.
    return address if address.addr_spec == text and "=?" not in text else None


def _breaks_headers(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(char) in _BREAKS_HEADERS for char in text)


def _write_content(message: EmailMessage, item: Marked) -> None:
    body, html = item.payload.get("body"), item.payload.get("html")
    if body is None and html is None:
        raise _Refused("payload has neither body nor html")
    if body is not None:
        message.set_content(_text("body", body), cte=encoding_of(body))
    if html is not None and body is None:
        message.set_content(_text("html", html), subtype="html", cte=encoding_of(html))
    elif html is not None:
        message.add_alternative(_text("html", html), subtype="html", cte=encoding_of(html))
        message.set_boundary(boundary_of(item.key))


def _text(field: str, text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Refused(f"{field} is not valid Unicode") from None
    return text


def _as_wire(message: EmailMessage) -> bytes:
    wire = _LINE_END.sub(b"\r\n", message.as_bytes())
    # Python before 3.11.10 lets a line end inside =?…?= out into the headers (CVE-2024-6923), so look at the result.
    if _header_names(wire) != [name.encode("ascii") for name in message.keys()]:  # noqa: SIM118
        raise _Refused("a header would break out of its line")
    return wire if wire.endswith(b"\r\n") else wire + b"\r\n"


def _header_names(wire: bytes) -> list[bytes]:
    head = wire.partition(b"\r\n\r\n")[0]
    return [line.partition(b":")[0] for line in head.split(b"\r\n") if not line.startswith((b" ", b"\t"))]


def _double_dots(wire: bytes) -> bytes:
    # No header line begins with a dot, so the first line needs no look.
    return wire.replace(b"\r\n.", b"\r\n..")
