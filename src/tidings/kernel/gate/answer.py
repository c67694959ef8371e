"""What the gate answers: this may leave now, later (when), or never (why)."""

from datetime import datetime

import msgspec

from tidings.domain.flow.item import ItemStatus


class Now(msgspec.Struct, frozen=True):
    """Nothing speaks against it."""


class Later(msgspec.Struct, frozen=True):
    """It is not marked now, and its owner is due again then."""

    at: datetime
    why: str


class Never(msgspec.Struct, frozen=True):
    """It is skipped or failed without a call. What is in doubt may have arrived, and is left to a fact or a person."""

    why: str
    status: ItemStatus = ItemStatus.SKIPPED


Answer = Now | Later | Never

NOW = Now()
"""The one Now there is, so that it is told from the others by identity: it is the answer to nearly every question."""
