"""Events as people send, explain, follow and cancel them. kernel/start/event.py takes them."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import islice
from typing import Protocol
from uuid import UUID

import msgspec

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, EventInvalid, NotFound, Problem, TriggerUnknown
from tidings.domain.flow.ids import Shard, Workspace, bucket_of_id
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.flow.retry import RULE
from tidings.domain.messages import did_you_mean
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, Span, check_limit, newest_first, page_of
from tidings.domain.people.contact import ContactReference
from tidings.domain.rules.event import Event, differences, read_event, read_stored
from tidings.domain.rules.routing import check_event, template_of
from tidings.domain.words import outbox_word
from tidings.kernel.calls.readiness import live_staff
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import Deed, write_audit
from tidings.kernel.people.references import find_contact, find_contacts
from tidings.kernel.start.event import Decided, find_taken, plan_event, take_event
from tidings.kernel.start.event_drafts import Draft
from tidings.kernel.start.event_people import find_people, meet_people
from tidings.kernel.start.ruling import Ruling, find_fallback_triggers, find_ruling
from tidings.resources.names import name_contacts
from tidings.storage import events, outbox, resolve, rules
from tidings.storage.database import Tx
from tidings.storage.events import FoundEventItem, StoredEvent
from tidings.views.contacts import ContactName
from tidings.views.pages import Page

__all__ = ["Events", "ShownDecision", "ShownEvent", "ShownEventItem"]

Json = Mapping[str, object]
Items = list[FoundEventItem]
CANCELLED = "cancelled"
MOST_PLACES = 10


@dataclass(frozen=True, slots=True)
class ShownEventItem:
    """One message of an event, or the call of a fallback; before it is stored it has no id."""

    id: UUID | None
    kind: str
    template: str
    recipient: str
    status: str
    attempts: int
    max_attempts: int
    run_at: datetime
    error: str | None
    message_id: str | None = None
    payload: Json | None = None
    contact_id: UUID | None = None
    contact: ContactName | None = None
    waiting: str | None = None
    """Why nobody can make its call although it is due: `no worker serves smtp`, say. Only where one event is shown."""


@dataclass(frozen=True, slots=True)
class ShownDecision:
    """What became of one channel and audience."""

    channel: str
    audience: str
    outcome: str
    reason: str
    rule_id: UUID | None
    items: Sequence[ShownEventItem]


Decisions = list[ShownDecision]


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event with what was decided about it; `routed_at` is None until a worker has routed what SQL stored.

    `note` says what else is to be known of a duplicate: that it came with other data.
    """

    id: UUID
    trigger: str
    idempotency_key: str
    source: str
    data: Json
    decisions: Sequence[ShownDecision]
    created_at: datetime
    routed_at: datetime | None
    duplicate: bool = False
    note: str | None = None


Shown = list[ShownEvent]


class _ListInShard(Protocol):
    async def __call__(
        self,
        tx: Tx,
        *,
        shard: Shard,
        tenant: str,
        workspace: str,
        trigger: str | None,
        span: Span,
        limit: int,
    ) -> list[StoredEvent]: ...


class Events:
    """The events of every workspace; what is another's is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def send(
        self, caller: Caller, given: Json, *, source: str = "api", must_be_known: bool = False
    ) -> ShownEvent:
        """Take an event; the same key again gives the first one, whatever its data says now.

        An event that no rule and no fallback knows does nothing; with `must_be_known` it is refused instead.
        """
        event = _read(given)
        known = await find_taken(self._kernel, caller.workspace, event)
        if known:
            return await self._repeated(known, event)
        event, ruling = await self._prepare(caller.workspace, event)
        if must_be_known and not (ruling.rules or ruling.fallbacks):
            raise TriggerUnknown([Problem("trigger", await self.unknown(caller.workspace, event.trigger))])
        taken = await take_event(self._kernel, caller.workspace, event, ruling, source=source)
        return await (self._repeated(taken.event, event) if taken.duplicate else self._shown(taken.event))

    async def explain(self, workspace: Workspace, given: Json) -> Decisions:
        """What an event would do, decision by decision; nothing is stored, and nothing is sent."""
        event, ruling = await self._prepare(workspace, _read(given))
        decided = await plan_event(self._kernel, workspace, event, ruling, await self._kernel.clock.now())
        drafts = [draft.contact_id for one in decided for draft in one.drafts]
        contacts = await name_contacts(self._kernel, workspace, drafts)
        return [_explained(one, contacts) for one in decided]

    async def unknown(self, workspace: Workspace, trigger: str) -> str:
        """That nothing knows a trigger, with the one that was probably meant."""
        find = partial(rules.list_triggers, tenant=workspace.tenant, workspace=workspace.name)
        known = {*await self._kernel.db.persist(find, alone=True), *await find_fallback_triggers(self._kernel)}
        return f"no rule and no fallback knows {trigger!r}{did_you_mean(trigger, sorted(known))}"

    async def _prepare(self, workspace: Workspace, event: Event) -> tuple[Event, Ruling]:
        """An event with its contacts, and what decides; refused before anything is stored if it cannot be taken."""
        event = await meet_people(self._kernel, await find_people(self._kernel, workspace, event))
        ruling = await find_ruling(self._kernel, workspace, event.trigger)
        check_event(event, ruling.rules, ruling.fallbacks)
        return event, ruling

    async def _repeated(self, stored: StoredEvent, event: Event) -> ShownEvent:
        """The first event of a key, and what this one says otherwise; of one that was erased nobody knows that."""
        shown = await self._shown(stored, duplicate=True)
        first = read_stored(stored.trigger, stored.idempotency_key, stored.data)
        if not stored.data or first.stored == event.stored:
            return shown
        found = await find_contacts(self._kernel, stored.workspace, event.named_contacts.values())
        known = {who: found[one] for who, one in event.named_contacts.items() if one in found}
        places = differences(first, event.with_contacts(known))
        if not places:
            return shown
        return replace(shown, note=f"this key had other data before, which holds: {', '.join(places[:MOST_PLACES])}")

    async def get(self, workspace: Workspace, id: UUID) -> ShownEvent:
        """One event, or NotFound."""
        return await self._shown(await self._find(workspace, id), with_payload=True)

    async def list(
        self,
        workspace: Workspace,
        *,
        trigger: str | None = None,
        contact_id: ContactReference | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownEvent]:
        """Events, newest first: of one trigger, or about one contact."""
        check_limit(limit)
        list_in_shard: _ListInShard = events.list_events
        if contact_id is not None:
            id = await find_contact(self._kernel, workspace, contact_id)
            list_in_shard = partial(events.list_events_of_contact, contact_id=id)
        find = partial(
            list_in_shard,
            tenant=workspace.tenant,
            workspace=workspace.name,
            trigger=trigger,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        shares = [
            await self._kernel.db.persist(partial(find, shard=shard), alone=True)
            for shard in self._kernel.every_shard()
        ]
        newest = merge(*shares, key=lambda one: one.id, reverse=True)
        page = page_of(list(islice(newest, limit + 1)), limit, lambda one: one.id)
        return Page(await self._all_shown(page.items), page.next_cursor)

    async def cancel(self, caller: Caller, id: UUID) -> ShownEvent:
        """Skip what an event has not sent yet; a Conflict when nothing is left to cancel."""
        stored = await self._find(caller.workspace, id)
        return await self._cancel(caller, stored)

    async def cancel_by_key(self, caller: Caller, trigger: str, idempotency_key: str) -> ShownEvent:
        """The same for the event that was sent under this key: an appointment's reminders go with the appointment."""
        stored = await find_taken(self._kernel, caller.workspace, Event(trigger, idempotency_key))
        if stored is None:
            raise NotFound(f"there is no event {trigger!r} with the key {idempotency_key!r}")
        return await self._cancel(caller, stored)

    async def _cancel(self, caller: Caller, stored: StoredEvent) -> ShownEvent:
        shard, now = self._kernel.shard_of(stored.id), await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(stored.id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return  # done, by a commit whose answer was lost
            await self._skip_waiting(tx, stored.id, now)  # before the queue, as facts do: the other way may deadlock
            asked = stored.job_id and await resolve.stop_owner(
                tx, shard=shard, id=stored.job_id, stop=Stop.CANCEL, now=now
            )
            if not asked:
                raise Conflict(f"nothing of event {stored.id} is left to cancel")
            await write_audit(self._kernel, tx, caller, [Deed("event", stored.id, CANCELLED, {}, entry)], now)

        await self._kernel.db.persist(write)
        await self._kernel.notifier.tell_stopped([stored.job_id] if stored.job_id else [])
        self._kernel.notifier.tell(shard, Lane.TRANSACTIONAL)
        return await self._shown(stored)

    async def _skip_waiting(self, tx: Tx, id: UUID, now: datetime) -> None:
        """What nobody has called for yet is skipped here and now, so that the answer says so; workers find the rest."""
        shard = self._kernel.shard_of(id)
        found = await events.load_event_items(tx, shard=shard, ids=[id])
        waiting = [one.open.id for one in found.items if one.open and not (one.open.marked_at or one.open.in_doubt)]
        if waiting:
            skips, words = [ItemStatus.SKIPPED] * len(waiting), [CANCELLED] * len(waiting)
            await outbox.settle_unmarked_items(tx, shard=shard, ids=waiting, statuses=skips, errors=words, now=now)

    async def _find(self, workspace: Workspace, id: UUID) -> StoredEvent:
        shard = self._kernel.shard_of(id)
        found = await self._kernel.db.persist(lambda tx: events.find_event(tx, shard=shard, id=id), alone=True)
        if found is None or found.workspace != workspace:
            raise NotFound(f"there is no event {id}")
        return found

    async def _shown(self, stored: StoredEvent, *, duplicate: bool = False, with_payload: bool = False) -> ShownEvent:
        [shown] = await self._all_shown([stored], with_payload=with_payload)
        return replace(shown, duplicate=duplicate)

    async def _all_shown(self, stored: Sequence[StoredEvent], *, with_payload: bool = False) -> Shown:
        """A page of events with their items and the names of whom those are for."""
        if not stored:
            return []
        items = await self._items(stored)
        contacts = await name_contacts(self._kernel, stored[0].workspace, [item.contact_id for item in items])
        waiting = await self._why_they_wait(items) if with_payload else {}
        shown = {
            str(item.id): replace(
                _shown_item(item, with_payload=with_payload),
                contact=contacts.get(item.contact_id),
                waiting=waiting.get(item.id),
            )
            for item in items
        }
        return [_shown_event(one, shown) for one in stored]

    async def _why_they_wait(self, items: Items) -> Mapping[UUID, str | None]:
        """Of items that are due and that nobody calls for: why no worker that lives can."""
        now = await self._kernel.clock.now()
        due = [
            item
            for item in items
            if item.status is ItemStatus.QUEUED and not (item.in_doubt or item.marked_at) and item.run_at <= now
        ]
        if not due:
            return {}
        staff = await live_staff(self._kernel)
        return {item.id: staff.lack_of(item.provider, Lane.TRANSACTIONAL) for item in due}

    async def _items(self, stored: Sequence[StoredEvent]) -> Items:
        """The items of some events, in one statement for each shard."""
        shares: dict[Shard, list[UUID]] = defaultdict(list)
        for one in stored:
            if one.job_id is not None:
                shares[self._kernel.shard_of(one.id)].append(one.id)
        found = await asyncio.gather(
            *(
                self._kernel.db.persist(partial(events.list_event_items, shard=shard, ids=ids), alone=True)
                for shard, ids in shares.items()
            )
        )
        return [item for share in found for item in share]


def _shown_event(stored: StoredEvent, items: Mapping[str, ShownEventItem]) -> ShownEvent:
    return ShownEvent(
        id=stored.id,
        trigger=stored.trigger,
        idempotency_key=stored.idempotency_key,
        source=stored.source,
        data=stored.data,
        decisions=[_shown_decision(one, items) for one in stored.decisions or ()],
        created_at=stored.created_at,
        routed_at=stored.routed_at,
    )


def _read(given: Json) -> Event:
    try:
        plain = msgspec.json.decode(msgspec.json.encode(given))
    except (TypeError, ValueError, RecursionError) as error:
        raise EventInvalid([Problem("", f"the event is not JSON: {error}")]) from error
    return read_event(plain)


def _explained(decided: Decided, contacts: Mapping[UUID | None, ContactName]) -> ShownDecision:
    return ShownDecision(
        decided.key.channel,
        decided.key.audience,
        decided.route.outcome,
        decided.route.reason,
        decided.rule_id,
        [replace(_explained_item(one), contact=contacts.get(one.contact_id)) for one in decided.drafts],
    )


def _explained_item(draft: Draft) -> ShownEventItem:
    return ShownEventItem(
        id=None,
        kind=draft.channel,
        template=template_of(draft.channel),
        recipient=draft.recipient,
        status=outbox_word(draft.status, is_marked=False, in_doubt=False),
        attempts=0,
        max_attempts=(draft.step.max_attempts if draft.step else None) or RULE.attempts,
        run_at=draft.send_at,
        error=draft.error,
        payload=draft.payload,
        contact_id=draft.contact_id,
    )


def _shown_item(item: FoundEventItem, *, with_payload: bool) -> ShownEventItem:
    return ShownEventItem(
        id=item.id,
        kind=item.channel,
        template=template_of(item.channel),
        recipient=item.recipient,
        status=outbox_word(
            item.status,
            is_marked=item.marked_at is not None and item.status is ItemStatus.QUEUED,
            in_doubt=item.in_doubt,
        ),
        attempts=item.attempts,
        max_attempts=item.max_attempts or RULE.attempts,
        run_at=item.run_at,
        error=item.error,
        message_id=item.message_id,
        payload=item.payload if with_payload else None,
        contact_id=item.contact_id,
    )


def _shown_decision(stored: Json, items: Mapping[str, ShownEventItem]) -> ShownDecision:
    named = stored["items"]
    rule_id = stored["ruleId"]
    return ShownDecision(
        str(stored["channel"]),
        str(stored["audience"]),
        str(stored["outcome"]),
        str(stored["reason"]),
        UUID(str(rule_id)) if rule_id else None,
        [items[str(id)] for id in named if str(id) in items] if isinstance(named, list) else [],
    )
