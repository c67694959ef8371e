"""Move executions on and end their leases.

Reached from executions.py after the calls; the row is due again, or gone. Where the lease was lost, nothing moves.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import assert_never

import structlog

from tidings.domain.doubt import LOOK_AGAIN
from tidings.domain.execution import Deliver, Execution, ExecutionStatus, Finish, Plan, Sleep, first_ready
from tidings.domain.graph import Delay
from tidings.domain.ids import Shard
from tidings.domain.queue import Stop
from tidings.kernel import crash_points
from tidings.kernel.kernel import Kernel
from tidings.kernel.plan import Case
from tidings.kernel.settle import death_notice, is_dead
from tidings.storage import release
from tidings.storage.database import Tx
from tidings.storage.release import LogEntry, MovedExecution

log = structlog.get_logger()


async def release_executions(kernel: Kernel, shard: Shard, cases: Collection[Case]) -> None:
    """Write where each execution stands now."""
    now = await kernel.clock.now()
    moves = [_move(kernel, case, now) for case in cases]
    entries = [entry for case, move in zip(cases, moves, strict=True) for entry in _log(case, move.execution, now)]

    async def write(tx: Tx) -> set[object]:
        moved: set[object] = set(await release.release_executions(tx, shard=shard, moves=moves, now=now))
        held = [entry for entry in entries if entry.execution_id in moved]
        if held:
            await release.insert_execution_log(tx, shard=shard, entries=held)
        crash_points.reach("before_release_commit")
        return moved

    moved = await kernel.db.persist(write)
    crash_points.reach("after_release")
    for case in cases:
        if case.hand.lease.id not in moved:
            log.warning("lease_lost", owner=str(case.hand.lease.id), fence=case.hand.lease.fence)


def _move(kernel: Kernel, case: Case, now: datetime) -> MovedExecution:
    lease = case.hand.lease
    if case.loaded.ended_at is not None:
        return _ended(case, case.loaded.execution, now)
    if lease.stop is Stop.CANCEL:
        return _ended(case, replace(case.loaded.execution, status=ExecutionStatus.CANCELLED), now)
    if is_dead(kernel, case.hand):
        return _ended(case, _dead(case), now)
    if lease.stop is Stop.PAUSE:
        paused = replace(case.loaded.execution, status=ExecutionStatus.PAUSED)
        return MovedExecution(lease, paused, _cursor(case, paused), None, now + LOOK_AGAIN)
    execution, action = case.decide(now)
    match action:
        case Finish():
            return _ended(case, execution, now)
        case Sleep(until):
            due_at = until
        case Plan() | Deliver():
            due_at = min(case.hand.postponed.values(), default=now)
        case _:
            assert_never(action)
    execution = replace(execution, status=ExecutionStatus.ENQUEUED)
    return MovedExecution(lease, execution, _cursor(case, execution), None, due_at)


def _ended(case: Case, execution: Execution, now: datetime) -> MovedExecution:
    """An ended execution leaves the queue, unless a person has reopened an item that is still to be sent."""
    times = [
        case.hand.postponed.get(id) or item.retry_at or now for id, item in case.hand.open.items() if not item.in_doubt
    ]
    states = [state.retry_at for id, state in case.hand.states.items() if state.retry_at and id not in case.hand.open]
    due_at = min([*times, *states], default=None)
    return MovedExecution(case.hand.lease, execution, None, case.loaded.ended_at or now, due_at)


def _dead(case: Case) -> Execution:
    error = death_notice(case.hand)
    log.error("execution_dead", execution=str(case.hand.lease.id), reason=error)
    ready = first_ready(case.graph, case.loaded.execution.frontier)
    return replace(
        case.loaded.execution,
        status=ExecutionStatus.FAILED,
        error=error,
        error_node=ready.node if ready else None,
    )


def _cursor(case: Case, execution: Execution) -> str | None:
    ready = first_ready(case.graph, execution.frontier)
    return ready.node if ready else None


def _log(case: Case, execution: Execution, now: datetime) -> Iterable[LogEntry]:
    """What nodes other than sends did in this step: those whose result is new."""
    for node in execution.vars.keys() - case.loaded.execution.vars.keys():
        if isinstance(case.graph.nodes.get(node), Delay):
            yield LogEntry(case.hand.lease.id, node, "completed", {}, now)
