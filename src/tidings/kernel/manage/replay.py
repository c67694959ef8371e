"""Reopen failed executions, each in the audit log: the only way back from failed to queued.

Reached from resources/executions.py; claim.py finds what is due again. domain/flow/replay.py alone decides what becomes
of an execution. The rows themselves guard it: an execution that a worker holds, or that another replay has reopened
meanwhile, is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Shard, bucket_of_id
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.replay import FailedExecution, Reopening, ReplayRefused, reopen
from tidings.kernel.graphs import load_graphs
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.storage import replay, resolve
from tidings.storage.database import Tx

BUSY = ReplayRefused("a worker is at it; try again in a moment")
NOT_FAILED = ReplayRefused("it has not failed, or not any more")


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of each execution."""

    reopened: Sequence[UUID]
    refused: Mapping[UUID, str]


async def replay_executions(
    kernel: Kernel,
    caller: Caller,
    shard: Shard,
    ids: Sequence[UUID],
    *,
    due_at: Mapping[UUID, datetime] | None = None,
    dry_run: bool = False,
) -> Replayed:
    """Reopen executions of one shard in one transaction, or in a dry run only decide about them.

    Each goes on at its `due_at`, or at once.
    """
    due_at = due_at or {}
    now = await kernel.clock.now()
    # Made once: after an unknown commit they tell which executions this call reopened.
    entries = {id: kernel.new_id(bucket_of_id(id), now) for id in ids}

    async def write(tx: Tx) -> Replayed:
        leased = await replay.lock_queue_rows(tx, shard=shard, ids=ids)
        failed = await replay.lock_failed_executions(tx, shard=shard, workspace=caller.workspace, ids=ids)
        decisions = await _decide(kernel, tx, shard, failed, leased, {id: due_at.get(id, now) for id in failed})
        reopenings = {id: one for id, one in decisions.items() if isinstance(one, Reopening)}
        if not dry_run:
            reopenings = await _reopen(tx, shard, reopenings, failed, due_at, now)
            audit_entries = [
                AuditEntry("execution", id, "replayed", _detail(failed[id], one), entries[id])
                for id, one in reopenings.items()
            ]
            await write_audit(kernel, tx, caller, audit_entries, now)
        written = await resolve.find_audit(tx, shard=shard, ids=list(entries.values()))
        done = [id for id in ids if id in reopenings or entries[id] in written]
        return Replayed(done, {id: _reason(decisions.get(id)) for id in ids if id not in done})

    replayed = await kernel.db.persist(write)
    if not dry_run:
        kernel.notifier.tell(shard, Lane.TRANSACTIONAL)
    return replayed


async def _decide(
    kernel: Kernel,
    tx: Tx,
    shard: Shard,
    failed: Mapping[UUID, FailedExecution],
    leased: Mapping[UUID, bool],
    due_at: Mapping[UUID, datetime],
) -> Mapping[UUID, Reopening | ReplayRefused]:
    items = await replay.tried_items(tx, shard=shard, ids=list(failed))
    await load_graphs(kernel, tx, {one.version_id for one in failed.values() if one.version_id})
    return {
        id: BUSY if leased.get(id) else reopen(_with_idempotent(kernel, one), items.get(id, []), due_at[id])
        for id, one in failed.items()
    }


def _with_idempotent(kernel: Kernel, failed: FailedExecution) -> FailedExecution:
    return replace(failed, idempotent=kernel.graphs[failed.version_id].idempotent) if failed.version_id else failed


async def _reopen(
    tx: Tx,
    shard: Shard,
    wanted: Mapping[UUID, Reopening],
    failed: Mapping[UUID, FailedExecution],
    due_at: Mapping[UUID, datetime],
    now: datetime,
) -> dict[UUID, Reopening]:
    """Write the reopenings; return those that no worker took at the last moment."""
    lanes = {id: failed[id].lane for id in wanted}
    free = await replay.enqueue_reopened(tx, shard=shard, lanes=lanes, due_at=due_at, now=now)
    reopened = {id: one for id, one in wanted.items() if id in free}
    await replay.requeue_items(tx, shard=shard, ids=[item for one in reopened.values() for item in one.requeued])
    await replay.forget_items(tx, shard=shard, ids=[item for one in reopened.values() for item in one.forgotten])
    walked_again = {id: node for id in reopened if (node := failed[id].error_node)}
    await replay.forget_log(tx, shard=shard, nodes=walked_again)
    await replay.reopen_failed_executions(tx, shard=shard, reopenings=reopened, now=now)
    return reopened


def _detail(failed: FailedExecution, reopening: Reopening) -> Mapping[str, object]:
    items = len(reopening.requeued) + len(reopening.forgotten)
    return {"node": failed.error_node, "error": failed.error, "items": items}


def _reason(decision: Reopening | ReplayRefused | None) -> str:
    match decision:
        case ReplayRefused(reason):
            return reason
        case Reopening():
            return BUSY.reason
        case None:
            return NOT_FAILED.reason
        case _:
            assert_never(decision)
