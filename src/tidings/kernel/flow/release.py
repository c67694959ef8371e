"""Move executions on and end their leases.

Reached from executions.py after the calls. The row is due again, or gone; where the lease was lost, nothing moves.
"""

from collections.abc import Collection
from datetime import datetime
from typing import assert_never
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.flow.doubt import LOOK_AGAIN
from tidings.domain.flow.execution import (
    Deliver,
    ExecutionState,
    ExecutionStatus,
    Finish,
    ItemState,
    Plan,
    Sleep,
    first_ready,
)
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Stop
from tidings.kernel import crash_points
from tidings.kernel.flow.case import Case
from tidings.kernel.flow.held import Held
from tidings.kernel.flow.node_log import log_entries
from tidings.kernel.flow.report import report_of
from tidings.kernel.flow.settle import given_up
from tidings.kernel.kernel import Kernel
from tidings.log import log
from tidings.storage import release
from tidings.storage.database import Tx
from tidings.storage.release import MovedExecution


async def release_executions(kernel: Kernel, shard: Shard, cases: Collection[Case]) -> None:
    """Write where each execution stands now."""
    now = await kernel.clock.now()
    moves = [_move(kernel, case, now) for case in cases]
    entries = [
        entry for case, move in zip(cases, moves, strict=True) for entry in log_entries(case, move.execution, now)
    ]

    async def write(tx: Tx) -> set[UUID]:
        lost = await release.release_executions(tx, shard=shard, moves=moves, now=now)
        ours = [entry for entry in entries if entry.execution_id not in lost]
        if ours:
            await release.insert_execution_log(tx, shard=shard, entries=ours)
        crash_points.reach("before_release_commit")
        return lost

    alone = not entries and not crash_points.is_armed("before_release_commit")
    lost = await kernel.db.persist(write, alone=alone)
    crash_points.reach("after_release")
    for case in cases if lost else ():
        if case.held.lease.id in lost:
            log.warning("lease_lost", owner=str(case.held.lease.id), fence=case.held.lease.fence)


def _move(kernel: Kernel, case: Case, now: datetime) -> MovedExecution:
    stored, stop = case.loaded.execution, case.held.lease.stop
    if case.loaded.ended_at is not None:
        return _ended(case, stored, now, is_given_up=given_up(kernel, case.held) is not None)
    if stop is Stop.CANCEL or case.held.withdrawn:
        error = case.held.withdrawn or stored.error
        return _ended(case, replace(stored, status=ExecutionStatus.CANCELLED, error=error), now)
    if error := given_up(kernel, case.held):
        return _ended(case, _given_up(case, error), now)
    if stop is Stop.PAUSE or case.held.parked:
        return _open(case, replace(stored, status=ExecutionStatus.PAUSED), now + LOOK_AGAIN)
    return _walked(case, now)


def _walked(case: Case, now: datetime) -> MovedExecution:
    execution, action = case.decide(now)
    match action:
        case Finish():
            return _ended(case, execution, now)
        case Sleep(until):
            due_at = min([until, *_item_times(case, now)])  # a reopened item may be due before the walk
        case Deliver():
            due_at = min(case.held.postponed.values(), default=now)
        case Plan():
            due_at = case.not_before or now
        case _:
            assert_never(action)
    # Nothing waits past its own timeout (rule 9), except what is paused, which would only be paused again.
    return _open(case, replace(execution, status=ExecutionStatus.ENQUEUED), min(due_at, case.deadline or due_at))


def _open(case: Case, execution: ExecutionState, due_at: datetime) -> MovedExecution:
    return MovedExecution(case.held.lease, execution, _cursor(case, execution), None, due_at)


def _ended(case: Case, execution: ExecutionState, now: datetime, *, is_given_up: bool = False) -> MovedExecution:
    """Take an ended execution out of the queue, unless a person reopened an item that is still to be sent, or
    its failure is still to be reported."""
    times = _item_times(case, now)
    # What is never planned again would come back for ever.
    is_left_alone = is_given_up or case.held.lease.stop is not None or case.held.withdrawn is not None
    if not is_left_alone and report_of(case.graph, execution, case.held.states.values()):
        times.append(case.not_before or now)
    due_at = min(times) if times else None
    return MovedExecution(case.held.lease, execution, None, case.loaded.ended_at or now, due_at)


def _item_times(case: Case, now: datetime) -> list[datetime]:
    """When each open item is due; one that is held in doubt waits for a fact or a person."""
    queued = [(id, state) for id, state in case.held.states.items() if state.status is ItemStatus.QUEUED]
    return [at for id, state in queued if (at := _item_time(case.held, id, state, now))]


def _item_time(held: Held, id: UUID, state: ItemState, now: datetime) -> datetime | None:
    if id in held.postponed:
        return held.postponed[id]
    if state.in_doubt:
        return state.retry_at if state.retry_at and (state.retry_at > now or id not in held.open) else None
    return state.retry_at or now


def _given_up(case: Case, error: str) -> ExecutionState:
    log.error("execution_given_up", execution=str(case.held.lease.id), reason=error)
    ready = first_ready(case.graph, case.loaded.execution.frontier)
    return replace(
        case.loaded.execution,
        status=ExecutionStatus.FAILED,
        error=error,
        error_node=ready.node if ready else None,
    )


def _cursor(case: Case, execution: ExecutionState) -> str | None:
    ready = first_ready(case.graph, execution.frontier)
    return ready.node if ready else None
