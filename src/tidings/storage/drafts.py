"""The drafts of workflows. Reached from resources/drafts.py and kernel/start/publish.py."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.drafts import ListedDraft

_SQL = load("drafts")
Json = Mapping[str, object]


class StoredDraft(ListedDraft, frozen=True, kw_only=True):
    """A draft as it was saved, checked or not."""

    definition: Json


@_SQL.statement
async def show_draft(
    tx: Tx, *, workspace: Workspace, id: UUID | None = None, name: str | None = None
) -> StoredDraft | None:
    """The draft of a workflow, if it has one."""


@_SQL.statement
async def list_drafts(tx: Tx, *, workspace: Workspace, span: Span, limit: int) -> list[ListedDraft]:
    """The drafts of a workspace, newest workflow first."""


@_SQL.statement
async def put_draft(
    tx: Tx,
    *,
    workspace: Workspace,
    workflow_id: UUID,
    definition: Json,
    base: int,
    saved_by: str,
    now: datetime,
) -> None:
    """Save the draft of a workflow that is locked."""


@_SQL.statement
async def remove_draft(tx: Tx, *, workspace: Workspace, id: UUID, revision: int | None = None) -> UUID | None:
    """Remove a draft; None when there is none, or it was saved again."""


@_SQL.statement
async def remove_unpublished(tx: Tx, *, workspace: Workspace, id: UUID) -> UUID | None:
    """Remove a workflow that was never published; None when it was."""
