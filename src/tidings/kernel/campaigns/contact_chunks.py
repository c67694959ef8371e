"""A chunk of a run's contacts: one statement writes their items in the shard of the contacts.

Reached from plan_audience.py. audience_chunks.py decides which contacts; those created after the run are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from tidings.domain.campaigns.campaign import CONTACT_ZONE, at_hour
from tidings.domain.flow.ids import Shard, Workspace, first_of_many, part_bucket
from tidings.domain.flow.keys import campaign_key_parts, campaign_key_place
from tidings.domain.people.address import read_time_zone
from tidings.domain.people.audience import read_audience
from tidings.domain.people.contact import lack_of, most_addresses
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.audience_chunks import next_chunk
from tidings.storage import deploy
from tidings.storage.audience import Picked
from tidings.storage.database import Tx
from tidings.storage.deploy import ContactItems, NewJob, RunPart
from tidings.storage.load import LoadedRun

JOBS_IN_A_CHUNK = 20
"""How many jobs are written at once: one commit for each would cost more than their rows."""
DEFAULT_ZONE = "UTC"


@dataclass(frozen=True, slots=True)
class ContactChunk:
    """Some of a run's contacts, and the cursor after them."""

    people: list[Picked]
    cursor: int
    cursor_id: UUID | None
    finished: bool

    async def write(
        self, kernel: Kernel, tx: Tx, shard: Shard, run: LoadedRun, part: RunPart, now: datetime
    ) -> list[NewJob]:
        """Write the items; return the jobs they make."""
        if not self.people:
            return []
        bucket = part_bucket(run.id, shard, kernel.shards)
        jobs = await deploy.insert_contact_items(
            tx,
            shard=shard,
            items=_items(kernel, shard, run, part, self.people),
            first_item=first_of_many(kernel.new_id(bucket, now)),
            job_ids=sorted(kernel.new_id(bucket, now) for _ in range(_most_jobs(kernel, run, len(self.people)))),
            now=now,
        )
        return [NewJob(job.id, job.planned, job.skipped, max(now, job.due_at)) for job in jobs]


async def read_chunk(kernel: Kernel, shard: Shard, run: LoadedRun, part: RunPart) -> ContactChunk:
    """Read the next contacts of a run."""
    audience, problems = read_audience(run.audience)
    if problems:
        raise AssertionError(f"the audience of run {run.id} was checked when it was stored: {problems[0]}")
    chunk = await next_chunk(
        kernel,
        shard,
        Workspace(run.tenant, run.workspace),
        audience,
        now=run.begins_at,  # every chunk of the run sees the same people, however long planning takes
        made_by=run.created_at,
        after=part.cursor_id,
        limit=JOBS_IN_A_CHUNK * kernel.limits.job_size,
    )
    return ContactChunk(list(chunk.people), part.cursor, chunk.cursor, chunk.finished)


def _items(kernel: Kernel, shard: Shard, run: LoadedRun, part: RunPart, people: Sequence[Picked]) -> ContactItems:
    gap = 60 / run.rate_per_minute if run.rate_per_minute else 0.0
    scheduled_for = run.scheduled_for.isoformat() if run.scheduled_for else None
    head, tail = campaign_key_parts(run.channel, run.id, run.content_id, scheduled_for)
    return ContactItems(
        run_id=run.id,
        tenant=run.tenant,
        workspace=run.workspace,
        channel=run.channel,
        provider=run.provider,
        key_place=campaign_key_place(run.id, part_bucket(run.id, shard, kernel.shards)),
        key_head=head,
        key_tail=tail,
        no_address=lack_of(run.channel),
        ids=[one.id for one in people],
        due_at=[_hour_of(run, one) for one in people],
        begins_at=run.begins_at if run.rate_per_minute else None,
        place_seconds=gap * kernel.shards,
        first_place_seconds=gap * shard,
        before=part.planned,
        job_size=kernel.limits.job_size,
    )


def _most_jobs(kernel: Kernel, run: LoadedRun, people: int) -> int:
    """The most jobs that so many people may need: each has one address, or for push as many as it has tokens."""
    return -(-people * most_addresses(run.channel) // kernel.limits.job_size)


def _hour_of(run: LoadedRun, person: Picked) -> datetime | None:
    """When the run's hour of the day comes for a person; None where the run names no hour."""
    if run.send_hour is None:
        return None
    zone = (person.time_zone or DEFAULT_ZONE) if run.time_zone == CONTACT_ZONE else run.time_zone
    return _next_hour(run.begins_at, run.send_hour, zone)


@lru_cache(maxsize=4096)
def _next_hour(base: datetime, hour: int, zone: str) -> datetime:
    try:
        return at_hour(base, hour, read_time_zone(zone))
    except ValueError:  # the zone was valid when the contact was stored, but this machine's time zone list lacks it
        return at_hour(base, hour, DEFAULT_ZONE)
