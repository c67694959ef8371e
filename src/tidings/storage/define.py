"""Workflows and their frozen versions. Reached from kernel/start/define.py and kernel/start/trigger.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.queue import Lane
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("define")
Json = Mapping[str, object]


class Version(Struct, frozen=True):
    """A frozen definition and its number."""

    id: UUID
    number: int
    definition: Json


class LockedWorkflow(Struct, frozen=True):
    """A workflow locked against changes by others."""

    id: UUID
    name: str


class FoundWorkflow(Struct, frozen=True):
    """A workflow with its newest version."""

    id: UUID
    name: str
    active: bool
    version: Version
    total_steps: int


@_SQL.statement
async def insert_workflow(
    tx: Tx,
    *,
    id: UUID,
    workspace: Workspace,
    kind: str,
    name: str,
    description: str | None,
    active: bool,
    created_by: str,
    now: datetime,
) -> None:
    """Make a workflow unless its name is taken."""


@_SQL.statement
async def lock_workflow(
    tx: Tx, *, workspace: Workspace, kind: str, id: UUID | None = None, name: str | None = None
) -> LockedWorkflow | None:
    """Hold a workflow, named by its id or its name, against other writers until the transaction ends."""


@_SQL.statement
async def latest_version(tx: Tx, *, workflow_id: UUID) -> Version | None:
    """The newest version, if there is any."""


@_SQL.statement
async def insert_version(
    tx: Tx,
    *,
    id: UUID,
    workspace: Workspace,
    workflow_id: UUID,
    number: int,
    definition: Json,
    form: str,
    required: Sequence[str],
    entry: str,
    entry_wait: timedelta | None,
    total_steps: int,
    lane: Lane,
    channels: Sequence[str],
    now: datetime,
) -> None:
    """Freeze a definition."""


@_SQL.statement
async def touch_workflow(tx: Tx, *, workflow_id: UUID, now: datetime) -> None:
    """Note that a workflow changed."""


async def find_workflow(tx: Tx, *, workspace: Workspace, name: str) -> FoundWorkflow | None:
    """A workflow by name, if there is one."""
    row = await tx.fetch_one(_SQL["find_workflow"], tenant=workspace.tenant, workspace=workspace.name, name=name)
    return _found(row) if row else None


async def find_workflow_by_id(tx: Tx, *, workspace: Workspace, id: UUID) -> FoundWorkflow | None:
    """A workflow by id, if there is one."""
    row = await tx.fetch_one(_SQL["find_workflow_by_id"], tenant=workspace.tenant, workspace=workspace.name, id=id)
    return _found(row) if row else None


def _found(row: Row) -> FoundWorkflow:
    version = Version(row["version_id"], row["number"], row["definition"])
    return FoundWorkflow(row["id"], row["name"], row["active"], version, row["total_steps"])
