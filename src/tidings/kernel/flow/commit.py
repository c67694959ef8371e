"""One commit per window: the facts of finished calls, and the marks of the next ones.

Reached from windows.py. The result of the commit is known before this returns: after an unknown one the same
transaction runs again and finds its own marks.
"""

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Lane
from tidings.domain.storable import storable_json
from tidings.kernel import crash_points
from tidings.kernel.calls.provider_queue import Ready
from tidings.kernel.calls.slots import Rest
from tidings.kernel.flow.attempts import failed_attempts
from tidings.kernel.flow.deliver import Answered
from tidings.kernel.flow.finalize import fact_of, record_facts
from tidings.kernel.flow.mark import mark
from tidings.kernel.flow.reroute import moved_on, tell_moved
from tidings.kernel.gate.rests import announce
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.gone_addresses import find_gone, forget_gone
from tidings.storage import outbox
from tidings.storage.database import Tx
from tidings.storage.finalize import Fact
from tidings.storage.outbox import Move


class Window(msgspec.Struct, frozen=True):
    """What one commit is to write."""

    outgoing: Sequence[Outgoing] = ()
    answered: Sequence[Answered] = ()
    unstarted: Sequence[Ready] = ()
    rests: Mapping[str, Rest] = msgspec.field(default_factory=dict)  # by provider

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.outgoing or self.answered or self.unstarted)


class Committed(msgspec.Struct, frozen=True):
    """The result of a commit: the items that may be called now, a fact for each answer, and what has moved on."""

    marked: Sequence[Marked]
    facts: Sequence[Fact]
    moved: Container[UUID] = ()


async def commit_window(kernel: Kernel, shard: Shard, lane: Lane, window: Window, now: datetime) -> Committed:
    """Write one window; repeat until the commit is known."""
    facts, moves = moved_on(kernel, window.answered, [_fact(kernel, one, lane) for one in window.answered])
    attempts = failed_attempts(window.answered, moves)
    point = "before_mark_commit" if window.outgoing else "before_finalize_commit"

    async def write(tx: Tx) -> Committed:
        if facts:
            await record_facts(tx, shard, facts, attempts, now)
        if moves:
            await outbox.move_items(tx, shard=shard, moves=[*moves.values()])
        if window.unstarted:
            await outbox.unmark_items(tx, shard=shard, items=window.unstarted, now=now)
        marked = await mark(tx, shard, window.outgoing, now)
        crash_points.reach(point)
        return Committed(marked, facts, moves.keys())

    results = [fact for fact in facts if fact.result is not None]
    statements = sum(map(bool, (facts, results, attempts, moves, window.unstarted, window.outgoing)))
    committed = await kernel.db.persist(write, alone=statements == 1 and not crash_points.is_armed(point))
    await _tell(kernel, window, moves, now)
    if facts:
        kernel.call_counts.note(zip((one.delivered.item for one in window.answered), facts, strict=True), now)
        crash_points.reach("after_finalize")
    if committed.marked:
        crash_points.reach("after_mark")
    return committed


def _fact(kernel: Kernel, answered: Answered, lane: Lane) -> Fact:
    """The fact of a call, with what was said in one that somebody watches."""
    fact = fact_of(kernel, answered, lane)
    return fact if answered.said is None else replace(fact, result=storable_json({"dialogue": list(answered.said)}))


async def _tell(kernel: Kernel, window: Window, moves: Mapping[UUID, Move], now: datetime) -> None:
    tell_moved(moves.values())
    if gone := find_gone((one.delivered, one.outgoing.item) for one in window.answered):
        await forget_gone(kernel, gone, now)
    for provider, rest in window.rests.items():
        await announce(kernel, provider, rest)
