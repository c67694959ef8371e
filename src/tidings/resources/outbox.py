"""The outbox: look at every intended provider action, and end doubt by a person's decision."""

from dataclasses import dataclass
from functools import partial
from typing import TypedDict
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first
from tidings.domain.people.contact import ContactReference
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.resolve import Resolution, resolve_item
from tidings.kernel.people.references import find_contact
from tidings.resources.names import name_items
from tidings.resources.pages import ListInShard, newest_in_all_shards
from tidings.storage import items, observe
from tidings.storage.acting import for_caller
from tidings.views.outbox import Item, ItemDetail
from tidings.views.pages import Page

__all__ = ["Outbox", "OutboxFilter", "Resolution"]


@dataclass(frozen=True, slots=True)
class OutboxFilter:
    """Which items; every condition that is given must hold."""

    status: ItemStatus | None = None
    channel: Channel | None = None
    in_doubt: bool | None = None
    run_id: UUID | None = None
    execution_id: UUID | None = None
    event_id: UUID | None = None
    contact_id: ContactReference | None = None

    @property
    def owners(self) -> int:
        """Return how many owners the filter names."""
        return sum(one is not None for one in (self.run_id, self.execution_id, self.event_id))


class _Owner(TypedDict):
    run_id: UUID | None
    execution_id: UUID | None
    event_id: UUID | None


class _State(TypedDict):
    status: ItemStatus | None
    channel: Channel | None
    in_doubt: bool | None


@for_caller
class Outbox:
    """The items of every workspace; an item of another workspace is not found."""

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
    ) -> Page[Item]:
        """Return items, newest first."""
        where = where or OutboxFilter()
        check_limit(limit)
        if where.owners > 1:
            return Page([], None)  # an item belongs to one of them
        find, span = await self._list_in_shard(workspace, where), newest_first(cursor, created)
        page = await newest_in_all_shards(self._kernel, workspace, find, span=span, limit=limit)
        return Page(await name_items(self._kernel, workspace, page.items), page.next_cursor)

    async def of_contact(
        self,
        workspace: Workspace,
        contact_id: ContactReference,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Item]:
        """Return everything meant for a contact, newest first, from every product; also for a deleted contact."""
        where = OutboxFilter(contact_id=contact_id)
        return await self.list(workspace, where, limit=limit, created=created, cursor=cursor)

    async def get(self, workspace: Workspace, id: UUID) -> ItemDetail:
        """Return one item, or raise NotFound."""
        shard = self._kernel.shard_of(id)
        async with self._kernel.db.transaction(snapshot=True) as tx:
            item = await items.show_outbox_item(tx, shard=shard, workspace=workspace, id=id)
            if item is None:
                raise NotFound(f"there is no item {id}")
            attempts = await observe.list_attempts(tx, shard=shard, item_id=id)
            history = await observe.list_audit(tx, shard=shard, subject_id=id)
        [named] = await name_items(self._kernel, workspace, [item])
        return replace(named, failed_attempts=attempts, history=history)

    async def resolve(self, caller: Caller, id: UUID, outcome: Resolution, note: str) -> ItemDetail:
        """End the doubt about an item: it was sent, is to be sent again, or failed; the note says what proves it."""
        await resolve_item(self._kernel, caller, id, outcome, note)
        return await self.get(caller.workspace, id)

    async def _list_in_shard(self, workspace: Workspace, where: OutboxFilter) -> ListInShard[Item]:
        """Choose the statement whose index narrows most: by contact, by doubt, by a run's jobs, or by owner."""
        owner: _Owner = {"run_id": where.run_id, "execution_id": where.execution_id, "event_id": where.event_id}
        state: _State = {"status": where.status, "channel": where.channel, "in_doubt": where.in_doubt}
        if where.contact_id is not None:
            id = await find_contact(self._kernel, workspace, where.contact_id)
            return partial(items.list_outbox_of_contact, contact_id=id, **state, **owner)
        if where.in_doubt and where.status in {None, ItemStatus.QUEUED}:
            return partial(items.list_outbox_in_doubt, channel=where.channel, **owner)
        if where.owners == 0:
            return partial(items.list_outbox, **state)
        if where.run_id and where == OutboxFilter(run_id=where.run_id):
            return partial(items.list_outbox_of_run, run_id=where.run_id)
        if where.run_id and where.status:
            find = partial(items.list_outbox_of_run_by_status, run_id=where.run_id, status=where.status)
            return partial(find, channel=where.channel, in_doubt=where.in_doubt)
        return partial(items.list_outbox_of_owner, **state, **owner)
