"""The outbox: look at every intended provider action, and end doubt by a person's decision."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypedDict
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, InputInvalid, NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first
from tidings.domain.people.contact import ContactReference
from tidings.domain.timing import parse_duration
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.resolve import Resolution, check_note, resolve_item
from tidings.kernel.people.references import find_contact
from tidings.resources.evidence import evidence_about
from tidings.resources.names import name_items
from tidings.resources.pages import ListInShard, newest_in_all_shards
from tidings.storage import items, observe
from tidings.storage.acting import for_caller
from tidings.views.outbox import Item, ItemDetail, ResolvedItems
from tidings.views.pages import Page

__all__ = ["DoubtFilter", "Outbox", "OutboxFilter", "Resolution"]


RESOLVE_BATCH = 1_000
MOST_NAMED = 100
MOST_RESOLVED = 10_000
"""The most items about which one call ends doubt; another goes on with the rest."""


@dataclass(frozen=True, slots=True)
class DoubtFilter:
    """Which items in doubt; every condition that is given must hold."""

    provider: str | None = None
    """The name of a connection, or of a provider."""
    channel: Channel | None = None
    run_id: UUID | None = None
    older_than: timedelta | None = None
    """First called at least so long ago."""

    def admits(self, item: Item, now: datetime) -> bool:
        """Return whether an item is among them, whose channel and run are looked for already."""
        if self.provider is not None and self.provider not in {item.provider, item.connection}:
            return False
        return self.older_than is None or (item.first_called_at or item.created_at) <= now - self.older_than


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


def read_doubt(words: Sequence[str]) -> DoubtFilter:
    """Read a filter as it is written on the command line: `provider=smtp`, `olderThan=PT1H`."""
    given: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name.strip() not in _WORDS or not value.strip():
            raise InputInvalid(f"--where {word!r}: write provider=, channel=, run= or olderThan= and a value")
        given[name.strip()] = value.strip()
    try:
        return DoubtFilter(**{_WORDS[name][0]: _WORDS[name][1](value) for name, value in given.items()})
    except ValueError as error:
        raise InputInvalid(f"--where: {error}") from error


_WORDS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "provider": ("provider", str),
    "channel": ("channel", Channel),
    "run": ("run_id", UUID),
    "olderThan": ("older_than", parse_duration),
}


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
            mark = await items.show_mark(tx, shard=shard, workspace=workspace, id=id)
            attempts = await observe.list_attempts(tx, shard=shard, item_id=id)
            history = await observe.list_audit(tx, shard=shard, subject_id=id)
        [named] = await name_items(self._kernel, workspace, [item])
        known = replace(named, failed_attempts=attempts, history=history)
        return replace(known, evidence=await evidence_about(self._kernel, known, mark)) if mark else known

    async def resolve(self, caller: Caller, id: UUID, outcome: Resolution, note: str) -> ItemDetail:
        """End the doubt about an item: it was sent, is to be sent again, or failed; the note says what proves it."""
        await resolve_item(self._kernel, caller, id, outcome, note)
        return await self.get(caller.workspace, id)

    async def resolve_many(
        self,
        caller: Caller,
        which: DoubtFilter | Collection[UUID],
        outcome: Resolution,
        note: str,
        *,
        dry_run: bool = False,
    ) -> ResolvedItems:
        """End the doubt about named items, or about all that match, each as `resolve` would; or only count them."""
        check_note(note)
        found, is_all = await self._doubtful(caller.workspace, which)
        done: Counter[bool] = Counter({True: len(found)} if dry_run else {})
        for item in () if dry_run else found:
            done[await self._resolve_one(caller, item.id, outcome, note)] += 1
        named = len(which) if isinstance(which, Collection) else len(found)
        return ResolvedItems(
            resolved=done[True],
            refused=done[False],
            not_found=named - len(found),
            by_provider=dict(Counter(item.connection or item.provider for item in found).most_common()),
            items=[item.id for item in found[:MOST_NAMED]],
            complete=is_all,
            dry_run=dry_run,
        )

    async def _doubtful(
        self, workspace: Workspace, which: DoubtFilter | Collection[UUID]
    ) -> tuple[Sequence[Item], bool]:
        """Return the items in doubt that are meant, at most so many, and whether they are all."""
        where = which if isinstance(which, DoubtFilter) else DoubtFilter()
        named = None if isinstance(which, DoubtFilter) else frozenset(which)
        asked = OutboxFilter(in_doubt=True, channel=where.channel, run_id=where.run_id)
        now, cursor, found = await self._kernel.clock.now(), None, list[Item]()
        while True:
            page = await self.list(workspace, asked, limit=RESOLVE_BATCH, cursor=cursor)
            found += [one for one in page.items if (named is None or one.id in named) and where.admits(one, now)]
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_RESOLVED:
                return found[:MOST_RESOLVED], cursor is None and len(found) <= MOST_RESOLVED

    async def _resolve_one(self, caller: Caller, id: UUID, outcome: Resolution, note: str) -> bool:
        try:
            await resolve_item(self._kernel, caller, id, outcome, note)
        except Conflict:
            return False
        return True

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
