"""Breaks that are found rather than listed: every comparison of fences in SQL.

A new statement is covered as soon as it is written. Each break is the whole statement with one comparison that is
always true. The filters by tenant and workspace are tried one by one in tests/storage/test_isolation.py itself.
"""

import re
from collections.abc import Iterator

from tests.mutants.breaks import PACKAGE, ROOT, Break

_STATEMENT = re.compile(r"^-- name: (?P<name>\w+)\n(?P<body>.*?)(?=^-- name: |\Z)", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"(?:q|queue|o)\.(?:marked_)?fence (?:=|<>) (?:\w\.|:)(?:marked_)?fence")
_CONFORMANCE = ("tests/model/test_conformance.py",)
_OF_RUNS = ("tests/model/test_conformance_of_runs.py",)
_TESTS: dict[str, tuple[str, ...]] = {
    "move_items": ("tests/kernel/test_failover.py::test_only_what_cannot_have_arrived_moves_and_only_under_its_lease",),
    "pace_items": (
        "tests/resources/test_campaigns.py"
        "::test_rule_2_an_item_gets_another_time_only_under_the_lease_and_before_its_first_call",
    ),
    "release_jobs": _OF_RUNS,
    "release_runs": _OF_RUNS,
    "route_event": ("tests/kernel/test_events.py::test_rule_2_a_worker_that_lost_its_lease_routes_no_event",),
    "take_jobs": _OF_RUNS,
}
"""Whose fences are tried elsewhere than in the first file of the model."""
CHANGE_NOTHING = {
    "fence-finalize_items-3": "it only spares the write of what is there already",
    "fence-resolve_item-1": "without it a person's word waits for a lease without a call in the air; never the reverse",
}
"""Comparisons without which no rule breaks."""


def every_fence() -> Iterator[Break]:
    """Each comparison of fences, dropped from its statement."""
    for path in sorted((ROOT / PACKAGE / "storage/sql").glob("*.sql")):
        for statement in _STATEMENT.finditer(path.read_text()):
            for place, found in enumerate(_FENCE.finditer(statement["body"]), start=1):
                name = f"fence-{statement['name']}-{place}"
                if name not in CHANGE_NOTHING:
                    yield _always_true(name, f"storage/sql/{path.name}", statement, found)


def _always_true(name: str, file: str, statement: re.Match[str], found: re.Match[str]) -> Break:
    body, tests = statement["body"], _TESTS.get(statement["name"], _CONFORMANCE)
    broken = f"{body[: found.start()]}({found[0]} or true){body[found.end() :]}"
    return Break(name, "rules 1, 2: the fence", file, body, broken, tests)
