"""An item on its way out, between its row and its call: what is marked, called for and judged afterwards."""

from datetime import datetime

import msgspec

from tidings.domain.flow.item import Fence, Payload, Reserved
from tidings.domain.flow.retry import RetryPolicy


class TimeLimit(msgspec.Struct, frozen=True):
    """When a call is cut off, however long its provider would have waited, and the error it then gets."""

    at: datetime
    reason: str


class Outgoing(msgspec.Struct, frozen=True):
    """An open item to be marked and called for, under its owner's lease, and the policy should that fail.

    One in doubt repeats a call whose fate is unknown. `limit` is the time its owner has left, where that is limited.
    """

    item: Reserved
    fence: Fence
    payload: Payload
    retry: RetryPolicy
    limit: TimeLimit | None = None
    is_watched: bool = False  # somebody tries it out: what is said is kept
    is_pinned: bool = False  # it tries one connection, and takes no other

    @property
    def attempt(self) -> int:
        """The number of the mark to be made."""
        return self.item.marked_attempt + 1
