"""Turn a run's audience into jobs and items, chunk by chunk; each chunk commits with its cursor (rule 10).

Reached from rollup.py under the run's lease. The cursor is moved from where it was read, so a worker that lost its
lease half-way plans nobody twice.
"""

from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.ids import Shard, part_bucket
from tidings.domain.keys import campaign_key
from tidings.domain.queue import Lane, Stop
from tidings.kernel import crash_points
from tidings.kernel.kernel import Kernel
from tidings.storage import deploy
from tidings.storage.database import Tx
from tidings.storage.deploy import Part, Person
from tidings.storage.load import LoadedRun


async def deploy_some(kernel: Kernel, run: LoadedRun, until: datetime) -> int | None:
    """Plan chunks until then; give the number planned once nobody is left, and None before."""
    planned = 0
    for shard in kernel.every_shard():
        part = await _load_part(kernel, shard, run.id)
        while not part.finished:
            if await kernel.clock.now() >= until or kernel.draining.is_set():
                return None
            await _deploy_chunk(kernel, shard, run, part)
            part = await _load_part(kernel, shard, run.id)
        planned += part.planned
    return planned


async def _load_part(kernel: Kernel, shard: Shard, run_id: UUID) -> Part:
    part = await kernel.db.persist(lambda tx: deploy.load_part(tx, shard=shard, run_id=run_id), alone=True)
    return part or Part(0, 0, finished=True)


async def _deploy_chunk(kernel: Kernel, shard: Shard, run: LoadedRun, part: Part) -> None:
    size = kernel.limits.job_size
    now = await kernel.clock.now()
    people = (
        []
        if run.cancelled
        else await kernel.db.persist(
            lambda tx: deploy.read_audience(tx, shard=shard, run_id=run.id, after=part.cursor, limit=size), alone=True
        )
    )
    finished = len(people) < size
    cursor = people[-1].ordinal if people else part.cursor

    async def write(tx: Tx) -> None:
        moved = await deploy.advance_part(
            tx,
            shard=shard,
            run_id=run.id,
            cursor=part.cursor,
            next_cursor=cursor,
            added=len(people),
            finished=finished,
        )
        if moved and people:
            await _write_job(kernel, tx, shard, run, people, part.planned, now)
        crash_points.reach("before_deploy_commit")

    await kernel.db.persist(write)
    kernel.notifier.tell(shard, Lane.CAMPAIGNS)
    crash_points.reach("after_deploy_chunk")


async def _write_job(
    kernel: Kernel, tx: Tx, shard: Shard, run: LoadedRun, people: list[Person], before: int, now: datetime
) -> None:
    bucket = part_bucket(run.id, shard, kernel.shards)
    job_id = kernel.new_id(bucket, now)
    scheduled_for = run.scheduled_for.isoformat() if run.scheduled_for else None
    await deploy.insert_job(
        tx,
        shard=shard,
        id=job_id,
        run_id=run.id,
        tenant=run.tenant,
        workspace=run.workspace,
        job_type=f"{run.channel}_send_batch",
        planned=len(people),
        now=now,
    )
    await deploy.insert_job_items(
        tx,
        shard=shard,
        job_id=job_id,
        channel=run.channel,
        provider=run.provider,
        ids=[kernel.new_id(bucket, now) for _ in people],
        ordinals=[person.ordinal for person in people],
        recipients=[person.recipient for person in people],
        keys=[
            campaign_key(run.channel, run.id, str(person.ordinal), run.content_id, scheduled_for) for person in people
        ],
        now=now,
    )
    stop = Stop.CANCEL if run.cancelled else Stop.PAUSE if run.paused else None
    due_at = now + _spread(kernel, run, before)
    await deploy.enqueue_job(tx, shard=shard, id=job_id, lane=Lane.CAMPAIGNS, due_at=due_at, stop=stop)


def _spread(kernel: Kernel, run: LoadedRun, before: int) -> timedelta:
    """How long a job waits so that the run keeps its rate: as long as all shards need for those before it."""
    if run.rate_per_minute is None:
        return timedelta()
    return timedelta(minutes=before * kernel.shards / run.rate_per_minute)
