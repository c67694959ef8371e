"""Items as people list and show them. Reached from resources/outbox.py and resources/runs.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.flow.readiness import is_printing
from tidings.domain.paging import Span
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load
from tidings.views.contacts import ContactName

_SQL = load("items")


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An intended provider action as a person sees it."""

    id: UUID
    status: ItemStatus
    in_doubt: bool
    channel: Channel
    provider: str
    recipient: str
    contact_id: UUID | None
    execution_id: UUID | None
    node: str | None
    run_id: UUID | None
    job_id: UUID | None
    event_id: UUID | None
    attempts: int
    retry_at: datetime | None
    first_called_at: datetime | None
    provider_message_id: str | None
    error: str | None
    idempotency_key: str
    created_at: datetime
    finalized_at: datetime | None
    payload: Mapping[str, str] | None = None
    contact: ContactName | None = None
    workflow_name: str | None = None
    campaign_name: str | None = None
    trigger: str | None = None

    @property
    def printed(self) -> bool:
        """Whether it was only printed, or would be."""
        return is_printing(self.provider)


async def show_outbox_item(tx: Tx, *, shard: Shard, tenant: str, workspace: str, id: UUID) -> ShownItem | None:
    """One item with its payload, if there is one."""
    row = await tx.fetch_one(_SQL["show_outbox_item"], shard=shard, tenant=tenant, workspace=workspace, id=id)
    return shown_item(row, row["payload"]) if row else None


async def list_outbox(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    status: str | None,
    channel: str | None,
    in_doubt: bool | None,
    span: Span,
    limit: int,
) -> list[ShownItem]:
    """Items, newest first."""
    rows = await tx.fetch(
        _SQL["list_outbox"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        status=status,
        channel=channel,
        in_doubt=in_doubt,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [shown_item(row) for row in rows]


async def list_outbox_in_doubt(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    channel: str | None,
    run_id: UUID | None,
    execution_id: UUID | None,
    event_id: UUID | None,
    span: Span,
    limit: int,
) -> list[ShownItem]:
    """Items in doubt, newest first."""
    rows = await tx.fetch(
        _SQL["list_outbox_in_doubt"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        channel=channel,
        run_id=run_id,
        execution_id=execution_id,
        event_id=event_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [shown_item(row) for row in rows]


async def list_outbox_of_owner(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    status: str | None,
    channel: str | None,
    in_doubt: bool | None,
    run_id: UUID | None,
    execution_id: UUID | None,
    event_id: UUID | None,
    span: Span,
    limit: int,
) -> list[ShownItem]:
    """Items of one run, execution or event, newest first."""
    rows = await tx.fetch(
        _SQL["list_outbox_of_owner"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        status=status,
        channel=channel,
        in_doubt=in_doubt,
        run_id=run_id,
        execution_id=execution_id,
        event_id=event_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [shown_item(row) for row in rows]


async def list_outbox_of_contact(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    contact_id: UUID,
    status: str | None,
    channel: str | None,
    in_doubt: bool | None,
    run_id: UUID | None,
    execution_id: UUID | None,
    event_id: UUID | None,
    span: Span,
    limit: int,
) -> list[ShownItem]:
    """Items meant for one contact, newest first."""
    rows = await tx.fetch(
        _SQL["list_outbox_of_contact"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        contact_id=contact_id,
        status=status,
        channel=channel,
        in_doubt=in_doubt,
        run_id=run_id,
        execution_id=execution_id,
        event_id=event_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [shown_item(row) for row in rows]


def shown_item(row: Row, payload: Mapping[str, str] | None = None) -> ShownItem:
    """An item of its row."""
    return ShownItem(
        id=row["id"],
        status=ItemStatus(row["status"]),
        in_doubt=row["in_doubt"],
        channel=Channel(row["channel"]),
        provider=row["provider"],
        recipient=row["recipient"],
        contact_id=row["contact_id"],
        execution_id=row["execution_id"],
        node=row["node"],
        run_id=row["run_id"],
        job_id=row["job_id"],
        event_id=row["event_id"],
        attempts=row["attempts"],
        retry_at=row["retry_at"],
        first_called_at=row["first_marked_at"],
        provider_message_id=row["provider_message_id"],
        error=row["error"],
        idempotency_key=row["idempotency_key"].hex(),
        created_at=row["created_at"],
        finalized_at=row["finalized_at"],
        payload=payload,
    )
