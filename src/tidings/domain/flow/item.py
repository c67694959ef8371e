"""An item: one intended provider action, and the types it passes through on its way out.

Planned → Reserved (a committed row) → Marked (a committed mark) → Delivered. A provider takes only a Marked item, which
only a committed mark makes, so a call without a committed row does not type-check.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Never, NewType, TypeVar
from uuid import UUID

import msgspec

from tidings.domain.channels import FIRST_FIELDS
from tidings.domain.channels import Channel as Channel  # noqa: PLC0414 – asked for with the item
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.impersonal import impersonal
from tidings.domain.flow.outcome import Outcome
from tidings.views.outbox import ItemStatus as ItemStatus  # noqa: PLC0414 – asked for with the item

ItemId = NewType("ItemId", UUID)
OwnerId = NewType("OwnerId", UUID)  # an execution's or a job's id
Fence = NewType("Fence", int)

Payload = Mapping[str, str]
Part = TypeVar("Part")


def in_reading_order(content: Mapping[str, Part]) -> list[tuple[str, Part]]:
    """The parts of a message as a person reads them; the database keeps them in an order of its own."""
    return sorted(content.items(), key=lambda part: part[0] not in FIRST_FIELDS)


SUCCESS_STATUS = {channel: ItemStatus(channel.traits.success) for channel in Channel}
SUCCESSES = frozenset(SUCCESS_STATUS.values())
TERMINAL = frozenset(ItemStatus) - {ItemStatus.QUEUED}


class Planned(msgspec.Struct, frozen=True):
    """An item that should exist; nothing of it is stored yet."""

    id: ItemId
    owner: OwnerId
    fence: Fence
    node: str
    visit: int
    ordinal: int
    channel: Channel
    provider: str
    recipient: str
    payload: Payload
    key: bytes
    workspace: Workspace
    failure: str | None = None  # it cannot be sent (its template failed, say), and its row will say so
    contact_id: UUID | None = None  # the contact it is for, if any
    skip: str | None = None  # why it is skipped for this person; its row will say so
    seen: Sequence[str] | None = None  # the results its node saw of nodes that do not lead to it

    @property
    def error(self) -> str | None:
        """Why no provider is called for it, if so."""
        return self.skip or self.failure

    @property
    def status(self) -> ItemStatus:
        """The first status of its row."""
        if self.skip:
            return ItemStatus.SKIPPED
        return ItemStatus.FAILED if self.failure else ItemStatus.QUEUED


class Reserved(msgspec.Struct, frozen=True):
    """An open item as its committed row stores it; `payload` is None until it is rendered."""

    id: ItemId
    owner: OwnerId
    node: str
    ordinal: int
    channel: Channel
    provider: str
    recipient: str
    payload: Payload | None
    key: bytes
    attempts: int
    marked_attempt: int
    retry_at: datetime | None
    marked_at: datetime | None
    first_marked_at: datetime | None
    in_doubt: bool
    workspace: Workspace
    contact_id: UUID | None = None


class Marked(msgspec.Struct, frozen=True, eq=False):
    """An item whose mark is committed: the only thing a provider can be called with.

    Made by kernel/flow/mark.py from the rows its statement returned: the type checker lets no other module make one. A
    test of a provider gets one from tidings.testing. `key` is the same at every attempt; a keyed provider passes it on
    as its idempotency key.
    """

    if TYPE_CHECKING:

        def __init__(self, nobody_has_this: Never, /) -> None: ...

    id: ItemId
    owner: OwnerId
    fence: Fence
    attempt: int
    attempts: int
    channel: Channel
    provider: str
    recipient: str
    payload: Payload
    key: bytes
    workspace: Workspace

    @property
    def line(self) -> dict[str, object]:
        """The fields of a log line about it.

        Without its provider's words: they may name a person, and no log is erased with a contact.
        """
        return {
            "item": str(self.id),
            "owner": str(self.owner),
            "channel": self.channel,
            "provider": self.provider,
            "attempt": self.attempts,
        }


class Delivered(msgspec.Struct, frozen=True):
    """A fact: what the provider said about one marked item, and when."""

    item: Marked
    outcome: Outcome
    started_at: datetime
    ended_at: datetime

    @property
    def told(self) -> str:
        """What log lines and operators are told of the outcome's reason."""
        return impersonal(self.outcome, (self.item.recipient, *self.item.payload.values()))
