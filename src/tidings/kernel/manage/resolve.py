"""What a person decides: the end of doubt, and pause, resume or cancel. Every decision is in the audit log.

Reached from resources/. What belongs to another workspace is not found, in the transaction that would change it. This
asks rather than acts: the worker that holds the lease obeys, or the one that claims the row next.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, InputInvalid, NotFound
from tidings.domain.flow.ids import Shard, Workspace, bucket_of_id
from tidings.domain.flow.item import SUCCESS_STATUS, ItemStatus
from tidings.domain.flow.queue import Lane, Stop
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.manage.job_history import first_of_asked
from tidings.storage import deploy, load, release, resolve
from tidings.storage.database import Tx
from tidings.storage.resolve import Asked, FoundItem


class Resolution(StrEnum):
    """What a person found out about an item in doubt."""

    SENT = "sent"
    RESEND = "resend"
    FAILED = "failed"


async def resolve_item(kernel: Kernel, caller: Caller, id: UUID, outcome: Resolution, note: str) -> None:
    """End the doubt about an item by a person's word."""
    check_note(note)
    shard, now = kernel.shard_of(id), await kernel.clock.now()
    entry = kernel.new_id(bucket_of_id(id), now)  # made once: after an unknown commit it tells that this call committed

    async def write(tx: Tx) -> FoundItem:
        item = await resolve.find_item(tx, shard=shard, id=id)
        if item is None or item.workspace != caller.workspace:
            raise NotFound(f"there is no item {id}")
        if await resolve.find_audit(tx, shard=shard, ids=[entry]):
            return item
        if outcome is Resolution.RESEND and not item.recipient:
            raise Conflict(f"item {id} was erased with its contact, so there is nothing to send again")
        status = _status(item, outcome)
        error = note if outcome is Resolution.FAILED else None
        if not await resolve.resolve_item(tx, shard=shard, id=id, status=status, error=error, now=now):
            raise Conflict(_why_not(item))
        await _set_owner_going(tx, shard, item, outcome, now)
        audit_entry = AuditEntry("item", id, f"resolved_{outcome}", {"note": note}, entry)
        await write_audit(kernel, tx, caller, [audit_entry], now)
        return item

    item = await kernel.db.persist(write)
    kernel.notifier.tell(shard, Lane.CAMPAIGNS if item.run_id else Lane.TRANSACTIONAL)


def check_note(note: str) -> None:
    """Refuse a decision that nobody could check later."""
    if not note.strip():
        raise InputInvalid("a note is needed: say what shows that this is so")


def _status(item: FoundItem, outcome: Resolution) -> ItemStatus:
    if outcome is Resolution.SENT:
        return SUCCESS_STATUS[item.channel]
    return ItemStatus.FAILED if outcome is Resolution.FAILED else ItemStatus.QUEUED


def _why_not(item: FoundItem) -> str:
    if item.in_doubt:
        return f"a call for item {item.id} is in the air; look again in a moment"
    return f"item {item.id} is not in doubt: it is {item.status}"


async def _set_owner_going(tx: Tx, shard: Shard, item: FoundItem, outcome: Resolution, now: datetime) -> None:
    owner = item.job_id or item.execution_id
    if owner is None:
        raise AssertionError("the database ties every item to a job or an execution")
    if outcome is Resolution.RESEND and item.execution_id:
        await resolve.reopen_execution(tx, shard=shard, id=owner, lane=Lane.TRANSACTIONAL, now=now)
    await release.wake_owner(tx, shard=shard, id=owner, at=now)


async def stop_execution(kernel: Kernel, caller: Caller, id: UUID, stop: Stop | None) -> None:
    """Pause, cancel or (None) resume an execution."""
    shard, now = kernel.shard_of(id), await kernel.clock.now()
    entry = kernel.new_id(bucket_of_id(id), now)

    async def write(tx: Tx) -> None:
        # Ask first: a worker that moves the execution locks the same row, so what is read afterwards is the result.
        is_asked = await resolve.stop_owner(tx, shard=shard, id=id, stop=stop, now=now)
        found = (await load.load_executions(tx, shard=shard, ids=[id])).get(id)
        if found is None or found.workspace != caller.workspace:
            raise NotFound(f"there is no execution {id}")
        if found.ended_at:
            raise Conflict(f"execution {id} has ended: it is {found.execution.status}")
        if not is_asked:
            raise Conflict(f"execution {id} has ended, or is being cancelled")
        audit_entry = AuditEntry("execution", id, stop or "resume", {}, entry)
        await write_audit(kernel, tx, caller, [audit_entry], now)

    await kernel.db.persist(write)
    if stop:
        await kernel.notifier.tell_stopped([id])
    kernel.notifier.tell(shard, Lane.TRANSACTIONAL)


async def stop_run(kernel: Kernel, caller: Caller, id: UUID, stop: Stop | None) -> None:
    """Pause, cancel or (None) resume a run and its jobs; the run's own claim repeats it if this dies half-way."""
    shard, now = kernel.shard_of(id), await kernel.clock.now()
    entry = kernel.new_id(bucket_of_id(id), now)

    async def write(tx: Tx) -> None:
        found = (await load.load_runs(tx, shard=shard, ids=[id])).get(id)
        if found is None or Workspace(found.tenant, found.workspace) != caller.workspace:
            raise NotFound(f"there is no run {id}")
        if found.cancelled and stop is not Stop.CANCEL:
            raise Conflict(f"run {id} is cancelled; deploy a new one")
        flagged = await resolve.flag_run(
            tx, shard=shard, id=id, paused=stop is Stop.PAUSE, cancelled=stop is Stop.CANCEL
        )
        if not flagged:
            raise Conflict(f"run {id} has ended: it is {found.status}")
        await resolve.stop_owner(tx, shard=shard, id=id, stop=stop, now=now)
        await write_audit(kernel, tx, caller, [AuditEntry("run", id, stop or "resume", {}, entry)], now)

    await kernel.db.persist(write)
    await pass_on_stop(kernel, id, caller.actor)
    kernel.notifier.tell(shard, Lane.RUNS)


async def pass_on_stop(kernel: Kernel, run_id: UUID, actor: str) -> None:
    """Ask every open job of a run to pause, stop or go on, as the run says at that moment.

    A process that writes jobs of a run, or asks them, locks the shard's part of the run and only then reads what the
    run says. So the last request wins, whichever processes ask at the same time, and even if one dies before it has
    asked all.
    """
    now = await kernel.clock.now()
    for shard in kernel.every_shard():
        first = first_of_asked(kernel, run_id, shard, now)

        async def ask(tx: Tx, shard: Shard = shard, first: UUID = first) -> tuple[Stop | None, Asked]:
            await deploy.hold_part(tx, shard=shard, run_id=run_id)
            stop = await resolve.stop_of_run(tx, shard=kernel.shard_of(run_id), id=run_id)
            return stop, await resolve.stop_jobs_of_run(
                tx, shard=shard, run_id=run_id, stop=stop, actor=actor, first_entry=first, now=now
            )

        stop, asked = await kernel.db.persist(ask)
        if stop:
            await kernel.notifier.tell_stopped([id for id, leased in asked.items() if leased])
        if asked:
            kernel.notifier.tell(shard, Lane.CAMPAIGNS)
