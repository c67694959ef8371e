"""What the kernel asks of a provider: one call in, one Outcome out, and what is known after doubt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Keyed:
    """The provider honours our idempotency key for `retention`: the same call may be repeated within it.

    Not sooner than `settle` after the doubt began: some know a key only once the first call is done.
    """

    retention: timedelta
    settle: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Resolvable:
    """The provider can be asked what became of a call.

    "Absent" permits a new call only when the answer is `authoritative` and `settle` has passed since the doubt began.
    """

    authoritative: bool
    settle: timedelta


@dataclass(frozen=True, slots=True)
class Blind:
    """Nothing can tell what became of a call whose answer was lost."""


ProviderClass = Keyed | Resolvable | Blind

CLASS_NAMES: Mapping[type[ProviderClass], str] = {Keyed: "keyed", Resolvable: "resolvable", Blind: "blind"}
"""The provider classes, by the names that people see."""


@dataclass(frozen=True, slots=True)
class Found:
    """Evidence that the provider took the message."""

    message_id: str | None


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider knows nothing of the message."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The provider could not be asked, or its answer says nothing."""

    reason: str


Evidence = Found | Absent | CannotTell


@dataclass(frozen=True, slots=True)
class Doubtful:
    """What a look-up is told about an item in doubt."""

    recipient: str
    key: bytes
    first_marked_at: datetime
    payload: Payload = field(default_factory=dict, repr=False)  # as it was handed over
    workspace: Workspace = field(default_factory=Workspace)


MayStart = Callable[[], bool]
"""True while the lease outlasts the call; a provider asks right before it hands over the data."""


class Provider(Protocol):
    """One way out of the system."""

    @property
    def name(self) -> str:
        """The name stored on outbox rows."""

    @property
    def provider_class(self) -> ProviderClass:
        """What may be done after doubt."""

    @property
    def concurrency(self) -> int:
        """Calls under way at once, for each worker process."""

    @property
    def call_deadline(self) -> timedelta:
        """The longest one call may take in all."""

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Make the call for one marked item; answer RetryLater without calling when `may_start` says no."""

    async def look_up(self, item: Doubtful) -> Evidence:
        """Say what became of an earlier call; only resolvable providers know."""

    async def close(self) -> None:
        """Close connections."""


@runtime_checkable
class HasHosts(Protocol):
    """A provider that calls many hosts: one that does not answer rests alone, and not the provider."""

    async def host_of(self, workspace: Workspace, recipient: str) -> str | None:
        """Return the host and port that a workspace's call would go to; None when it goes to none."""


@runtime_checkable
class KeepsConnections(Protocol):
    """A provider that keeps connections open between calls, and so uses up a limit even while it makes none."""

    def keep_connections(self, most: int) -> None:
        """Hold no more connections than this from now on, apart from those of calls under way."""
