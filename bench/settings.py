"""How much of everything is measured: `make bench` in a few minutes, `make bench-full` all of it."""

from dataclasses import dataclass
from pathlib import Path

BATCH = 100
"""What a worker claims at once, and so the ceiling too."""
JOB = 500
"""How many items the kernel gives a job, and so the ceiling too."""
SHARDS = 4
PROCESSES = (1, 2)

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"


@dataclass(frozen=True, slots=True)
class Settings:
    """The sizes of one run."""

    items: int
    people: int
    """Contacts that are imported, enrolled and deployed to."""
    wave: int
    """Enrollments that are due at one moment."""
    sleepers: tuple[int, ...]
    memory_items: int
    requests: int = 2_000
    """How often each operation of the API is asked in a round."""
    beside: str = ""
    """Another checkout, whose API is measured in turns with this one's."""
    rounds: int = 3
    """How often raw SQL and the kernel are measured in turns."""
    raw_connections: tuple[int, ...] = (4,)
    idle_triggers: int = 200
    loaded_seconds: float = 5
    quiet_seconds: float = 30
    soak_seconds: float = 600
    fair_items: int = 35_000
    """What one of ten tenants has due while the others are measured."""
    fair_seconds: float = 5
    """How long the nine start something each second."""
    fair_patience: float = 15
    """How long after the last of it to wait for what has not come."""
    millions: tuple[float, ...] = (0, 1, 3)
    """Finished messages that a database holds while the same work is measured."""
    growth_items: int = 2_000
    """How much of each kind of work is measured there, in one turn."""
    growth_between: int = 50_000
    """What is sent after the turn that follows a checkpoint, before those in the middle of its cycle."""


QUICK = Settings(items=15_000, people=100_000, wave=15_000, sleepers=(0, 100_000), memory_items=100_000)
FULL = Settings(
    items=40_000,
    people=1_000_000,
    wave=100_000,
    sleepers=(0, 1_000_000, 3_000_000, 10_000_000),
    memory_items=1_000_000,
    raw_connections=(2, 4, 8),
    loaded_seconds=20,
    fair_items=100_000,
    fair_seconds=12,
    fair_patience=120,
    millions=(0, 3, 10, 30),
)
