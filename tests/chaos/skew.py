"""A wall clock that is off, for one process: whoever asks for the time of day gets a wrong one.

Nothing here touches the monotonic clocks: a machine whose clock somebody has set wrong keeps those.
"""

import datetime
import sys
import time
from datetime import datetime as RealDatetime  # noqa: N812 – the one that this file replaces
from typing import Self

_real_time, _real_gettime = time.time, time.clock_gettime


class _KnowsRealOnes(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, RealDatetime)


def install(seconds: float) -> None:
    """Put the clock forward, or back, for everything in this process that was imported already or will be."""
    off = datetime.timedelta(seconds=seconds)

    class SkewedDatetime(RealDatetime, metaclass=_KnowsRealOnes):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Self:
            return super().now(tz) + off

    def gettime(clock: int) -> float:
        return _real_gettime(clock) + (seconds if clock == time.CLOCK_REALTIME else 0)

    time.time = lambda: _real_time() + seconds
    time.time_ns = lambda: int((_real_time() + seconds) * 1e9)
    time.clock_gettime = gettime
    for module in (datetime, *_importers()):
        module.datetime = SkewedDatetime  # type: ignore[attr-defined]


def _importers() -> list[object]:
    """The modules of ours, and the log's, that hold the class under its own name."""
    ours = [module for name, module in tuple(sys.modules.items()) if name.partition(".")[0] in {"tidings", "structlog"}]
    return [module for module in ours if getattr(module, "datetime", None) is RealDatetime]
