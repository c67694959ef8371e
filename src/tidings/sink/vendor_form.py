"""How a vendor's API looks from outside: which calls are its own, whom they are for, and how it answers."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import msgspec


@dataclass(frozen=True, slots=True)
class SinkCall:
    """A request as it came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Mapping[str, Any]:
        """The body as an object of JSON; empty when it is none."""
        try:
            read = msgspec.json.decode(self.body)
        except (ValueError, RecursionError):
            return {}
        return read if isinstance(read, dict) else {}

    @property
    def asked(self) -> Mapping[str, str]:
        """What stands after the question mark; the last of each name."""
        return {name: values[-1] for name, values in parse_qs(self.query).items()}


@dataclass(frozen=True, slots=True)
class SinkReply:
    """What is answered; a body that is no bytes goes out as JSON."""

    status: int
    body: object = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """The reply on a line."""
        words = self.content.decode("utf-8", "replace") if self.status >= 300 else ""
        return f"{self.status} {words}".strip()[:500]

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        return self.body if isinstance(self.body, bytes) else msgspec.json.encode(self.body)


@dataclass(frozen=True, slots=True)
class Envelope:
    """Whom a call is for, from whom, and what about, as far as it says."""

    recipient: str = ""
    sender: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorForm:
    """One call of one vendor. `taken` gets the number of the message, from which it makes the id that it answers."""

    vendor: str
    method: str = "POST"
    path: str
    """A regular expression for the whole path."""
    read: Callable[[SinkCall], Envelope]
    taken: Callable[[int, SinkCall], SinkReply]
    refusals: Sequence[SinkReply] = ()
    deferrals: Sequence[SinkReply] = (SinkReply(429, {"message": "Too many requests"}, {"Retry-After": "1"}),)
    key: Callable[[SinkCall], str | None] = lambda _: None
    """The idempotency key, where the vendor honours one."""

    def is_for(self, call: SinkCall) -> bool:
        """Whether a call is this one."""
        return call.method == self.method and re.fullmatch(self.path, call.path) is not None


def text_of(value: object) -> str:
    """A value as a string; empty where it is none."""
    return value if isinstance(value, str) else ""


def first(value: object) -> object:
    """The first of a list; the value itself where it is none."""
    return value[0] if isinstance(value, list) and value else value


def within(value: object, *names: str) -> object:
    """What stands in objects within objects, the first of each list; None where it does not."""
    for name in names:
        value = first(value)
        value = value.get(name) if isinstance(value, dict) else None
    return first(value)
