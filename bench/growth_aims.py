"""What history may cost: the aims, and how a run's figures stand beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.report import Result

AFTER_CHECKPOINT, MID_CYCLE = "right after a checkpoint", "mid-cycle"
MOST_MILLIONS = 10
"""Up to which size the aims hold; what is beyond is shown."""


@dataclass(frozen=True, slots=True)
class Aim:
    """How much more a kind of work may cost on the largest database than on the empty one."""

    kind: str
    figure: str
    most: float


AIMS = (
    Aim("item", "postgres_us", 1.10),
    Aim("item", "wal_bytes", 1.10),
    Aim("trigger", "postgres_us", 1.25),
    Aim("trigger", "wal_bytes", 1.25),
)
NAMES = {"postgres_us": "PostgreSQL's CPU", "wal_bytes": "WAL"}


def judge(results: Sequence[Result]) -> Iterator[Result]:
    """A row for each aim that can be judged: with more than one size, the smallest of them empty."""
    for aim in AIMS:
        figures = {
            float(str(one.seen["millions"])): float(getattr(one, aim.figure))
            for one in results
            if (one.seen["kind"], one.seen["when"]) == (aim.kind, MID_CYCLE)
        }
        sizes = sorted(size for size in figures if size <= MOST_MILLIONS)
        if len(sizes) > 1 and sizes[0] == 0:
            yield _verdict(aim, sizes[-1], figures[sizes[-1]] / figures[0])


def _verdict(aim: Aim, millions: float, times: float) -> Result:
    passed = times <= aim.most
    what = f"{'pass' if passed else 'FAIL'}: {aim.kind}, {NAMES[aim.figure]}, 0 to {millions:g} million"
    note = f"{times:.2f} times; at most {aim.most:.2f}"
    return Result("growth", what, note=note, seen={"aim": f"{aim.kind} {aim.figure}", "times": times, "passed": passed})


def all_passed(results: Sequence[Result]) -> bool:
    """Whether every aim was judged, and met."""
    verdicts = [bool(one.seen["passed"]) for one in results if "passed" in one.seen]
    return len(verdicts) == len(AIMS) and all(verdicts)
