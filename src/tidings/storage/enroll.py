"""Write what enrolling does, and what is asked of many enrollments at once. Reached from kernel/start/enroll.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.people.audience_filter import EVERYONE, AudienceFilter
from tidings.storage.contact_parts import everything_after, for_condition, for_filter
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("enroll")
Json = Mapping[str, object]


class FoundEnrollment(msgspec.Struct, frozen=True, kw_only=True):
    """An enrollment of a contact in a sequence, and whether it goes on."""

    contact_id: UUID
    id: UUID
    idempotency_key: str
    is_live: bool
    was_cancelled: bool
    """Ended before its last step, by a person or by a step that failed."""

    @property
    def number(self) -> int:
        """Which of the contact's enrollments in the sequence it is, from 1 on."""
        return int(self.idempotency_key.rpartition(":")[2])


class Choice(msgspec.Struct, frozen=True):
    """Which enrollments of a sequence; every filter that is set must match."""

    contact_ids: Sequence[UUID] | None = None
    paused: bool | None = None
    cursors: Sequence[str] | None = None
    contacts: AudienceFilter = EVERYONE


class EnrolledChunk(msgspec.Struct, frozen=True):
    """How many contacts were looked at, the last of them, and how many are newly enrolled."""

    picked: int
    last: UUID | None
    enrolled: int


async def find_next_contacts(
    tx: Tx, *, shard: Shard, workspace: Workspace, wanted: AudienceFilter, now: datetime, after: UUID, limit: int
) -> list[UUID]:
    """The next contacts of a filter."""
    statement, values = for_filter(_SQL["find_next_contacts"], wanted, workspace, everything_after(after), now)
    return [row["id"] for row in await tx.fetch(statement, shard=shard, limit=limit, **values)]


@_SQL.statement
async def enroll_contacts(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    contact_ids: Sequence[UUID],
    workflow_id: UUID,
    key_scope: bytes,
    version_id: UUID,
    milliseconds: int,
    salt: str,
    by_zone: bool,
    zones: Sequence[str | None],
    frontiers: Sequence[Json],
    cursor: str,
    triggered_by: str,
    now: datetime,
) -> set[UUID]:
    """Insert the first enrollments of contacts; return their ids.

    The first of `zones` and `frontiers` is for those without a zone.
    """


@_SQL.statement
async def insert_enrollments(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    workflow_id: UUID,
    key_scope: bytes,
    version_id: UUID,
    frontiers: Sequence[Json],
    cursor: str,
    triggered_by: str,
    ids: Sequence[UUID],
    contact_ids: Sequence[UUID],
    numbers: Sequence[str],
    plans: Sequence[int],
    now: datetime,
) -> set[UUID]:
    """Insert the enrollments whose key is free; return their ids. `plans` numbers the frontier of each, from 1 on."""


@_SQL.statement
async def enqueue_enrollments(
    tx: Tx,
    *,
    shard: Shard,
    lane: Lane,
    due_at: datetime | None,
    workspace_hash: int,
    ids: Sequence[UUID],
) -> None:
    """Make new enrollments of one workspace due; without a moment, each when its frontier says."""


@_SQL.statement
async def find_enrollments(
    tx: Tx, *, shard: Shard, workflow_id: UUID, contact_ids: Sequence[UUID]
) -> list[FoundEnrollment]:
    """Every enrollment that these contacts have had in a sequence."""


@_SQL.statement
async def paused_versions(tx: Tx, *, ids: Sequence[UUID]) -> set[UUID]:
    """Those of these versions whose sequence is paused."""


@_SQL.statement
async def find_parked_enrollments(
    tx: Tx, *, shard: Shard, workflow_id: UUID, after: UUID, limit: int
) -> dict[UUID, bool]:
    """The next enrollments of a sequence, in order, and whether each waits beyond its planned time."""


async def wake_enrollments(tx: Tx, *, shard: Shard, ids: Sequence[UUID], now: datetime) -> int:
    """Make these enrollments due; return how many are live."""
    return len(await tx.fetch(_SQL["wake_enrollments"], shard=shard, ids=ids, now=now))


async def choose_enrollments(
    tx: Tx, *, shard: Shard, workflow_id: UUID, choice: Choice, now: datetime, after: UUID, limit: int
) -> dict[UUID, bool]:
    """The next enrollments of a sequence, in order, and whether each is chosen, whichever contact it is of."""
    statement, values = for_condition(_SQL["choose_enrollments"], choice.contacts, now)
    rows = await tx.fetch(
        statement,
        shard=shard,
        workflow_id=workflow_id,
        paused=choice.paused,
        cursors=choice.cursors,
        after=after,
        limit=limit,
        **values,
    )
    return {row["id"]: row["meant"] for row in rows}


async def choose_enrollments_of_contacts(
    tx: Tx, *, shard: Shard, workflow_id: UUID, choice: Choice, now: datetime, contact_ids: Sequence[UUID]
) -> dict[UUID, bool]:
    """The enrollments of these contacts in a sequence, and whether each is chosen."""
    statement, values = for_condition(_SQL["choose_enrollments_of_contacts"], choice.contacts, now)
    rows = await tx.fetch(
        statement,
        shard=shard,
        workflow_id=workflow_id,
        contact_ids=contact_ids,
        paused=choice.paused,
        cursors=choice.cursors,
        **values,
    )
    return {row["id"]: row["meant"] for row in rows}


@_SQL.statement
async def stop_enrollments(tx: Tx, *, shard: Shard, ids: Sequence[UUID], stop: Stop | None, now: datetime) -> set[UUID]:
    """Ask enrollments to pause, stop or go on; return those for which that is new."""
