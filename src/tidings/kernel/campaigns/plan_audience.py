"""Turn a run's people into jobs and items, chunk by chunk; each chunk commits with its cursor (rule 10).

Reached from rollup.py under the run's lease. The cursor is moved from where it was read, so a worker that lost its
lease half-way plans nobody twice. Chunks of a plain list are written here, the others by contact_chunks.py and
retry_chunks.py.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never
from uuid import UUID

from tidings.domain.campaigns.campaign import spread
from tidings.domain.campaigns.run import Source
from tidings.domain.flow.ids import Bucket, Shard, part_bucket
from tidings.domain.flow.keys import campaign_key
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.people.contact import ERASED
from tidings.kernel import crash_points
from tidings.kernel.campaigns import contact_chunks, retry_chunks
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.job_history import Change, entry_of
from tidings.kernel.process.together import all_of
from tidings.storage import deploy, resolve
from tidings.storage.database import Tx
from tidings.storage.deploy import ListedRecipient, NewItem, NewJob, RunPart
from tidings.storage.load import LoadedRun

SHARDS_AT_ONCE = 4
"""How many chunks of a run are written at the same time: a deploy must leave connections for sending."""


@dataclass(frozen=True, slots=True)
class _ListChunk:
    """Some of a plain list, and the cursor after them."""

    people: list[ListedRecipient]
    cursor: int
    cursor_id: UUID | None
    finished: bool

    async def write(
        self, kernel: Kernel, tx: Tx, shard: Shard, run: LoadedRun, part: RunPart, now: datetime
    ) -> list[NewJob]:
        """Write the items; return their job."""
        bucket = part_bucket(run.id, shard, kernel.shards)
        job_id = kernel.new_id(bucket, now)
        items = [
            NewItem(
                id=kernel.new_id(bucket, now),
                job_id=job_id,
                ordinal=person.ordinal,
                recipient=person.recipient,
                contact_id=None,
                error=None if person.recipient else ERASED,
                key=_key(run, bucket, person),
                retry_at=time_of(kernel, run, shard, part.planned + place),
            )
            for place, person in enumerate(self.people)
        ]
        if not items:
            return []
        written = await deploy.insert_job_items(
            tx,
            shard=shard,
            run_id=run.id,
            tenant=run.tenant,
            workspace=run.workspace,
            channel=run.channel,
            provider=run.provider,
            items=items,
            now=now,
        )
        new = [item for item in items if item.id in written]  # a list may name the same post on the same account twice
        skipped = sum(1 for item in new if item.error)
        return [NewJob(job_id, len(new), skipped, max(now, new[0].retry_at or now))] if new else []


async def deploy_some(kernel: Kernel, run: LoadedRun, until: datetime) -> int | None:
    """Plan chunks until then, in several shards at once; return the number planned once no one is left, else None."""
    room = asyncio.Semaphore(SHARDS_AT_ONCE)

    async def deploy_part(shard: Shard) -> int | None:
        async with room:
            return await _deploy_part(kernel, shard, run, until)

    parts = await all_of(*map(deploy_part, kernel.every_shard()))
    return None if None in parts else sum(part or 0 for part in parts)


async def _deploy_part(kernel: Kernel, shard: Shard, run: LoadedRun, until: datetime) -> int | None:
    part = await _load_part(kernel, shard, run.id)
    while not part.finished:
        if await kernel.clock.now() >= until or kernel.draining.is_set():
            return None
        await _deploy_chunk(kernel, shard, run, part)
        part = await _load_part(kernel, shard, run.id)
    return part.planned


async def _load_part(kernel: Kernel, shard: Shard, run_id: UUID) -> RunPart:
    part = await kernel.db.persist(lambda tx: deploy.load_part(tx, shard=shard, run_id=run_id), alone=True)
    return part or RunPart(0, None, 0, finished=True)


async def _deploy_chunk(kernel: Kernel, shard: Shard, run: LoadedRun, part: RunPart) -> None:
    now = await kernel.clock.now()
    chunk = await _read_chunk(kernel, shard, run, part)

    async def write(tx: Tx) -> None:
        held = await deploy.lock_part(tx, shard=shard, run_id=run.id, cursor=part.cursor, cursor_id=part.cursor_id)
        if held:
            jobs = await chunk.write(kernel, tx, shard, run, part, now)
            # Read while the part is locked: a pause finds the jobs after this commit, or is visible here already.
            stop = await resolve.stop_of_run(tx, shard=kernel.shard_of(run.id), id=run.id)
            await _write_jobs(kernel, tx, shard, run, jobs, stop, now)
            await _advance(kernel, tx, shard, run, part, chunk, sum(job.planned for job in jobs))
        crash_points.reach("before_deploy_commit")

    await kernel.db.persist(write)
    kernel.notifier.tell(shard, Lane.CAMPAIGNS)
    crash_points.reach("after_deploy_chunk")


_Chunk = _ListChunk | contact_chunks.ContactChunk | retry_chunks.RetryChunk


async def _read_chunk(kernel: Kernel, shard: Shard, run: LoadedRun, part: RunPart) -> _Chunk:
    """Read the next people, also of a cancelled run, whose jobs skip them."""
    match run.source:
        case Source.LIST:
            return await _read_list(kernel, shard, run, part)
        case Source.CONTACTS:
            return await contact_chunks.read_chunk(kernel, shard, run, part)
        case Source.RETRY:
            return await retry_chunks.read_chunk(kernel, shard, run, part)
        case _:
            assert_never(run.source)


async def _read_list(kernel: Kernel, shard: Shard, run: LoadedRun, part: RunPart) -> _ListChunk:
    size = kernel.limits.job_size
    people = await kernel.db.persist(
        lambda tx: deploy.read_audience(tx, shard=shard, run_id=run.id, after=part.cursor, limit=size), alone=True
    )
    cursor = people[-1].ordinal if people else part.cursor
    return _ListChunk(people, cursor, None, finished=len(people) < size)


async def _write_jobs(
    kernel: Kernel, tx: Tx, shard: Shard, run: LoadedRun, jobs: list[NewJob], stop: Stop | None, now: datetime
) -> None:
    if not jobs:
        return
    await deploy.insert_jobs(
        tx,
        shard=shard,
        run_id=run.id,
        tenant=run.tenant,
        workspace=run.workspace,
        job_type=run.channel.job_type,
        jobs=jobs,
        stop=stop,
        entries=[entry_of(kernel, job.id, Change.QUEUED, now) for job in jobs],
        now=now,
    )
    if stop is Stop.CANCEL:
        jobs = [replace(job, due_at=now) for job in jobs]  # what is skipped need not wait for its place in the rate
    await deploy.enqueue_jobs(tx, shard=shard, jobs=jobs, lane=Lane.CAMPAIGNS, stop=stop)


async def _advance(
    kernel: Kernel, tx: Tx, shard: Shard, run: LoadedRun, part: RunPart, chunk: _Chunk, added: int
) -> None:
    """Move the cursor; an item that misses its time later gets one after the last of these."""
    last = time_of(kernel, run, shard, part.planned + added)
    await deploy.advance_part(
        tx,
        shard=shard,
        run_id=run.id,
        next_cursor=chunk.cursor,
        next_cursor_id=chunk.cursor_id,
        added=added,
        finished=chunk.finished,
        paced_until=last and last + (DAY if run.send_hour is not None else timedelta()),
    )


DAY = timedelta(days=1)
"""An hour is at most so long after the run begins, wherever the contact lives."""


def time_of(kernel: Kernel, run: LoadedRun, shard: Shard, ordinal: int) -> datetime | None:
    """When a run with a rate calls for the item at this index in a shard (from 0); None without a rate."""
    if run.rate_per_minute is None:
        return None
    return run.begins_at + spread(ordinal, shard, kernel.shards, run.rate_per_minute)


def _key(run: LoadedRun, bucket: Bucket, person: ListedRecipient) -> bytes:
    """The parts of an item's key; a person on a plain list has no id except their place in it."""
    scheduled_for = run.scheduled_for.isoformat() if run.scheduled_for else None
    if person.post and not run.channel.reaches_contacts:
        return campaign_key(run.channel, run.id, bucket, person.post, person.recipient, scheduled_for)
    return campaign_key(run.channel, run.id, bucket, str(person.ordinal), run.content_id, scheduled_for)
