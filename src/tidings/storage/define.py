"""Workflows and their frozen versions. Reached from kernel/start/define.py and kernel/start/trigger.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.flow.queue import Lane
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("define")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Version:
    """A frozen definition and its number."""

    id: UUID
    number: int
    definition: Json


@dataclass(frozen=True, slots=True)
class LockedWorkflow:
    """A workflow that nobody else can change just now."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class FoundWorkflow:
    """A workflow with its newest version."""

    id: UUID
    active: bool
    version: Version


async def insert_workflow(
    tx: Tx,
    *,
    id: UUID,
    tenant: str,
    workspace: str,
    kind: str,
    name: str,
    description: str | None,
    active: bool,
    created_by: str,
    now: datetime,
) -> None:
    """Make a workflow unless its name is taken."""
    await tx.fetch(
        _SQL["insert_workflow"],
        id=id,
        tenant=tenant,
        workspace=workspace,
        kind=kind,
        name=name,
        description=description,
        active=active,
        created_by=created_by,
        now=now,
    )


async def lock_workflow(
    tx: Tx, *, tenant: str, workspace: str, kind: str, id: UUID | None = None, name: str | None = None
) -> LockedWorkflow | None:
    """Hold a workflow, named by its id or its name, against other writers until the transaction ends."""
    row = await tx.fetch_one(_SQL["lock_workflow"], tenant=tenant, workspace=workspace, kind=kind, id=id, name=name)
    return LockedWorkflow(row["id"], row["name"]) if row else None


async def latest_version(tx: Tx, *, workflow_id: UUID) -> Version | None:
    """The newest version, if there is any."""
    row = await tx.fetch_one(_SQL["latest_version"], workflow_id=workflow_id)
    return Version(row["id"], row["number"], row["definition"]) if row else None


async def insert_version(
    tx: Tx,
    *,
    id: UUID,
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
    await tx.fetch(
        _SQL["insert_version"],
        id=id,
        workflow_id=workflow_id,
        number=number,
        definition=definition,
        form=form,
        required=required,
        entry=entry,
        entry_wait=entry_wait,
        total_steps=total_steps,
        lane=lane,
        channels=channels,
        now=now,
    )


async def touch_workflow(tx: Tx, *, workflow_id: UUID, now: datetime) -> None:
    """Note that a workflow changed."""
    await tx.fetch(_SQL["touch_workflow"], workflow_id=workflow_id, now=now)


async def find_workflow(tx: Tx, *, tenant: str, workspace: str, name: str) -> FoundWorkflow | None:
    """A workflow by name, if there is one."""
    row = await tx.fetch_one(_SQL["find_workflow"], tenant=tenant, workspace=workspace, name=name)
    return _found(row) if row else None


async def find_workflow_by_id(tx: Tx, *, tenant: str, workspace: str, id: UUID) -> FoundWorkflow | None:
    """A workflow by id, if there is one."""
    row = await tx.fetch_one(_SQL["find_workflow_by_id"], tenant=tenant, workspace=workspace, id=id)
    return _found(row) if row else None


def _found(row: Row) -> FoundWorkflow:
    return FoundWorkflow(row["id"], row["active"], Version(row["version_id"], row["number"], row["definition"]))
