"""Move live enrollments of a sequence to another version of it, in batches, each in a transaction of its shard.

Reached from resources/sequences.py after a version was frozen. The one exception to rule 16: a person asked for it, and
the audit log says so. domain/sequences/change_version.py alone decides where an enrollment is afterwards.
Safe to repeat: what has been moved is not found again, and what a worker holds is left for the next call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.domain.sequences.change_version import Left, Moved, Position, VersionSteps, move
from tidings.domain.sequences.form import steps_in
from tidings.kernel.graphs import graph_of
from tidings.kernel.kernel import Kernel
from tidings.storage import sequences
from tidings.storage.database import Tx
from tidings.storage.define import Version
from tidings.storage.sequences import EnrollmentBehind
from tidings.views.sequences import MoveCounts

BATCH = 500


@dataclass(frozen=True, slots=True)
class _Work:
    """What one batch needs."""

    kernel: Kernel
    shard: Shard
    workflow_id: UUID
    to: Version
    lines: dict[UUID, VersionSteps]
    now: datetime


@dataclass(frozen=True, slots=True)
class _MovedBatch:
    counts: MoveCounts
    last: UUID | None


async def move_enrollments(
    kernel: Kernel, workflow_id: UUID, version: Version, on_progress: Callable[[MoveCounts], None] | None = None
) -> MoveCounts:
    """Move every live enrollment that is on another version; report the progress after each batch."""
    lines = {version.id: _line(kernel, version)}
    counts = MoveCounts()
    for shard in kernel.every_shard():
        after: UUID | None = UUID(int=0)
        while after is not None:
            work = _Work(kernel, shard, workflow_id, version, lines, await kernel.clock.now())
            batch = await kernel.db.persist(partial(_move_batch, work=work, after=after))
            counts, after = counts + batch.counts, batch.last
            if on_progress:
                on_progress(counts)
        kernel.notifier.tell(shard, Lane.SEQUENCES)
    return counts


async def _move_batch(tx: Tx, *, work: _Work, after: UUID) -> _MovedBatch:
    behind = await sequences.lock_enrollments_behind(
        tx, shard=work.shard, workflow_id=work.workflow_id, version_id=work.to.id, after=after, limit=BATCH
    )
    await _load_lines(work, tx, behind)
    moves = await _decide(work, tx, [one for one in behind if not one.leased])
    if moves:
        await sequences.move_enrollments(tx, shard=work.shard, version_id=work.to.id, moves=moves, now=work.now)
    completed = sum(one.cursor is None for one in moves.values())
    counts = MoveCounts(moved=len(moves) - completed, completed=completed, left=len(behind) - len(moves))
    return _MovedBatch(counts, behind[-1].id if len(behind) == BATCH else None)


async def _decide(work: _Work, tx: Tx, free: Sequence[EnrollmentBehind]) -> dict[UUID, Moved]:
    nodes = await sequences.open_nodes(tx, shard=work.shard, ids=[one.id for one in free])
    decided = {
        one.id: move(
            Position(one.frontier, one.vars, one.begun_at, one.time_zone, nodes.get(one.id, ())),
            work.lines[one.version_id],
            work.lines[work.to.id],
            work.now,
        )
        for one in free
    }
    return {id: one for id, one in decided.items() if not isinstance(one, Left)}


async def _load_lines(work: _Work, tx: Tx, behind: Sequence[EnrollmentBehind]) -> None:
    missing = {one.version_id for one in behind} - work.lines.keys()
    if missing:
        for version in await sequences.find_versions(tx, ids=list(missing)):
            work.lines[version.id] = _line(work.kernel, version)


def _line(kernel: Kernel, version: Version) -> VersionSteps:
    steps = {step.id: step for step in steps_in(version.definition)}
    return VersionSteps(steps, graph_of(kernel, version.id, version.definition))
