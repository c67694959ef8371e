"""The outbox as people look into it: every intended provider action, and the end of doubt by a person's word."""

import asyncio
from dataclasses import dataclass
from functools import partial
from heapq import merge
from typing import Protocol, TypedDict
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, Span, check_limit, newest_first, page_of
from tidings.domain.people.contact import ContactReference
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.resolve import Resolution, resolve_item
from tidings.kernel.people.references import find_contact
from tidings.resources.names import name_items
from tidings.storage import items, observe
from tidings.storage.database import Tx
from tidings.storage.items import ShownItem
from tidings.storage.observe import AuditEntry
from tidings.views.executions import Attempt
from tidings.views.pages import Page

__all__ = ["ItemDetail", "Outbox", "OutboxFilter", "Resolution", "ShownItem"]


@dataclass(frozen=True, slots=True)
class OutboxFilter:
    """Which items; whatever is given must hold."""

    status: ItemStatus | None = None
    channel: Channel | None = None
    in_doubt: bool | None = None
    run_id: UUID | None = None
    execution_id: UUID | None = None
    event_id: UUID | None = None
    contact_id: ContactReference | None = None

    @property
    def owners(self) -> int:
        """How many owners are asked for."""
        return sum(one is not None for one in (self.run_id, self.execution_id, self.event_id))


@dataclass(frozen=True, slots=True)
class ItemDetail:
    """One item with what was sent, what went wrong with it, and what people did about it."""

    item: ShownItem
    failed_attempts: list[Attempt]
    history: list[AuditEntry]


class _Owner(TypedDict):
    run_id: UUID | None
    execution_id: UUID | None
    event_id: UUID | None


class _State(TypedDict):
    status: ItemStatus | None
    channel: Channel | None
    in_doubt: bool | None


class _ListInShard(Protocol):
    async def __call__(
        self, tx: Tx, *, shard: Shard, tenant: str, workspace: str, span: Span, limit: int
    ) -> list[ShownItem]: ...


class Outbox:
    """The items of every workspace; what is another's is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def list(
        self,
        workspace: Workspace,
        where: OutboxFilter | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownItem]:
        """Items, newest first: one query in each shard, merged by id."""
        check_limit(limit)
        where = where or OutboxFilter()
        if where.owners > 1:
            return Page([], None)  # an item belongs to one of them
        find = partial(
            await self._list_in_shard(workspace, where),
            tenant=workspace.tenant,
            workspace=workspace.name,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        shards = await asyncio.gather(
            *(self._kernel.db.persist(partial(find, shard=shard), alone=True) for shard in self._kernel.every_shard())
        )
        found = [*merge(*shards, key=lambda one: one.id, reverse=True)]
        page = page_of(found[: limit + 1], limit, lambda one: one.id)
        return Page(await name_items(self._kernel, workspace, page.items), page.next_cursor)

    async def of_contact(
        self,
        workspace: Workspace,
        contact_id: ContactReference,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownItem]:
        """Everything meant for a contact, newest first, whatever product sends it; for one that was deleted, too."""
        where = OutboxFilter(contact_id=contact_id)
        return await self.list(workspace, where, limit=limit, created=created, cursor=cursor)

    async def get(self, workspace: Workspace, id: UUID) -> ItemDetail:
        """One item, or NotFound."""
        shard = self._kernel.shard_of(id)
        async with self._kernel.db.transaction(snapshot=True) as tx:
            item = await items.show_outbox_item(
                tx, shard=shard, tenant=workspace.tenant, workspace=workspace.name, id=id
            )
            if item is None:
                raise NotFound(f"there is no item {id}")
            attempts = await observe.list_attempts(tx, shard=shard, item_id=id)
            history = await observe.list_audit(tx, shard=shard, subject_id=id)
        [named] = await name_items(self._kernel, workspace, [item])
        return ItemDetail(named, attempts, history)

    async def resolve(self, caller: Caller, id: UUID, outcome: Resolution, note: str) -> ItemDetail:
        """End the doubt about an item: it was sent, is to be sent again, or failed; the note says what shows it."""
        await resolve_item(self._kernel, caller, id, outcome, note)
        return await self.get(caller.workspace, id)

    async def _list_in_shard(self, workspace: Workspace, where: OutboxFilter) -> _ListInShard:
        """The statement whose index narrows most: that of the contact, of what is in doubt, or of the owner."""
        owner: _Owner = {"run_id": where.run_id, "execution_id": where.execution_id, "event_id": where.event_id}
        state: _State = {"status": where.status, "channel": where.channel, "in_doubt": where.in_doubt}
        if where.contact_id is not None:
            id = await find_contact(self._kernel, workspace, where.contact_id)
            return partial(items.list_outbox_of_contact, contact_id=id, **state, **owner)
        if where.in_doubt and where.status in {None, ItemStatus.QUEUED}:
            return partial(items.list_outbox_in_doubt, channel=where.channel, **owner)
        if where.owners == 0:
            return partial(items.list_outbox, **state)
        return partial(items.list_outbox_of_owner, **state, **owner)
