"""A request over HTTP, and the ways it can end: the words between http_client.py and the providers that call with it.

What did not begin, what was sent without an answer, and an answer are different types, because they mean different
things: a safe retry, doubt, and whatever the provider reads out of the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidings.domain.private_addresses import NO_PRIVATE_ADDRESSES, PrivateAddresses

LATE = "no answer before the deadline"
"""The reason of what ended by its deadline, sent or not."""


class ByteSink(Protocol):
    """Where the body of an answer may go as it comes."""

    def write(self, data: bytes, /) -> object:
        """Take a piece."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent where, and how much of an answer is read.

    With `into` the body of a 2xx is written there and not kept, and that of any other status is not read.
    """

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = field(default=(), repr=False)  # which may carry secrets
    body: bytes = field(default=b"", repr=False)
    private: PrivateAddresses = NO_PRIVATE_ADDRESSES
    largest_answer: int = 1_000_000
    into: ByteSink | None = None


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A status, the headers by their lower-case names, and the body; None when it did not come whole.

    A body that is larger than allowed is cut off one byte or more after that; `size` counts what came of it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | None
    size: int = 0


@dataclass(frozen=True, slots=True)
class NotSent:
    """Nothing was written: another attempt is safe."""

    reason: str


@dataclass(frozen=True, slots=True)
class LeaseSpent:
    """Nothing was written, since the lease ran out before."""


@dataclass(frozen=True, slots=True)
class AddressClosed:
    """Nothing was written, and will not be: the host has an address that may not be called."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The request was written, or a part of it, and no whole head of an answer came: nothing shows what it did."""

    reason: str


HttpEnd = HttpAnswer | NotSent | LeaseSpent | AddressClosed | NoAnswer
