"""Workflows as people list, show and change them. Reached from resources/workflows.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Channel
from tidings.domain.paging import Span
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("workflows")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShownWorkflow:
    """A workflow with its newest version, as a person sees it."""

    id: UUID
    name: str
    description: str | None
    active: bool
    version: int
    form: str
    definition: Json
    channels: Sequence[Channel]
    """What its nodes send over; each needs a provider."""
    created_at: datetime
    updated_at: datetime
    not_ready: Sequence[Channel] = ()
    """Those of them that no provider is set up for: nothing can be triggered before there is one."""


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A frozen definition and its number."""

    id: UUID
    number: int
    definition: Json
    created_at: datetime


async def show_workflow(
    tx: Tx, *, tenant: str, workspace: str, id: UUID | None, name: str | None
) -> ShownWorkflow | None:
    """A workflow by id or by name, if there is one."""
    row = await tx.fetch_one(_SQL["show_workflow"], tenant=tenant, workspace=workspace, id=id, name=name)
    return _workflow(row) if row else None


async def list_workflows(
    tx: Tx,
    *,
    tenant: str,
    workspace: str,
    name: str | None,
    active: bool | None,
    span: Span,
    limit: int,
) -> list[ShownWorkflow]:
    """Workflows, newest first."""
    rows = await tx.fetch(
        _SQL["list_workflows"],
        tenant=tenant,
        workspace=workspace,
        name=name,
        active=active,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_workflow(row) for row in rows]


async def list_versions(tx: Tx, *, workflow_id: UUID) -> list[ShownVersion]:
    """The versions of a workflow, newest first."""
    rows = await tx.fetch(_SQL["list_versions"], workflow_id=workflow_id)
    return [ShownVersion(row["id"], row["number"], row["definition"], row["created_at"]) for row in rows]


async def activate_workflow(tx: Tx, *, tenant: str, workspace: str, id: UUID, active: bool, now: datetime) -> bool:
    """Switch a workflow on or off; False when it is so already, or not there."""
    row = await tx.fetch_one(
        _SQL["activate_workflow"], tenant=tenant, workspace=workspace, id=id, active=active, now=now
    )
    return row is not None


async def has_executions(tx: Tx, *, shard: Shard, tenant: str, workspace: str, workflow_id: UUID) -> bool:
    """Whether one shard holds an execution of a workflow."""
    row = await tx.fetch_one(
        _SQL["has_executions"], shard=shard, tenant=tenant, workspace=workspace, workflow_id=workflow_id
    )
    return row is not None


async def delete_workflow(
    tx: Tx, *, tenant: str, workspace: str, id: UUID, has_executions: bool, now: datetime
) -> bool:
    """Hide a workflow and free its name; False when it is not there, or active with executions."""
    row = await tx.fetch_one(
        _SQL["delete_workflow"], tenant=tenant, workspace=workspace, id=id, has_executions=has_executions, now=now
    )
    return row is not None


async def rename_workflow(tx: Tx, *, id: UUID, name: str, now: datetime) -> None:
    """Give a workflow another name, or raise Conflict when that is taken."""
    try:
        await tx.fetch(_SQL["rename_workflow"], id=id, name=name, now=now)
    except asyncpg.UniqueViolationError as error:
        raise Conflict(f"there is a workflow {name!r} already; choose another name") from error


async def describe_workflow(tx: Tx, *, id: UUID, description: str, now: datetime) -> bool:
    """Write what a workflow is for; False when that stands there already."""
    return await tx.fetch_one(_SQL["describe_workflow"], id=id, description=description, now=now) is not None


def _workflow(row: Row) -> ShownWorkflow:
    return ShownWorkflow(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        active=row["active"],
        version=row["number"],
        form=row["form"],
        definition=row["definition"],
        channels=[Channel(one) for one in row["channels"]],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
