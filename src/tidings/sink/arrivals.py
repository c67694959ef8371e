"""What arrived at the sink, and what it answered: the newest are kept whole, all are counted."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice

MOST_KEPT = 1_000
MOST_KEPT_BYTES = 100_000_000


class Answer(StrEnum):
    """What became of a message."""

    TAKEN = "taken"
    REFUSED = "refused"
    DEFERRED = "deferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One message, as it came."""

    via: str
    """`smtp`, or the vendor whose API was called."""
    recipients: Sequence[str]
    sender: str = ""
    subject: str = ""
    answer: Answer = Answer.TAKEN
    said: str = ""
    """The answer in words."""
    content_type: str = "message/rfc822"
    raw: bytes = field(default=b"", repr=False)
    id: int = 0
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def summary(self) -> dict[str, object]:
        """All but the message itself, for JSON."""
        return {
            "id": self.id,
            "at": self.at.isoformat().replace("+00:00", "Z"),
            "via": self.via,
            "from": self.sender,
            "to": list(self.recipients),
            "subject": self.subject,
            "bytes": len(self.raw),
            "answer": self.answer,
            "said": self.said,
        }


class Arrivals:
    """Every message since the sink began; the oldest of them are forgotten."""

    def __init__(self) -> None:
        self.counts: Counter[Answer] = Counter()
        self.told: list[Callable[[Arrival], object]] = []
        """Who is told of each message."""
        self._kept: deque[Arrival] = deque()
        self._bytes = 0
        self._attempts: Counter[str] = Counter()
        self._changed = asyncio.Event()

    @property
    def total(self) -> int:
        """How many there were."""
        return self.counts.total()

    @property
    def taken(self) -> list[Arrival]:
        """The messages that are kept and were taken, oldest first."""
        return [one for one in self._kept if one.answer is Answer.TAKEN]

    def attempt(self, recipient: str) -> int:
        """Count one more try to reach a recipient."""
        self._attempts[recipient] += 1
        return self._attempts[recipient]

    def next_id(self) -> int:
        """The id that the next message gets."""
        return self.total + 1

    def add(self, arrival: Arrival) -> None:
        """Keep a message, and forget the oldest when there are too many."""
        self.counts[arrival.answer] += 1
        self._kept.append(arrival)
        self._bytes += len(arrival.raw)
        while len(self._kept) > MOST_KEPT or (self._bytes > MOST_KEPT_BYTES and len(self._kept) > 1):
            self._bytes -= len(self._kept.popleft().raw)
        for tell in self.told:
            tell(arrival)
        self._changed.set()

    def newest(self, most: int = MOST_KEPT) -> list[Arrival]:
        """The newest that are kept, newest first."""
        return list(islice(reversed(self._kept), most))

    def find(self, id: int) -> Arrival | None:
        """One of those that are kept."""
        return next((one for one in self._kept if one.id == id), None)

    async def until_taken(self, count: int) -> list[Arrival]:
        """Wait until so many messages were taken; return those that are kept."""
        while self.counts[Answer.TAKEN] < count:
            self._changed.clear()
            await self._changed.wait()
        return self.taken
