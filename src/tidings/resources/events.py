"""Events: send, explain, follow and cancel them. kernel/start/event.py stores and routes them."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, EventInvalid, NotFound, Problem, TidingsError, TriggerUnknown
from tidings.domain.flow.ids import Shard, Workspace, bucket_of_id
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.flow.retry import RULE
from tidings.domain.messages import did_you_mean
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, newest_first
from tidings.domain.people.contact import ContactReference
from tidings.domain.rules.event import IncomingEvent, differences, read_event, read_stored
from tidings.domain.rules.routing import check_event, template_of
from tidings.domain.words import outbox_word
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.people.references import find_contact, find_contacts
from tidings.kernel.phone_region import numbers_of
from tidings.kernel.readiness import live_staff
from tidings.kernel.start.event import Decided, find_taken, plan_event, take_event
from tidings.kernel.start.event_drafts import EventDraft
from tidings.kernel.start.event_people import find_people, meet_people
from tidings.kernel.start.ruling import Ruling, find_fallback_triggers, find_ruling
from tidings.resources.names import name_contacts
from tidings.resources.pages import ListInShard, newest_in_all_shards
from tidings.storage import events, outbox, resolve, rules
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.events import FoundEventItem, StoredEvent
from tidings.views.contacts import ContactName
from tidings.views.events import Decision, Event, EventItem, RouteOutcome
from tidings.views.pages import Page
from tidings.views.rules import RuleAudience

__all__ = ["Events"]

Json = Mapping[str, Any]
Items = list[FoundEventItem]
Decisions = list[Decision]
Shown = list[Event]
CANCELLED = "cancelled"
MOST_PLACES = 10


@for_caller
class Events:
    """The events of every workspace; an event of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def send(self, caller: Caller, given: Json, *, source: str = "api", must_be_known: bool = False) -> Event:
        """Send an event; the same key again returns the first event, whatever the data says now.

        An event that no rule and no fallback knows does nothing; with `must_be_known` it is refused instead.
        """
        with await numbers_of(self._kernel, caller.workspace):
            return await self._send_read(caller, _read(given), source, must_be_known=must_be_known)

    async def _send_read(self, caller: Caller, event: IncomingEvent, source: str, *, must_be_known: bool) -> Event:
        try:
            return await self._send(caller.workspace, event, source, must_be_known=must_be_known)
        except TidingsError:
            # Whatever is wrong with it now: under its key it may have been taken before.
            known = await find_taken(self._kernel, caller.workspace, event)
            if known is None:
                raise
            return await self._repeated(known, event)

    async def _send(self, workspace: Workspace, event: IncomingEvent, source: str, *, must_be_known: bool) -> Event:
        event, ruling = await self._prepare(workspace, event)
        if must_be_known and not (ruling.rules or ruling.fallbacks):
            raise TriggerUnknown([Problem("trigger", await self.unknown(workspace, event.trigger))])
        taken = await take_event(self._kernel, workspace, event, ruling, source=source)
        if taken.duplicate:
            return await self._repeated(taken.event, event)
        [shown] = await self._all_shown([taken.event], written=taken.items)
        return shown

    async def explain(self, workspace: Workspace, given: Json) -> Decisions:
        """Explain what an event would do, decision by decision; nothing is stored, and nothing is sent."""
        with await numbers_of(self._kernel, workspace):
            event, ruling = await self._prepare(workspace, _read(given))
        decided = await plan_event(self._kernel, workspace, event, ruling, await self._kernel.clock.now())
        drafts = [draft.contact_id for one in decided for draft in one.drafts]
        contacts = await name_contacts(self._kernel, workspace, drafts)
        return [_explained(one, contacts) for one in decided]

    async def unknown(self, workspace: Workspace, trigger: str) -> str:
        """Return the message that no rule and no fallback knows a trigger, with the one that was probably meant."""
        find = partial(rules.list_triggers, workspace=workspace)
        known = {*await self._kernel.db.persist(find, alone=True), *await find_fallback_triggers(self._kernel)}
        return f"no rule and no fallback knows {trigger!r}{did_you_mean(trigger, sorted(known))}"

    async def _prepare(self, workspace: Workspace, event: IncomingEvent) -> tuple[IncomingEvent, Ruling]:
        """Return an event with its contacts, and the rules for it; raise before anything is stored if it is invalid."""
        event = await meet_people(self._kernel, await find_people(self._kernel, workspace, event))
        ruling = await find_ruling(self._kernel, workspace, event.trigger)
        check_event(event, ruling.rules, ruling.fallbacks)
        return event, ruling

    async def _repeated(self, stored: StoredEvent, event: IncomingEvent) -> Event:
        """Return the first event of a key, and how this one differs; for an erased event that is not known."""
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

    async def get(self, workspace: Workspace, id: UUID) -> Event:
        """Return one event, or raise NotFound."""
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
    ) -> Page[Event]:
        """Return events, newest first: of one trigger, or about one contact."""
        list_in_shard: ListInShard[StoredEvent] = partial(events.list_events, trigger=trigger)
        if contact_id is not None:
            id = await find_contact(self._kernel, workspace, contact_id)
            list_in_shard = partial(events.list_events_of_contact, contact_id=id, trigger=trigger)
        span = newest_first(cursor, created)
        page = await newest_in_all_shards(self._kernel, workspace, list_in_shard, span=span, limit=limit)
        return Page(await self._all_shown(page.items), page.next_cursor)

    async def cancel(self, caller: Caller, id: UUID) -> Event:
        """Skip what an event has not sent yet; raise Conflict when nothing is left to cancel."""
        stored = await self._find(caller.workspace, id)
        return await self._cancel(caller, stored)

    async def cancel_by_key(self, caller: Caller, trigger: str, idempotency_key: str) -> Event:
        """Cancel the event with this key, so that an appointment's reminders end with the appointment."""
        stored = await find_taken(self._kernel, caller.workspace, IncomingEvent(trigger, idempotency_key))
        if stored is None:
            raise NotFound(f"there is no event {trigger!r} with the key {idempotency_key!r}")
        return await self._cancel(caller, stored)

    async def _cancel(self, caller: Caller, stored: StoredEvent) -> Event:
        shard, now = self._kernel.shard_of(stored.id), await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(stored.id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return  # done already, by a commit whose answer was lost
            await self._skip_waiting(tx, stored.id, now)  # before the queue, as facts do: the other way may deadlock
            asked = stored.job_id and await resolve.stop_owner(
                tx, shard=shard, id=stored.job_id, stop=Stop.CANCEL, now=now
            )
            if not asked:
                raise Conflict(f"nothing of event {stored.id} is left to cancel")
            await write_audit(self._kernel, tx, caller, [AuditEntry("event", stored.id, CANCELLED, {}, entry)], now)

        await self._kernel.db.persist(write)
        await self._kernel.notifier.tell_stopped([stored.job_id] if stored.job_id else [])
        self._kernel.notifier.tell(shard, Lane.TRANSACTIONAL)
        return await self._shown(stored)

    async def _skip_waiting(self, tx: Tx, id: UUID, now: datetime) -> None:
        """Skip here what no worker has called for yet, so that the answer shows it; workers find the rest."""
        shard = self._kernel.shard_of(id)
        found = await events.load_event_items(tx, shard=shard, ids=[id])
        waiting = [one.open.id for one in found.items if one.open and not (one.open.marked_at or one.open.in_doubt)]
        if waiting:
            skips, words = [ItemStatus.SKIPPED] * len(waiting), [CANCELLED] * len(waiting)
            await outbox.settle_unmarked_items(tx, shard=shard, ids=waiting, statuses=skips, errors=words, now=now)

    async def _find(self, workspace: Workspace, id: UUID) -> StoredEvent:
        find = partial(events.find_event, shard=self._kernel.shard_of(id), workspace=workspace, id=id)
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"there is no event {id}")
        return found

    async def _shown(self, stored: StoredEvent, *, duplicate: bool = False, with_payload: bool = False) -> Event:
        [shown] = await self._all_shown([stored], with_payload=with_payload)
        return replace(shown, duplicate=duplicate)

    async def _all_shown(
        self,
        stored: Sequence[StoredEvent],
        *,
        with_payload: bool = False,
        written: Sequence[FoundEventItem] | None = None,
    ) -> Shown:
        """Return a page of events with their items, unless these are known, and the names of their contacts."""
        if not stored:
            return []
        items = await self._items(stored) if written is None else written
        contacts = await name_contacts(self._kernel, stored[0].workspace, [item.contact_id for item in items])
        waiting = await self._why_they_wait(items) if with_payload else {}
        shown = {
            str(item.id): _shown_item(
                item,
                contacts.get(item.contact_id),
                payload=item.payload if with_payload else None,
                waiting=waiting.get(item.id),
            )
            for item in items
        }
        return [_shown_event(one, shown) for one in stored]

    async def _why_they_wait(self, items: Sequence[FoundEventItem]) -> Mapping[UUID, str | None]:
        """Return, for items that are due and that nobody calls for, why no live worker can."""
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
        """Return the items of some events: one statement in each shard."""
        by_shard: dict[Shard, list[UUID]] = defaultdict(list)
        for one in stored:
            if one.job_id is not None:
                by_shard[self._kernel.shard_of(one.id)].append(one.id)
        found = await asyncio.gather(
            *(
                self._kernel.db.persist(partial(events.list_event_items, shard=shard, ids=ids), alone=True)
                for shard, ids in by_shard.items()
            )
        )
        return [item for items in found for item in items]


def _shown_event(stored: StoredEvent, items: Mapping[str, EventItem]) -> Event:
    return Event(
        id=stored.id,
        trigger=stored.trigger,
        idempotency_key=stored.idempotency_key,
        source=stored.source,
        data=stored.data,
        decisions=[_shown_decision(one, items) for one in stored.decisions or ()],
        created_at=stored.created_at,
        routed_at=stored.routed_at,
    )


def _read(given: Json) -> IncomingEvent:
    try:
        plain = msgspec.json.decode(msgspec.json.encode(given))
    except (TypeError, ValueError, RecursionError) as error:
        raise EventInvalid([Problem("", f"the event is not JSON: {error}")]) from error
    return read_event(plain)


def _explained(decided: Decided, contacts: Mapping[UUID | None, ContactName]) -> Decision:
    return Decision(
        channel=decided.key.channel,
        audience=decided.key.audience,
        outcome=decided.route.outcome,
        reason=decided.route.reason,
        rule_id=decided.rule_id,
        items=[_explained_item(one, contacts.get(one.contact_id)) for one in decided.drafts],
    )


def _explained_item(draft: EventDraft, contact: ContactName | None) -> EventItem:
    return EventItem(
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
        contact=contact,
    )


def _shown_item(
    item: FoundEventItem, contact: ContactName | None, *, payload: Json | None, waiting: str | None
) -> EventItem:
    is_marked = item.marked_at is not None and item.status is ItemStatus.QUEUED
    return EventItem(
        id=item.id,
        kind=item.channel,
        template=template_of(item.channel),
        recipient=item.recipient,
        status=outbox_word(item.status, is_marked=is_marked, in_doubt=item.in_doubt),
        attempts=item.attempts,
        max_attempts=item.max_attempts or RULE.attempts,
        run_at=item.run_at,
        error=item.error,
        message_id=item.message_id,
        payload=payload,
        contact_id=item.contact_id,
        contact=contact,
        waiting=waiting,
    )


def _shown_decision(stored: Json, items: Mapping[str, EventItem]) -> Decision:
    rule_id = stored["ruleId"]
    return Decision(
        channel=stored["channel"],
        audience=RuleAudience(stored["audience"]),
        outcome=RouteOutcome(stored["outcome"]),
        reason=stored["reason"],
        rule_id=UUID(rule_id) if rule_id else None,
        items=[items[id] for id in stored["items"] if id in items],
    )
