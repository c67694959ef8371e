"""Sequences: their drafts, their live enrollments, and moving these to another version.

Reached from resources/ and kernel/manage/change_version.py.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict

from tidings.domain.flow.execution import Frontier
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span
from tidings.domain.sequences.change_version import Moved
from tidings.domain.sequences.form import SequenceStep
from tidings.storage.database import Tx
from tidings.storage.define import Version
from tidings.storage.load import frontier_from_json, frontier_to_json
from tidings.storage.statements import load
from tidings.views.sequences import SequenceSettings

_SQL = load("sequences")
Json = Mapping[str, object]


class LockedSequence(Struct, frozen=True, kw_only=True):
    """A sequence whose draft is locked against changes by others."""

    id: UUID
    name: str
    paused: bool
    settings: SequenceSettings


class FoundSequence(Struct, frozen=True, kw_only=True):
    """A sequence with the settings of its draft and the version that is published, if any is."""

    id: UUID
    name: str
    paused: bool
    settings: SequenceSettings
    version_id: UUID | None
    version: int | None
    definition: Json | None
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime


class InFlightCount(Struct, frozen=True, kw_only=True):
    """How many live enrollments of one version come to one node next."""

    version_id: UUID
    cursor: str | None
    count: int


class EnrollmentState(Struct, frozen=True, kw_only=True):
    """How many enrollments of one version are at one node, in one status."""

    version_id: UUID
    cursor: str | None
    error_node: str | None
    status: str
    count: int


class StepItems(Struct, frozen=True, kw_only=True):
    """How many messages of one step are in one status."""

    node: str
    status: str
    in_doubt: bool
    count: int


class EnrollmentBehind(Struct, frozen=True, kw_only=True):
    """A live enrollment on another version than the one it is to be moved to."""

    id: UUID
    version_id: UUID
    frontier: Frontier
    vars: Json
    begun_at: datetime
    leased: bool
    time_zone: str | None


@_SQL.statement
async def insert_sequence(tx: Tx, *, workspace: Workspace, id: UUID, settings: Json) -> None:
    """Make the draft of a new sequence."""


@_SQL.statement
async def lock_sequence(tx: Tx, *, workspace: Workspace, id: UUID) -> LockedSequence | None:
    """Hold a sequence against other writers until the transaction ends."""


@_SQL.statement
async def find_sequences(tx: Tx, *, workspace: Workspace, ids: Sequence[UUID]) -> list[FoundSequence]:
    """Sequences by id, newest first."""


@_SQL.statement
async def find_sequence_named(tx: Tx, *, workspace: Workspace, name: str) -> UUID | None:
    """The id of the sequence of a name."""


@_SQL.statement
async def list_sequences(
    tx: Tx, *, workspace: Workspace, name: str | None, status: str | None, span: Span, limit: int
) -> list[UUID]:
    """The ids of sequences, newest first."""


@_SQL.statement
async def list_steps(tx: Tx, *, ids: Sequence[UUID]) -> Mapping[UUID, list[SequenceStep]]:
    """The steps of drafts, in their order, by sequence; one without any is not in the answer."""


async def put_step(tx: Tx, *, workspace: Workspace, sequence_id: UUID, step: SequenceStep, now: datetime) -> None:
    """Write one step of a draft, new or changed."""
    whose = {"tenant": workspace.tenant, "workspace": workspace.name}
    await tx.fetch(_SQL["put_step"], sequence_id=sequence_id, now=now, **whose, **asdict(step))


@_SQL.statement
async def remove_step(tx: Tx, *, sequence_id: UUID, id: UUID) -> UUID | None:
    """Take a step out of a draft; None when it does not exist."""


@_SQL.statement
async def change_settings(tx: Tx, *, id: UUID, settings: Json) -> None:
    """Write the settings of a draft."""


@_SQL.statement
async def pause_sequence(tx: Tx, *, id: UUID, paused: bool, now: datetime) -> UUID | None:
    """Pause or resume a sequence; None when it is so already."""


@_SQL.statement
async def delete_sequence(tx: Tx, *, id: UUID, now: datetime) -> UUID | None:
    """Hide a sequence and free its name; None when it does not exist."""


@_SQL.statement
async def has_live_enrollment(tx: Tx, *, shard: Shard, workflow_id: UUID) -> bool:
    """Whether a sequence has a live enrollment in one shard."""


@_SQL.statement
async def count_in_flight(tx: Tx, *, shard: Shard, workflow_id: UUID) -> list[InFlightCount]:
    """Count one shard's live enrollments by version and by the node they come to next."""


@_SQL.statement
async def count_enrollment_states(
    tx: Tx, *, shard: Shard, workspace: Workspace, workflow_id: UUID, since: UUID
) -> list[EnrollmentState]:
    """Count one shard's enrollments of a sequence by version, by where they are and by status."""


@_SQL.statement
async def count_step_items(
    tx: Tx, *, shard: Shard, workspace: Workspace, nodes: Sequence[str], since: UUID
) -> list[StepItems]:
    """Count one shard's messages of some steps by status."""


@_SQL.statement
async def find_versions(tx: Tx, *, ids: Sequence[UUID]) -> list[Version]:
    """Versions by id."""


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
    return [EnrollmentBehind(**{**row, "frontier": frontier_from_json(row["frontier"])}) for row in rows]


@_SQL.statement
async def open_nodes(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, list[str]]:
    """The nodes of executions that have items which are not settled; one without any is not in the answer."""


async def move_enrollments(
    tx: Tx, *, shard: Shard, version_id: UUID, moves: Mapping[UUID, Moved], now: datetime
) -> None:
    """Put enrollments, whose queue rows are locked and not leased, on another version."""
    await tx.fetch(
        _SQL["move_enrollments"],
        shard=shard,
        version_id=version_id,
        ids=list(moves),
        frontiers=[frontier_to_json(one.frontier) for one in moves.values()],
        cursors=[one.cursor for one in moves.values()],
        due_at=[one.due_at for one in moves.values()],
        now=now,
    )
