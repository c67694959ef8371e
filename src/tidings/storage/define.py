"""Workflows and their frozen versions. Reached from kernel/define.py and kernel/start.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.storage.database import Tx
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
    name: str,
    now: datetime,
) -> None:
    """Make a workflow unless its name is taken."""
    await tx.fetch(_SQL["insert_workflow"], id=id, tenant=tenant, workspace=workspace, name=name, now=now)


async def lock_workflow(tx: Tx, *, tenant: str, workspace: str, name: str) -> UUID | None:
    """Hold a workflow against other writers until the transaction ends."""
    row = await tx.fetch_one(_SQL["lock_workflow"], tenant=tenant, workspace=workspace, name=name)
    return row["id"] if row else None


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
    now: datetime,
) -> None:
    """Freeze a definition."""
    await tx.fetch(
        _SQL["insert_version"], id=id, workflow_id=workflow_id, number=number, definition=definition, now=now
    )


async def touch_workflow(tx: Tx, *, workflow_id: UUID, now: datetime) -> None:
    """Note that a workflow changed."""
    await tx.fetch(_SQL["touch_workflow"], workflow_id=workflow_id, now=now)


async def find_workflow(tx: Tx, *, tenant: str, workspace: str, name: str) -> FoundWorkflow | None:
    """A workflow by name, if there is one."""
    row = await tx.fetch_one(_SQL["find_workflow"], tenant=tenant, workspace=workspace, name=name)
    if row is None:
        return None
    return FoundWorkflow(row["id"], row["active"], Version(row["version_id"], row["number"], row["definition"]))
