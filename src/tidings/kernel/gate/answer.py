"""What the gate answers: this may leave now, later (when), or never (why)."""

from datetime import datetime

import msgspec

from tidings.domain.flow.item import ItemStatus


class Now(msgspec.Struct, frozen=True):
    """It may leave now: no check objects."""


class Later(msgspec.Struct, frozen=True):
    """It is not marked now; its owner is due again at that time."""

    at: datetime
    why: str


class Never(msgspec.Struct, frozen=True):
    """It is skipped or failed without a call. An item in doubt may have arrived, and is left to a fact or a person."""

    why: str
    status: ItemStatus = ItemStatus.SKIPPED


Answer = Now | Later | Never

NOW = Now()
"""The only Now, so that it can be compared by identity: it is the answer to nearly every question."""
