"""Workflows as people list, show and change them. Reached from resources/workflows.py."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from msgspec import Struct

from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import Shard, Workspace, first_id_at, made_at
from tidings.domain.flow.item import Channel
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.workflows import Workflow, WorkflowVersion

_SQL = load("workflows")
CLOCKS_DIFFER = timedelta(days=1)
"""By far more than the clocks of two servers, of which one made a workflow and one executions of it."""


class StoredWorkflow(Workflow, frozen=True, kw_only=True):
    """A workflow with its newest version, and what its nodes send over: each channel needs a provider."""

    channels: Sequence[Channel]


class LiveOfVersion(Struct, frozen=True, kw_only=True):
    """How many executions of one version go on."""

    number: int
    count: int


@_SQL.statement
async def count_live_by_version(
    tx: Tx, *, shard: Shard, workspace: Workspace, workspace_hash: int, workflow_id: UUID
) -> list[LiveOfVersion]:
    """How many of a workflow's executions go on in one shard, by version."""


@_SQL.statement
async def show_workflow(
    tx: Tx, *, workspace: Workspace, id: UUID | None = None, name: str | None = None
) -> StoredWorkflow | None:
    """A workflow by id or by name, if there is one."""


@_SQL.statement
async def list_workflows(
    tx: Tx, *, workspace: Workspace, name: str | None, active: bool | None, span: Span, limit: int
) -> list[StoredWorkflow]:
    """Workflows, newest first."""


@_SQL.statement
async def list_versions(tx: Tx, *, workspace: Workspace, workflow_id: UUID) -> list[WorkflowVersion]:
    """The versions of a workflow, newest first."""


@_SQL.statement
async def activate_workflow(tx: Tx, *, workspace: Workspace, id: UUID, active: bool, now: datetime) -> UUID | None:
    """Switch a workflow on or off; None when it is so already, or does not exist."""


async def has_executions(tx: Tx, *, shard: Shard, workspace: Workspace, workflow_id: UUID) -> bool:
    """Whether one shard holds an execution of a workflow."""
    since = first_id_at(made_at(workflow_id) - CLOCKS_DIFFER)
    own = {"tenant": workspace.tenant, "workspace": workspace.name, "workflow_id": workflow_id}
    row = await tx.fetch_one(_SQL["has_executions"], shard=shard, since=since, **own)
    return row is not None and bool(row["found"])


@_SQL.statement
async def delete_workflow(
    tx: Tx, *, workspace: Workspace, id: UUID, has_executions: bool, now: datetime
) -> UUID | None:
    """Hide a workflow and free its name; None when it does not exist, or is active with executions."""


async def rename_workflow(tx: Tx, *, id: UUID, name: str, now: datetime) -> None:
    """Rename a workflow, or raise Conflict when the name is taken."""
    try:
        await tx.fetch(_SQL["rename_workflow"], id=id, name=name, now=now)
    except asyncpg.UniqueViolationError as error:
        raise Conflict(f"there is a workflow {name!r} already; choose another name") from error


@_SQL.statement
async def describe_workflow(tx: Tx, *, id: UUID, description: str, now: datetime) -> UUID | None:
    """Set a workflow's description; None when it is the same already."""
