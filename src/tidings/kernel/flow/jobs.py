"""One batch of jobs, from claim to release: a job is a batch of items of a run, or the items of an event.

Reached from engine.py. Its items exist already: plan_audience.py wrote a run's, which are rendered before their first
mark, and event.py wrote an event's.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import assert_never
from uuid import UUID

from tidings.domain.channels import HTML_FIELDS
from tidings.domain.content.linking import link
from tidings.domain.content.message import MessageContent
from tidings.domain.content.template import RenderFailed
from tidings.domain.flow.doubt import LOOK_AGAIN
from tidings.domain.flow.ids import Shard, workspace_of
from tidings.domain.flow.item import ItemStatus, Payload, Reserved
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Claimed, Lane, Stop
from tidings.domain.flow.retry import CAMPAIGN, RetryPolicy
from tidings.domain.people.contact import CONTACT, DELETED, LoadedContact
from tidings.kernel import crash_points
from tidings.kernel.flow.doubt import face_doubt
from tidings.kernel.flow.held import Held
from tidings.kernel.flow.lease_keeper import LeaseKeeper
from tidings.kernel.flow.others import leave_to_others
from tidings.kernel.flow.settle import Settlement, given_up, settle, settle_stopped
from tidings.kernel.flow.windows import Windows
from tidings.kernel.gate.answer import Later, Never
from tidings.kernel.gate.failover import is_closed
from tidings.kernel.gate.gate import Gate
from tidings.kernel.gate.outages import left_until
from tidings.kernel.gate.rate import DueItems, appointment_of, has_times, keep_time
from tidings.kernel.gate.rests import others_may_call_at, refresh_limits
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.job_history import Change, entry_of
from tidings.kernel.people.contacts import load_people
from tidings.kernel.people.erase import erase_work
from tidings.kernel.readiness import know_providers
from tidings.kernel.render.renderer import RenderJob
from tidings.kernel.senders import know_senders, sent_by
from tidings.kernel.start.event import load_event_work
from tidings.log import log
from tidings.storage import load, release
from tidings.storage.database import Tx
from tidings.storage.load import LoadedItem, LoadedJob, LoadedRun
from tidings.storage.release import MovedJob, ReleasedJob

ROLL_UP_AFTER = timedelta(milliseconds=250)
"""How long after a finished job its run is rolled up, so that a thousand jobs do not cause a thousand roll-ups."""


async def work_jobs(kernel: Kernel, shard: Shard, lane: Lane, leases: Sequence[Claimed]) -> None:
    """Call for what is due of each claimed job."""
    now = await kernel.clock.now()
    async with LeaseKeeper(kernel, shard, leases) as keeper:
        await refresh_limits(kernel, now, ())
        jobs, items, left = await _load(kernel, shard, lane, leases, now)
        events = await load_event_work(kernel, shard, leases, jobs, now)
        retry_for = partial(_retry_for, events.policies)
        owners = {lease.id: Held(lease, retry_for) for lease in leases if lease.id in jobs}
        for item in (*items, *events.items):
            owners[item.owner].take(item)
        again = await face_doubt(kernel, shard, lane, owners.values(), now)
        moving = await settle_stopped(kernel, shard, owners, now)
        runs = {id: kernel.runs[job.run_id] for id, job in jobs.items() if job.run_id}
        await _keep_time(kernel, shard, runs, moving, now)
        moving = await _ours(kernel, lane, runs, moving, now)
        fresh = _fresh(moving, items, now)
        people = await load_people(kernel, _contacts_of(fresh))
        payloads = await _render(kernel, shard, jobs, moving, fresh, people, now)
        gate = Gate(kernel, lane, people, now, rules=events.rules)
        _keep_appointments(gate, moving, runs, now)
        released = set[UUID]()

        async def let_go(ids: Collection[UUID]) -> None:
            if not ids:
                return
            released.update(ids)
            keeper.begin_release(ids)
            going = {id: owners[id] for id in ids}
            await _release(kernel, shard, going, jobs, left)
            keeper.let_go(ids)
            kernel.in_hand.release(ids)
            leave_to_others(kernel, shard, lane, going.values(), kernel.clock.carried())

        if moving:
            await let_go([id for id in owners if id not in moving])
        with Windows(kernel, shard, lane, keeper, gate, moving, let_go) as windows:
            await windows.run(_due(moving, runs, payloads, again, now))
        await let_go([id for id in owners if id not in released])


Loaded = tuple[Mapping[UUID, LoadedJob], list[LoadedItem], Mapping[UUID, datetime]]
"""Jobs, the open items of those that can send something, and of the others when to look at them again."""


async def _load(kernel: Kernel, shard: Shard, lane: Lane, leases: Sequence[Claimed], now: datetime) -> Loaded:
    ids, fences = [lease.id for lease in leases], [lease.fence for lease in leases]
    entries = [entry_of(kernel, id, Change.LOCKED, now) for id in ids]
    by_id = {lease.id: lease for lease in leases}

    async def read(tx: Tx) -> Loaded:
        jobs = await load.take_jobs(tx, shard=shard, ids=ids, fences=fences, entries=entries, now=now)
        taken = {job.id: job for job in jobs}  # without jobs whose lease is lost already
        left = {id: until for id in taken if (until := _left_until(kernel, lane, by_id[id], taken[id], now))}
        run_ids = {job.id: job.run_id for job in jobs if job.run_id and job.id not in left}
        ids_of_runs, runs = list(run_ids), list(run_ids.values())
        items = await load.load_job_items(tx, shard=shard, ids=ids_of_runs, run_ids=runs) if runs else []
        return taken, items, left

    jobs, items, left = await kernel.db.persist(read)
    for run_id in _runs_of(jobs.values()) - kernel.runs.keys():
        await _load_run(kernel, run_id)
        await wake_run(kernel, run_id, now)  # its first job is locked: the run is running
    return jobs, items, left


def _left_until(kernel: Kernel, lane: Lane, lease: Claimed, job: LoadedJob, now: datetime) -> datetime | None:
    """When to look again at a job whose run can send nothing now; None if its items must be read."""
    run = kernel.runs.get(job.run_id) if job.run_id else None
    if run is None:
        return None
    return left_until(kernel, lease, run, lane, now) or _full_until(kernel, lease, run, now)


def _full_until(kernel: Kernel, lease: Claimed, run: LoadedRun, now: datetime) -> datetime | None:
    """When to look again at a job whose connection has no place left: not at the same moment as all others."""
    at = kernel.use.full_until(run.provider, "", now)
    if at is None or lease.stop or lease.crashes or run.max_lateness or is_closed(kernel, run.provider, now):
        return None
    return at + timedelta(seconds=kernel.spread())


def _runs_of(jobs: Iterable[LoadedJob]) -> set[UUID]:
    """The runs that these jobs are of; an event's job has none."""
    return {job.run_id for job in jobs if job.run_id}


def _retry_for(policies: Mapping[UUID, RetryPolicy], item: Reserved) -> RetryPolicy:
    return policies.get(item.id, CAMPAIGN)


async def _load_run(kernel: Kernel, run_id: UUID) -> None:
    shard = kernel.shard_of(run_id)
    runs = await kernel.db.persist(lambda tx: load.load_runs(tx, shard=shard, ids=[run_id]), alone=True)
    kernel.runs.update(runs)


async def wake_run(kernel: Kernel, run_id: UUID, at: datetime) -> None:
    """Have a run rolled up soon. The run may be in another shard, so this uses its own transaction."""
    shard = kernel.shard_of(run_id)
    await kernel.db.persist(lambda tx: release.wake_owner(tx, shard=shard, id=run_id, at=at), alone=True)
    kernel.notifier.tell(shard, Lane.RUNS)


async def _keep_time(
    kernel: Kernel, shard: Shard, runs: Mapping[UUID, LoadedRun], owners: Mapping[UUID, Held], now: datetime
) -> None:
    """Skip what is too late, and move what missed its place in its run's rate."""
    due = [
        DueItems(run, held.lease.fence, held.due(now))
        for id, run in runs.items()
        if has_times(run) and (held := owners.get(id))
    ]
    late = []
    holders: dict[UUID, Held] = {item.id: owners[item.owner] for job in due for item in job.items}
    for id, answer in (await keep_time(kernel, shard, due, now)).items():
        match answer:
            case Later(at):
                holders[id].move(id, at)
            case Never(why, status):
                late.append(Settlement(holders[id], id, status, why))
            case _:
                assert_never(answer)
    await settle(kernel, shard, late, now)


async def _ours(
    kernel: Kernel, lane: Lane, runs: Mapping[UUID, LoadedRun], owners: Mapping[UUID, Held], now: datetime
) -> Mapping[UUID, Held]:
    """The jobs whose provider this worker has; the others are left, unrendered, to a worker that has theirs."""
    providers = {id: run.provider for id, run in runs.items() if id in owners}
    await know_providers(kernel, set(providers.values()), now)
    others = {id: provider for id, provider in providers.items() if provider not in kernel.providers}
    for id, provider in others.items():
        due = [item.id for item in owners[id].due(now) if not item.in_doubt]
        owners[id].postponed |= dict.fromkeys(due, others_may_call_at(kernel, provider, lane, now))
    return {id: held for id, held in owners.items() if id not in others}


def _fresh(owners: Mapping[UUID, Held], items: Sequence[LoadedItem], now: datetime) -> list[LoadedItem]:
    """The items that are due and were never marked, and so not rendered either."""
    due = {item.id for held in owners.values() for item in held.due(now) if item.payload is None}
    return [item for item in items if item.id in due]


async def _render(
    kernel: Kernel,
    shard: Shard,
    jobs: Mapping[UUID, LoadedJob],
    owners: Mapping[UUID, Held],
    fresh: Sequence[LoadedItem],
    people: Mapping[UUID, LoadedContact],
    now: datetime,
) -> Mapping[UUID, Payload]:
    """Render fresh items; an item whose template fails becomes failed with the reason."""
    fresh = await _without_erased(kernel, shard, owners, fresh, people, now)
    runs = {item.id: kernel.runs[run_id] for item in fresh if (run_id := jobs[item.owner].run_id)}
    messages = [_message(runs[item.id], item) for item in fresh]
    rendered = await kernel.renderer.render(
        [
            _render_job(message, runs[item.id], jobs[item.owner], item, people, now)
            for item, message in zip(fresh, messages, strict=True)
        ]
    )
    crash_points.reach("after_render")
    await know_senders(kernel, {run.where for run in runs.values()}, now)
    made = [
        sent_by(kernel, runs[item.id].where, message, result)
        for item, message, result in zip(fresh, messages, rendered, strict=True)
    ]
    results = list(zip(fresh, made, strict=True))
    failures = [
        Settlement(owners[item.owner], item.id, ItemStatus.FAILED, result.reason)
        for item, result in results
        if isinstance(result, RenderFailed)
    ]
    await settle(kernel, shard, failures, now)
    return {item.id: result for item, result in results if not isinstance(result, RenderFailed)}


def _contacts_of(fresh: Sequence[LoadedItem]) -> set[UUID]:
    """The contacts that items are for, and those that tests show."""
    return {id for item in fresh if item.open for id in (item.open.contact_id, item.about) if id}


async def _without_erased(
    kernel: Kernel,
    shard: Shard,
    owners: Mapping[UUID, Held],
    fresh: Sequence[LoadedItem],
    people: Mapping[UUID, LoadedContact],
    now: datetime,
) -> Sequence[LoadedItem]:
    """Skip tests that show a contact who was deleted since."""
    gone = {one.id: one.about for one in fresh if one.about and one.about in people and people[one.about].is_deleted}
    if not gone:
        return fresh
    settlements = [
        Settlement(owners[one.owner], one.id, ItemStatus.SKIPPED, DELETED) for one in fresh if one.id in gone
    ]
    await settle(kernel, shard, settlements, now)
    await erase_work(kernel, shard, set(gone.values()))  # planned while the contact was being deleted
    return [item for item in fresh if item.id not in gone]


def _message(run: LoadedRun, item: LoadedItem) -> MessageContent:
    """What an item says: its run's message, or a post of its own."""
    post = (item.data or {}).get("post")
    if run.channel.reaches_contacts or not isinstance(post, Mapping):
        return run.message
    content = {name: post[name] for name in run.channel.content_fields if name in post}
    return MessageContent(run.channel, link(content, run.templates))


def _render_job(
    message: MessageContent,
    run: LoadedRun,
    job: LoadedJob,
    item: LoadedItem,
    people: Mapping[UUID, LoadedContact],
    now: datetime,
) -> RenderJob:
    """The templates of one message, with the run's data and the contact as it is now, or the plain list's data."""
    data = {**run.data, **(item.data or {})}
    contact_id = item.about or (item.open.contact_id if item.open else None)
    if contact_id and contact_id in people:
        data[CONTACT] = people[contact_id].data
    workspace = workspace_of(job.tenant, job.workspace)
    return RenderJob(message.templates, data, HTML_FIELDS, now, workspace, message.needs_finishing)


def _keep_appointments(gate: Gate, owners: Mapping[UUID, Held], runs: Mapping[UUID, LoadedRun], now: datetime) -> None:
    """Have the gate skip what becomes too late while it waits for its mark."""
    for id, run in runs.items():
        for item in owners[id].due(now) if run.max_lateness is not None and id in owners else ():
            if appointment := appointment_of(run, item):
                gate.lateness.appointments[item.id] = appointment


def _due(
    owners: Mapping[UUID, Held],
    runs: Mapping[UUID, LoadedRun],
    payloads: Mapping[UUID, Payload],
    again: set[UUID],
    now: datetime,
) -> list[Outgoing]:
    """The items to call for now."""
    tries = {id for id, run in runs.items() if run.tries_connection}
    return [
        # Compared with None: of an item that was erased in doubt, an empty payload is left.
        Outgoing(
            item,
            held.lease.fence,
            payloads[item.id] if item.payload is None else item.payload,
            held.retry_for(item),
            is_watched=item.owner in tries,
            is_pinned=item.owner in tries,
        )
        for held in owners.values()
        for item in held.due(now)
        if not item.in_doubt or item.id in again
    ]


async def _release(
    kernel: Kernel,
    shard: Shard,
    owners: Mapping[UUID, Held],
    jobs: Mapping[UUID, LoadedJob],
    left: Mapping[UUID, datetime],
) -> None:
    now = await kernel.clock.now()
    moves = [_move(kernel, held, left.get(id) or _due_at(held, now), now) for id, held in owners.items()]

    async def write(tx: Tx) -> list[ReleasedJob]:
        released = await release.release_jobs(tx, shard=shard, moves=moves, now=now)
        crash_points.reach("before_release_commit")
        return released

    released = await kernel.db.persist(write)
    crash_points.reach("after_release")
    lost = owners.keys() - {job.id for job in released}
    for id in lost:
        log.warning("lease_lost", owner=str(id), fence=owners[id].lease.fence)
    # A release whose answer was lost finds its own fence gone: the job may be done, and nothing else tells the run.
    done = {job.run_id for job in released if job.run_id and job.done}
    for run_id in done | _runs_of(jobs[id] for id in lost):
        await wake_run(kernel, run_id, now + ROLL_UP_AFTER)


def _due_at(held: Held, now: datetime) -> datetime:
    """When a job that is not done is due: at the first retry of its items, or parked when all are in doubt."""
    times = [
        held.postponed.get(id) or state.retry_at or (now + LOOK_AGAIN if state.in_doubt else now)
        for id, state in held.states.items()
        if state.status is ItemStatus.QUEUED
    ]
    return min(times, default=now)


def _move(kernel: Kernel, held: Held, due_at: datetime, now: datetime) -> MovedJob:
    if held.lease.stop is Stop.PAUSE or (held.lease.stop and due_at <= now):
        due_at = now + LOOK_AGAIN  # an item in doubt of a stopped job may be looked up, but is not called again
    error = given_up(kernel, held)
    entry = entry_of(kernel, held.lease.id, Change.ENDED, now)
    return MovedJob(held.lease, due_at, entry, error is not None, error)
