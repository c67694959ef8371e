"""Whether one tenant's flood kept others waiting: how much of it was marked while a message of theirs waited.

Judged by the flood's own progress and not by time, so a busy machine changes nothing, and in each shard for itself:
after a kill one shard may be far ahead of another. A message that a killed worker had claimed waits for that lease to
end, whoever else is there: it is not asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tests.chaos.book import Intended

if TYPE_CHECKING:
    import asyncpg

MOST_OF_A_FLOOD = 0.5

WAITS = """
select o.recipient, o.shard, e.created_at as due_at, o.first_marked_at as marked_at,
       exists (select 1 from chaos.crashed c where c.id = e.id) as was_in_crash
  from outbox o
  join executions e on e.shard = o.shard and e.id = o.execution_id
 where o.recipient = any($1)
"""


@dataclass(frozen=True, slots=True)
class Waited:
    """One message, from due to its mark."""

    recipient: str
    shard: int
    due_at: datetime
    marked_at: datetime
    was_in_crash: bool = False


@dataclass(slots=True)
class Fairness:
    """The longest wait of those beside a flood."""

    share: float = 0.0  # of the flood in the same shard, marked meanwhile
    seconds: float = 0.0
    messages: int = 0

    def __str__(self) -> str:
        return (
            f"{self.messages} messages beside a flood: at most {self.share:.0%} of it was marked while one waited, "
            f"and none waited longer than {self.seconds:.1f} s"
        )

    def add(self, other: "Fairness") -> None:
        """Note what was seen elsewhere."""
        self.share, self.seconds = max(self.share, other.share), max(self.seconds, other.seconds)
        self.messages += other.messages


async def read_waits(connection: "asyncpg.Connection[asyncpg.Record]", intended: Intended) -> Mapping[str, Waited]:
    """How long each message of a flood and beside one waited; what was never marked is missing."""
    asked = [*intended.beside, *(one for flood in intended.floods.values() for one in flood)]
    rows = await connection.fetch(WAITS, asked)
    return {row["recipient"]: Waited(*row) for row in rows if row["marked_at"]}


def check_fairness(intended: Intended, waits: Mapping[str, Waited]) -> tuple[Fairness, list[str]]:
    """What those beside each flood waited, and who of them waited for too much of it."""
    seen, violations = Fairness(), list[str]()
    for recipient, name in intended.beside.items():
        one = waits.get(recipient)
        if one is None or one.was_in_crash:
            continue
        flood = [waits[other] for other in intended.floods[name] if other in waits and waits[other].shard == one.shard]
        share = sum(one.due_at < other.marked_at < one.marked_at for other in flood) / max(1, len(flood))
        seen.add(Fairness(share, (one.marked_at - one.due_at).total_seconds(), 1))
        if share > MOST_OF_A_FLOOD:
            violations.append(f"{recipient} waited while {share:.0%} of another tenant's flood was marked")
    return seen, violations
