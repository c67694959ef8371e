"""Items as people list and show them. Reached from resources/outbox.py. Never writes."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.outbox import Item, ItemDetail

_SQL = load("items")


class Mark(Struct, frozen=True, kw_only=True):
    """The last mark of an item: null once its call has been answered, and how many there ever were."""

    marked_at: datetime | None
    calls: int


@_SQL.statement
async def show_outbox_item(tx: Tx, *, shard: Shard, workspace: Workspace, id: UUID) -> ItemDetail | None:
    """One item with its payload, if there is one."""


@_SQL.statement
async def show_mark(tx: Tx, *, shard: Shard, workspace: Workspace, id: UUID) -> Mark | None:
    """The last mark of one item, if there is one."""


@_SQL.statement
async def list_outbox(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    status: str | None,
    channel: str | None,
    in_doubt: bool | None,
    span: Span,
    limit: int,
) -> list[Item]:
    """One shard's items, newest first."""


@_SQL.statement
async def list_outbox_in_doubt(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    channel: str | None,
    run_id: UUID | None,
    execution_id: UUID | None,
    event_id: UUID | None,
    span: Span,
    limit: int,
) -> list[Item]:
    """One shard's items in doubt, newest first."""


@_SQL.statement
async def list_outbox_of_owner(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    status: str | None,
    channel: str | None,
    in_doubt: bool | None,
    run_id: UUID | None,
    execution_id: UUID | None,
    event_id: UUID | None,
    span: Span,
    limit: int,
) -> list[Item]:
    """One shard's items of a run, an execution or an event, newest first."""


@_SQL.statement
async def list_outbox_of_run(
    tx: Tx, *, shard: Shard, workspace: Workspace, run_id: UUID, span: Span, limit: int
) -> list[Item]:
    """One shard's items of a run, newest first."""


@_SQL.statement
async def list_outbox_of_run_by_status(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    run_id: UUID,
    status: str,
    channel: str | None,
    in_doubt: bool | None,
    span: Span,
    limit: int,
) -> list[Item]:
    """One shard's items of a run with a status, newest first."""


@_SQL.statement
async def list_outbox_of_contact(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    contact_id: UUID,
    status: str | None,
    channel: str | None,
    in_doubt: bool | None,
    run_id: UUID | None,
    execution_id: UUID | None,
    event_id: UUID | None,
    span: Span,
    limit: int,
) -> list[Item]:
    """One shard's items meant for a contact, newest first."""
