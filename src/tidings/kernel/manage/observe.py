"""Count what there is, and check the promises. Reads only; metrics and commands go through here."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from tidings.domain.campaigns.run import JobCounts, JobStatus, run_status
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.words import ShownStatus
from tidings.kernel.kernel import Kernel
from tidings.storage import observe, verify
from tidings.storage.database import Tx
from tidings.storage.verify import Offence
from tidings.views.outbox import HistoryLine

Result = TypeVar("Result")

CONTRACT = (
    "channel_outbox_status_check",
    "channel_outbox_skipped_status_check",
    "channel_outbox_idempotency_key",
    "channel_outbox_idempotency_key_check",
    "channel_outbox_in_doubt_check",
    "executions_idempotency_key",
    "jobs_terminal_check",
    "runs_planned_check",
)
MOST_OFFENCES = 20


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, and the rows that break it."""

    name: str
    promise: str
    offences: Sequence[Offence]


@dataclass(slots=True)
class Totals:
    """Everything there is, by status."""

    items: Counter[str] = field(default_factory=Counter)
    executions: Counter[ShownStatus] = field(default_factory=Counter)
    live: int = 0
    due: int = 0
    leased: int = 0


async def show_history(kernel: Kernel, id: UUID) -> list[HistoryLine]:
    """Return what was done to an execution, run or item."""
    shard = kernel.shard_of(id)
    return await kernel.db.persist(lambda tx: observe.list_audit(tx, shard=shard, subject_id=id), alone=True)


async def totals(kernel: Kernel) -> Totals:
    """Count everything; for dashboards of small installations, demos and tests."""
    now = await kernel.clock.now()
    sums = Totals()

    async def read(tx: Tx, *, shard: Shard) -> None:
        for status, in_doubt, count in await observe.count_items(tx, shard=shard):
            sums.items["in_doubt" if in_doubt else status] += count
        sums.executions.update(await observe.count_executions(tx, shard=shard))
        for load in (await observe.count_queue(tx, shard=shard, now=now)).values():
            sums.live, sums.due, sums.leased = sums.live + load.live, sums.due + load.due, sums.leased + load.leased

    await _in_every_shard(kernel, read)
    return sums


async def own_totals(kernel: Kernel, workspace: Workspace) -> Totals:
    """Count what one workspace has; shard after shard, since anybody may ask and connections are everybody's."""
    sums = Totals()
    runs: list[UUID] = []
    for shard in kernel.every_shard():
        runs += await kernel.db.persist(partial(observe.list_own_runs, shard=shard, workspace=workspace), alone=True)

    async def read(tx: Tx, *, shard: Shard) -> None:
        own = await observe.count_own_items(tx, shard=shard, workspace=workspace, run_ids=runs)
        for status, in_doubt, count in own:
            sums.items["in_doubt" if in_doubt else status] += count
        sums.executions.update(await observe.count_own_executions(tx, shard=shard, workspace=workspace))

    for shard in kernel.every_shard():
        await kernel.db.persist(partial(read, shard=shard))
    return sums


async def verify_promises(kernel: Kernel) -> list[Check]:
    """Check the promises 1 to 4 in one snapshot of a live database."""

    async def read(tx: Tx) -> list[Check]:
        missing = await verify.missing_constraints(tx, names=CONTRACT)
        checks = [Check("contract", "1 the contract is in the database", [_lacks(name) for name in missing])]
        for name, promise, rows in _ROW_CHECKS:
            found: list[Offence] = []
            for shard in kernel.every_shard():
                found += await rows(tx, shard=shard, limit=MOST_OFFENCES)
            checks.append(Check(name, promise, found))
        return [*checks, Check("runs", "4 a run's status follows from its jobs", await _wrong_runs(kernel, tx))]

    return await _in_one_moment(kernel, read)


_RowCheck = Callable[..., Awaitable[list[Offence]]]
_ROW_CHECKS: Sequence[tuple[str, str, _RowCheck]] = (
    ("marks", "1 nothing goes out without a committed mark", verify.unkeyed_sends),
    ("keys", "1 an idempotency key is in one shard, so it is there once", verify.misplaced_items),
    ("doubles", "2 one intention is one item", verify.double_items),
    ("lost items", "3 every open item will be looked at", verify.lost_items),
    ("lost executions", "3 every open execution is in the queue", verify.lost_executions),
    ("lost jobs", "3 every open job is in the queue", verify.lost_jobs),
    ("lost runs", "3 every open run is in the queue", verify.lost_runs),
    ("lost events", "3 every event is routed or will be", verify.lost_events),
    ("queue", "3 whatever is in the queue exists", verify.ownerless_rows),
    ("counts", "3 planned is the sum of what became of it", verify.miscounted_jobs),
    ("jobs", "4 a job ends only when every item has", verify.early_jobs),
)


async def _wrong_runs(kernel: Kernel, tx: Tx) -> list[Offence]:
    jobs: dict[UUID, list[tuple[JobStatus, JobCounts]]] = {}
    for shard in kernel.every_shard():
        for run_id, share in (await verify.jobs_of_runs(tx, shard=shard)).items():
            jobs.setdefault(run_id, []).extend(share)
    offences = []
    for shard in kernel.every_shard():
        for run in await verify.ended_runs(tx, shard=shard):
            own = jobs.get(run.id, [])
            due = run_status(run.planned, True, own)
            planned = sum(counts.planned for _, counts in own)
            if due is not run.status:
                offences.append(Offence(run.id, f"is {run.status} where its jobs make it {due}"))
            if planned != run.planned:
                offences.append(Offence(run.id, f"planned {run.planned}, but its jobs have {planned}"))
    return offences


def _lacks(name: str) -> Offence:
    return Offence(UUID(int=0), f"the constraint {name} is missing or not validated; run 'tidings db migrate'")


async def _in_one_moment(kernel: Kernel, read: Callable[[Tx], Awaitable[Result]]) -> Result:
    async with kernel.db.transaction(snapshot=True) as tx:
        return await read(tx)


async def _in_every_shard(kernel: Kernel, read: Callable[..., Awaitable[Result]]) -> list[Result]:
    return list(
        await asyncio.gather(
            *(kernel.db.persist(partial(read, shard=shard), alone=True) for shard in kernel.every_shard())
        )
    )
