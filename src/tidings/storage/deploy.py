"""Turn a run's people into jobs and items, one chunk in one transaction.

Reached from kernel/campaigns/plan_audience.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.campaigns.run import JobCounts, JobStatus
from tidings.domain.channels import Channel
from tidings.domain.flow.ids import Shard, Workspace, counted_from
from tidings.domain.flow.item import Fence
from tidings.domain.flow.keys import PLACE_BYTES
from tidings.domain.flow.queue import Lane, Stop
from tidings.storage.contact_parts import address_fields
from tidings.storage.database import Tx
from tidings.storage.job_history import BY_ENGINE, insert_job_history
from tidings.storage.statements import load

_SQL = load("deploy")
Json = Mapping[str, object]
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class RunPart:
    """The progress of one shard's share of a run."""

    cursor: int
    cursor_id: UUID | None
    planned: int
    finished: bool


@dataclass(frozen=True, slots=True)
class ListedRecipient:
    """One recipient of a run's plain list."""

    ordinal: int
    recipient: str
    data: Json | None = None
    contact_id: UUID | None = None  # whose data a test shows
    post: str | None = None  # of a social campaign: the id of what is posted to this account


@dataclass(frozen=True, slots=True)
class FailedItem:
    """An item that failed, as a retry sees it."""

    id: UUID
    ordinal: int
    recipient: str
    contact_id: UUID | None
    error: str | None


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to write; with an error it is written as skipped."""

    id: UUID
    job_id: UUID
    ordinal: int
    recipient: str
    contact_id: UUID | None
    error: str | None
    key: bytes
    retry_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to write, and how many of its items are settled before it begins."""

    id: UUID
    planned: int
    skipped: int
    due_at: datetime


async def load_part(tx: Tx, *, shard: Shard, run_id: UUID) -> RunPart | None:
    """The share of a run in one shard."""
    row = await tx.fetch_one(_SQL["load_part"], shard=shard, run_id=run_id)
    return RunPart(row["cursor"], row["cursor_id"], row["planned"], row["finished"]) if row else None


async def read_audience(tx: Tx, *, shard: Shard, run_id: UUID, after: int, limit: int) -> list[ListedRecipient]:
    """The next people in one shard."""
    rows = await tx.fetch(_SQL["read_audience"], shard=shard, run_id=run_id, after=after, limit=limit)
    return [ListedRecipient(row["ordinal"], row["recipient"], post=row["post"]) for row in rows]


@_SQL.statement
async def read_failed_items(
    tx: Tx,
    *,
    shard: Shard,
    run_id: UUID,
    after: UUID | None,
    error: str | None,
    ids: Sequence[UUID] | None,
    limit: int,
) -> list[FailedItem]:
    """The next failed items in one shard, in the order of their ids."""


async def find_retried(tx: Tx, *, shard: Shard, workspace: Workspace, keys: Sequence[bytes]) -> list[bytes]:
    """Those of the retry keys that are taken."""
    places = [key[:PLACE_BYTES] for key in keys]
    whose = {"tenant": workspace.tenant, "workspace": workspace.name}
    rows = await tx.fetch(_SQL["find_retried"], shard=shard, places=places, keys=keys, **whose)
    return [row["idempotency_key"] for row in rows]


async def lock_part(tx: Tx, *, shard: Shard, run_id: UUID, cursor: int, cursor_id: UUID | None) -> bool:
    """Lock a share whose cursor is still where it was read; False when another process has moved it."""
    row = await tx.fetch_one(_SQL["lock_part"], shard=shard, run_id=run_id, cursor=cursor, cursor_id=cursor_id)
    return row is not None


async def hold_part(tx: Tx, *, shard: Shard, run_id: UUID) -> None:
    """Lock a share, so that no other process writes jobs of it until this transaction ends."""
    await tx.fetch(_SQL["hold_part"], shard=shard, run_id=run_id)


async def advance_part(
    tx: Tx,
    *,
    shard: Shard,
    run_id: UUID,
    next_cursor: int,
    next_cursor_id: UUID | None,
    added: int,
    finished: bool,
    paced_until: datetime | None,
) -> None:
    """Move the cursor of a locked share."""
    await tx.fetch(
        _SQL["advance_part"],
        shard=shard,
        run_id=run_id,
        next_cursor=next_cursor,
        next_cursor_id=next_cursor_id,
        added=added,
        finished=finished,
        paced_until=paced_until,
    )


async def insert_jobs(
    tx: Tx,
    *,
    shard: Shard,
    run_id: UUID,
    tenant: str,
    workspace: str,
    job_type: str,
    jobs: Sequence[NewJob],
    stop: Stop | None,
    entries: Sequence[UUID],
    now: datetime,
) -> None:
    """Write jobs, each with the first entry of its history."""
    await tx.fetch(
        _SQL["insert_jobs"],
        shard=shard,
        run_id=run_id,
        tenant=tenant,
        workspace=workspace,
        job_type=job_type,
        ids=[job.id for job in jobs],
        planned=[job.planned for job in jobs],
        skipped=[job.skipped for job in jobs],
        now=now,
    )
    await insert_job_history(
        tx,
        shard=shard,
        ids=[job.id for job in jobs],
        entries=entries,
        events=[JobStatus.QUEUED] * len(jobs),
        details=[{"planned": job.planned, "stop": stop} for job in jobs],
        actor=BY_ENGINE,
        now=now,
    )


async def insert_job_items(
    tx: Tx,
    *,
    shard: Shard,
    run_id: UUID,
    tenant: str,
    workspace: str,
    channel: str,
    provider: str,
    items: Sequence[NewItem],
    now: datetime,
) -> set[UUID]:
    """Write items; return those whose key was free."""
    rows = await tx.fetch(
        _SQL["insert_job_items"],
        shard=shard,
        run_id=run_id,
        tenant=tenant,
        workspace=workspace,
        channel=channel,
        provider=provider,
        ids=[item.id for item in items],
        job_ids=[item.job_id for item in items],
        ordinals=[item.ordinal for item in items],
        recipients=[item.recipient for item in items],
        contact_ids=[item.contact_id for item in items],
        errors=[item.error for item in items],
        keys=[item.key for item in items],
        retry_at=[item.retry_at for item in items],
        now=now,
    )
    return {row["id"] for row in rows}


@dataclass(frozen=True, slots=True)
class ContactItems:
    """A chunk of contacts to turn into items: the contacts, their times, and what all of them share."""

    run_id: UUID
    tenant: str
    workspace: str
    channel: Channel
    provider: str
    key_place: bytes
    key_head: bytes
    key_tail: bytes
    no_address: str
    ids: Sequence[UUID]
    due_at: Sequence[datetime | None]
    begins_at: datetime | None  # None where contacts have times of their own, or none has one
    place_seconds: float
    first_place_seconds: float
    before: int
    job_size: int


async def insert_contact_items(
    tx: Tx, *, shard: Shard, items: ContactItems, first_item: UUID, job_ids: Sequence[UUID], now: datetime
) -> list[NewJob]:
    """Write the items of contacts; return the jobs they make, which take as many of the ids as are needed."""
    given = {each.name: getattr(items, each.name) for each in fields(items)}
    id_head, item_tail = counted_from(first_item)
    await tx.fetch(
        _SQL["insert_contact_items"],
        shard=shard,
        second=SECOND,
        id_head=id_head,
        item_tail=item_tail,
        job_ids=job_ids,
        address_fields=address_fields(items.channel),
        now=now,
        **given,
    )
    return await sum_items(tx, shard=shard, run_id=items.run_id, job_ids=job_ids, now=now)


async def sum_items(tx: Tx, *, shard: Shard, run_id: UUID, job_ids: Sequence[UUID], now: datetime) -> list[NewJob]:
    """The jobs that new items make, each due with its first item."""
    rows = await tx.fetch(_SQL["sum_items"], shard=shard, run_id=run_id, job_ids=job_ids)
    return [NewJob(row["job_id"], row["planned"], row["skipped"], row["due_at"] or now) for row in rows]


async def copy_audience(tx: Tx, *, shard: Shard, run_id: UUID, people: Sequence[ListedRecipient]) -> None:
    """Copy the data of people to another run."""
    await tx.fetch(
        _SQL["copy_audience"],
        shard=shard,
        run_id=run_id,
        ordinals=[person.ordinal for person in people],
        recipients=[person.recipient for person in people],
        data=[person.data or {} for person in people],
        contact_ids=[person.contact_id for person in people],
    )


async def read_people(tx: Tx, *, shard: Shard, run_id: UUID, ordinals: Sequence[int]) -> list[ListedRecipient]:
    """Some people of a plain list, with their data."""
    rows = await tx.fetch(_SQL["read_people"], shard=shard, run_id=run_id, ordinals=ordinals)
    return [ListedRecipient(row["ordinal"], row["recipient"], row["data"], row["contact_id"]) for row in rows]


async def enqueue_jobs(tx: Tx, *, shard: Shard, jobs: Sequence[NewJob], lane: Lane, stop: Stop | None) -> None:
    """Make new jobs due."""
    await tx.fetch(
        _SQL["enqueue_jobs"],
        shard=shard,
        ids=[job.id for job in jobs],
        due_at=[job.due_at for job in jobs],
        lane=lane,
        stop=stop,
    )


async def sum_jobs(tx: Tx, *, shard: Shard, run_id: UUID) -> Mapping[JobStatus, JobCounts]:
    """One shard's jobs of a run, added up by status."""
    rows = await tx.fetch(_SQL["sum_jobs"], shard=shard, run_id=run_id)
    return {
        JobStatus(row["status"]): JobCounts(
            row["planned"], row["sent"], row["called"], row["posted"], row["failed"], row["skipped"]
        )
        for row in rows
    }


async def lock_pace(tx: Tx, *, shard: Shard, run_id: UUID) -> datetime | None:
    """Lock the rate of a run in one shard; return up to when its places are taken."""
    row = await tx.fetch_one(_SQL["lock_pace"], shard=shard, run_id=run_id)
    return row["paced_until"] if row else None


async def take_pace(tx: Tx, *, shard: Shard, run_id: UUID, until: datetime) -> None:
    """Move the locked rate up to a moment: all places before it are taken."""
    await tx.fetch(_SQL["take_pace"], shard=shard, run_id=run_id, until=until)


async def pace_items(
    tx: Tx,
    *,
    shard: Shard,
    ids: Sequence[UUID],
    owners: Sequence[UUID],
    fences: Sequence[Fence],
    retry_at: Sequence[datetime],
) -> set[UUID]:
    """Set another time for items; return those that took it."""
    rows = await tx.fetch(_SQL["pace_items"], shard=shard, ids=ids, owners=owners, fences=fences, retry_at=retry_at)
    return {row["id"] for row in rows}
