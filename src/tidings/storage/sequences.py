"""Sequences: their drafts, who is in flight, and moving them.

Reached from resources/ and kernel/manage/change_version.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from tidings.domain.flow.execution import Frontier
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.paging import Span
from tidings.domain.sequences.change_version import Moved
from tidings.domain.sequences.form import Settings, Step, read_settings
from tidings.storage.database import Row, Tx
from tidings.storage.define import Version
from tidings.storage.load import frontier_from_json, frontier_to_json
from tidings.storage.statements import load

_SQL = load("sequences")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LockedSequence:
    """A sequence whose draft nobody else can change just now."""

    id: UUID
    name: str
    paused: bool
    settings: Settings


@dataclass(frozen=True, slots=True)
class FoundSequence:
    """A sequence with the settings of its draft and the version that is published, if any is."""

    id: UUID
    name: str
    paused: bool
    settings: Settings
    version: Version | None
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """How many live enrollments of one version stand at one node."""

    version_id: UUID
    cursor: str | None
    count: int


class EnrollmentBehind(msgspec.Struct, frozen=True):
    """A live enrollment on another version than the one it is to be moved to."""

    id: UUID
    version_id: UUID
    frontier: Frontier
    vars: Json
    begun_at: datetime
    leased: bool
    time_zone: str | None


async def insert_sequence(tx: Tx, *, id: UUID, settings: Settings) -> None:
    """Make the draft of a new sequence."""
    await tx.fetch(_SQL["insert_sequence"], id=id, settings=settings.to_json())


async def lock_sequence(tx: Tx, *, tenant: str, workspace: str, id: UUID) -> LockedSequence | None:
    """Hold a sequence against other writers until the transaction ends."""
    row = await tx.fetch_one(_SQL["lock_sequence"], tenant=tenant, workspace=workspace, id=id)
    return LockedSequence(row["id"], row["name"], row["paused"], read_settings(row["settings"])) if row else None


async def find_sequences(tx: Tx, *, tenant: str, workspace: str, ids: Sequence[UUID]) -> list[FoundSequence]:
    """Sequences by id, newest first."""
    rows = await tx.fetch(_SQL["find_sequences"], tenant=tenant, workspace=workspace, ids=ids)
    return [_found(row) for row in rows]


async def find_sequence_named(tx: Tx, *, tenant: str, workspace: str, name: str) -> UUID | None:
    """The id of the sequence of a name."""
    row = await tx.fetch_one(_SQL["find_sequence_named"], tenant=tenant, workspace=workspace, name=name)
    return row["id"] if row else None


@_SQL.statement
async def list_sequences(
    tx: Tx, *, workspace: Workspace, name: str | None, status: str | None, span: Span, limit: int
) -> list[UUID]:
    """The ids of sequences, newest first."""


async def list_steps(tx: Tx, *, ids: Sequence[UUID]) -> Mapping[UUID, list[Step]]:
    """The steps of drafts, in their order, by sequence."""
    steps: dict[UUID, list[Step]] = {id: [] for id in ids}
    for row in await tx.fetch(_SQL["list_steps"], ids=ids):
        steps[row["sequence_id"]].append(_step(row))
    return steps


async def put_step(tx: Tx, *, sequence_id: UUID, step: Step, now: datetime) -> None:
    """Write one step of a draft, new or changed."""
    await tx.fetch(
        _SQL["put_step"],
        sequence_id=sequence_id,
        id=UUID(step.id),
        day_offset=step.day_offset,
        step_order=step.order,
        send_hour=step.send_hour,
        channel=step.channel,
        subject=step.subject,
        content=step.content,
        max_lateness=step.max_lateness,
        now=now,
    )


async def remove_step(tx: Tx, *, sequence_id: UUID, id: UUID) -> bool:
    """Take a step out of a draft; False when it is not there."""
    return await tx.fetch_one(_SQL["remove_step"], sequence_id=sequence_id, id=id) is not None


async def change_settings(tx: Tx, *, id: UUID, settings: Settings) -> None:
    """Write the settings of a draft."""
    await tx.fetch(_SQL["change_settings"], id=id, settings=settings.to_json())


async def pause_sequence(tx: Tx, *, id: UUID, paused: bool, now: datetime) -> bool:
    """Stop or let go on; False when it is so already."""
    return await tx.fetch_one(_SQL["pause_sequence"], id=id, paused=paused, now=now) is not None


async def delete_sequence(tx: Tx, *, id: UUID, now: datetime) -> bool:
    """Hide a sequence and free its name; False when it is not there."""
    return await tx.fetch_one(_SQL["delete_sequence"], id=id, now=now) is not None


async def has_live_enrollment(tx: Tx, *, shard: Shard, workflow_id: UUID) -> bool:
    """Whether somebody in one shard is on the way."""
    return await tx.fetch_one(_SQL["has_live_enrollment"], shard=shard, workflow_id=workflow_id) is not None


async def count_in_flight(tx: Tx, *, shard: Shard, workflow_id: UUID) -> list[Standing]:
    """Where those of one shard stand who are on the way."""
    rows = await tx.fetch(_SQL["count_in_flight"], shard=shard, workflow_id=workflow_id)
    return [Standing(row["version_id"], row["cursor"], row["count"]) for row in rows]


async def find_versions(tx: Tx, *, ids: Sequence[UUID]) -> Mapping[UUID, Version]:
    """Versions by id."""
    rows = await tx.fetch(_SQL["find_versions"], ids=ids)
    return {row["id"]: Version(row["id"], row["number"], row["definition"]) for row in rows}


async def lock_enrollments_behind(
    tx: Tx, *, shard: Shard, workflow_id: UUID, version_id: UUID, after: UUID, limit: int
) -> list[EnrollmentBehind]:
    """Hold the next live enrollments that are on another version, in the order of their ids."""
    rows = await tx.fetch(
        _SQL["lock_enrollments_behind"],
        shard=shard,
        workflow_id=workflow_id,
        version_id=version_id,
        after=after,
        limit=limit,
    )
    return [
        EnrollmentBehind(
            row["id"],
            row["version_id"],
            frontier_from_json(row["frontier"]),
            row["vars"],
            row["created_at"],
            row["leased"],
            row["time_zone"],
        )
        for row in rows
    ]


async def open_nodes(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, set[str]]:
    """The nodes of executions that have items which are not settled."""
    found: dict[UUID, set[str]] = {id: set() for id in ids}
    for row in await tx.fetch(_SQL["open_nodes"], shard=shard, ids=ids):
        found[row["execution_id"]].add(row["node"])
    return found


async def move_enrollments(
    tx: Tx, *, shard: Shard, version_id: UUID, moves: Mapping[UUID, Moved], now: datetime
) -> set[UUID]:
    """Put enrollments, whose queue rows are held and not leased, on another version."""
    rows = await tx.fetch(
        _SQL["move_enrollments"],
        shard=shard,
        version_id=version_id,
        ids=list(moves),
        frontiers=[frontier_to_json(one.frontier) for one in moves.values()],
        cursors=[one.cursor for one in moves.values()],
        due_at=[one.due_at for one in moves.values()],
        now=now,
    )
    return {row["id"] for row in rows}


def _found(row: Row) -> FoundSequence:
    is_published = row["version_id"] is not None
    return FoundSequence(
        id=row["id"],
        name=row["name"],
        paused=row["paused"],
        settings=read_settings(row["settings"]),
        version=Version(row["version_id"], row["number"], row["definition"]) if is_published else None,
        published_at=row["published_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _step(row: Row) -> Step:
    return Step(
        id=str(row["id"]),
        day_offset=row["day_offset"],
        order=row["step_order"],
        send_hour=row["send_hour"],
        channel=Channel(row["channel"]),
        subject=row["subject"],
        content=row["content"],
        max_lateness=row["max_lateness"],
    )
