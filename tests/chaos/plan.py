"""What one round of the soak is asked to do, and what came of it; both travel as JSON."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tests.chaos.app import CLASSES
from tests.chaos.audit import Tally
from tests.chaos.fairness import Fairness

WORK = ("mixed", "products", "vendors")
"""What rounds work on: each fourth on the products and the others on the kernel, or all of them on the products, or all
through connections to vendors."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How hard one round is, and how long it may take."""

    kills: int = 25
    restarts: int = 3  # of PostgreSQL
    sends: int = 25_000
    minutes: float = 12.0
    work: str = WORK[0]
    contacts: int = 12_000  # of the large campaign in a round of the products; a part of its sends


@dataclass(frozen=True, slots=True)
class Task:
    """One round: everything that is drawn in it follows from the seed and the number."""

    seed: str
    number: int
    plan: Plan
    directory: str

    @property
    def name(self) -> str:
        """What its draws are seeded with."""
        return f"{self.seed}:{self.number}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> "Task":
        return Task(**{**raw, "plan": Plan(**raw["plan"])})


@dataclass(slots=True)
class Report:
    """What was done and what came of it: in one round, or in many added up."""

    round: int = -1
    kills: Counter[str] = field(default_factory=Counter)  # "point class" → times
    others: Counter[str] = field(default_factory=Counter)  # harm that is no kill → times
    tallies: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in CLASSES})
    workloads: Counter[str] = field(default_factory=Counter)  # "workload class" → items that were sent
    violations: list[str] = field(default_factory=list)
    unwitnessed: int = 0
    fairness: Fairness = field(default_factory=Fairness)
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)  # where the seconds went

    @property
    def restarts(self) -> int:
        """Of PostgreSQL."""
        return self.others[RESTART]

    @property
    def sends(self) -> int:
        """How many items were sent."""
        return self.total("sent")

    def total(self, name: str) -> int:
        """One number of the tallies, over all classes."""
        return sum(getattr(tally, name) for tally in self.tallies.values())

    def to_json(self) -> dict[str, Any]:
        # asdict cannot copy a Counter before Python 3.12.
        plain = {name: dict(getattr(self, name)) for name in ("kills", "others", "workloads", "phases")}
        return plain | {
            "round": self.round,
            "tallies": {name: asdict(tally) for name, tally in self.tallies.items()},
            "violations": self.violations,
            "unwitnessed": self.unwitnessed,
            "fairness": asdict(self.fairness),
            "seconds": round(self.seconds, 1),
        }

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> "Report":
        counters = {name: Counter(raw[name]) for name in ("kills", "others", "workloads")}
        tallies = {name: Tally(**tally) for name, tally in raw["tallies"].items()}
        fairness = Fairness(**raw.get("fairness", {}))
        return Report(**{**raw, **counters, "tallies": tallies, "fairness": fairness})


RESTART = "PostgreSQL kill -9 and restart"


def add_up(reports: Iterable[Report]) -> Report:
    """All rounds as one."""
    sums = Report()
    for one in reports:
        sums.round = max(sums.round, one.round)
        sums.kills.update(one.kills)
        sums.others.update(one.others)
        sums.workloads.update(one.workloads)
        sums.violations += one.violations
        sums.unwitnessed += one.unwitnessed
        sums.fairness.add(one.fairness)
        sums.seconds += one.seconds
        for phase, seconds in one.phases.items():
            sums.phases[phase] = sums.phases.get(phase, 0.0) + seconds
        for name, tally in one.tallies.items():
            for each in fields(Tally):
                setattr(
                    sums.tallies[name], each.name, getattr(sums.tallies[name], each.name) + getattr(tally, each.name)
                )
    return sums
