"""The queue's vocabulary: kinds of work, lanes, and the lease that a claim returns."""

from datetime import datetime
from enum import IntEnum, StrEnum
from uuid import UUID

import msgspec

from tidings.domain.flow.item import Fence


class Kind(StrEnum):
    """What a worker can claim."""

    EXECUTION = "execution"
    JOB = "job"
    RUN = "run"


class Lane(IntEnum):
    """Lanes separate work that must not wait for other work: bulk never delays a password reset."""

    TRANSACTIONAL = 0
    SEQUENCES = 1
    CAMPAIGNS = 2
    RUNS = 3

    @property
    def is_bulk(self) -> bool:
        """Whether work here yields to transactional work."""
        return self is Lane.SEQUENCES or self is Lane.CAMPAIGNS


class Stop(StrEnum):
    """What a person asked of work under way."""

    PAUSE = "pause"
    CANCEL = "cancel"


class Claimed(msgspec.Struct, frozen=True):
    """A lease on one row of the queue; `fence` proves it to every later move."""

    id: UUID
    kind: Kind
    fence: Fence
    crashes: int
    stop: Stop | None
    until: datetime
    workspace_hash: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this is the row's first lease: fences begin at 0, each lease adds one, and none is used again."""
        return self.fence == 1
