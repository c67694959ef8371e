"""Take an event: decide what it sends, render that, and store event, job and items in one transaction of one shard.

Reached from resources/events.py, and from jobs.py for events that the SQL function has stored. An event's items belong
to a job without a run; from there on they are delivered like any others. domain/rules/routing.py decides.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

from tidings.domain.campaigns.run import JobStatus
from tidings.domain.errors import Conflict, RendererUnavailable
from tidings.domain.flow.ids import Bucket, Shard, Workspace, bucket_of_id
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.keys import fallback_key, rule_key
from tidings.domain.flow.queue import Claimed, Lane
from tidings.domain.flow.retry import RetryPolicy
from tidings.domain.rules.event import IncomingEvent, read_stored
from tidings.domain.rules.key import RuleKey
from tidings.domain.rules.routing import (
    Route,
    RouteOutcome,
    decide_route,
    intents_of,
    keys_of,
    missing_for,
)
from tidings.domain.rules.rule import RuleDefinition, retry_policy
from tidings.kernel.gate.rules import RulesOfItems
from tidings.kernel.kernel import Kernel
from tidings.kernel.phone_region import numbers_of
from tidings.kernel.readiness import know_routes
from tidings.kernel.start.event_drafts import EventDraft, draft_all, draft_fallback
from tidings.kernel.start.event_people import forget_deleted, meet_people
from tidings.kernel.start.ruling import Ruling, find_ruling
from tidings.log import log
from tidings.storage import events
from tidings.storage.database import Tx
from tidings.storage.events import FoundEventItem, ItemsRefused, NewEventItem, NewEventJob, StoredEvent
from tidings.storage.load import LoadedItem, LoadedJob

Json = Mapping[str, object]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Decided:
    """What becomes of one channel and audience of an event."""

    key: RuleKey
    route: Route
    rule_id: UUID | None
    drafts: Sequence[EventDraft] = ()
    failed: bool = False
    """Whether a rule was to send something and could not."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An event as it is stored, and whether its key had been used before."""

    event: StoredEvent
    duplicate: bool
    items: Sequence[FoundEventItem] | None = None
    """Its items as this very call has written them; None where they are to be read."""


@dataclass(frozen=True, slots=True)
class EventWork:
    """What the claimed jobs of events have to send, each item's policy, and how their rules stand."""

    items: Sequence[LoadedItem]
    policies: Mapping[UUID, RetryPolicy]
    rules: RulesOfItems | None


async def find_taken(kernel: Kernel, workspace: Workspace, event: IncomingEvent) -> StoredEvent | None:
    """Return the event that was taken under this key before, if any."""
    if event.idempotency_key is None:
        return None
    find = partial(
        events.find_event_by_key,
        shard=Shard(workspace.bucket_of(event.idempotency_key) % kernel.shards),
        workspace=workspace,
        trigger=event.trigger,
        key=event.idempotency_key,
    )
    return await kernel.db.persist(find, alone=True)


async def take_event(
    kernel: Kernel, workspace: Workspace, event: IncomingEvent, ruling: Ruling, *, source: str
) -> Taken:
    """Store an event with everything it is to send; the same key again returns the first event and sends nothing."""
    now = await kernel.clock.now()
    write = partial(_store, kernel, workspace, event, source, now)
    return await _plan_and_write(kernel, workspace, event, ruling, now, write, must_store=False)


async def _plan_and_write(
    kernel: Kernel,
    workspace: Workspace,
    event: IncomingEvent,
    ruling: Ruling,
    now: datetime,
    write: Callable[[Sequence[Decided]], Awaitable[Result]],
    *,
    must_store: bool,
) -> Result:
    """Plan and write an event; where the database refuses the items and rolls back, write the fallbacks instead.

    A commit whose answer was lost is no refusal: it is read again by its key. Where no fallback would help, the sender
    of the event gets the error and nothing is stored, unless it was stored before.
    """
    decided = await plan_event(kernel, workspace, event, ruling, now)
    try:
        return await write(decided)
    except ItemsRefused as error:
        refused = f"the database refused it: {error}"
        decided = await plan_event(kernel, workspace, event, ruling, now, refused=refused)
        stand_in = any(one.route.outcome is RouteOutcome.FALLBACK and one.rule_id for one in decided)
        if not (stand_in or must_store):
            _tell_failures(event.trigger, None, decided)
            raise
        return await write(decided)


def _tell_failures(trigger: str, event_id: UUID | None, decided: Sequence[Decided]) -> None:
    """Log what rules were to send and could not; the reason is only in the decision, since it may name a person."""
    for one in decided:
        if one.failed:
            log.warning(
                "enqueue_failed",
                event_id=str(event_id) if event_id else None,
                trigger=trigger,
                channel=one.key.channel,
                audience=one.key.audience,
                outcome=one.route.outcome,
            )


async def plan_event(
    kernel: Kernel,
    workspace: Workspace,
    event: IncomingEvent,
    ruling: Ruling,
    now: datetime,
    *,
    refused: str | None = None,
) -> list[Decided]:
    """Decide about every channel and audience, and render what is to be sent; stores nothing."""
    enabled = {key: rule for key, rule in ruling.rules.items() if rule.enabled}
    channels = {step.channel for rule in enabled.values() for step in rule.enabled_steps}
    await know_routes(kernel, [(workspace, channel) for channel in channels], now)
    intents = {key: intents_of(event, rule) for key, rule in enabled.items()}
    failures = dict.fromkeys(intents, refused) if refused else {}
    drafts: Mapping[RuleKey, Sequence[EventDraft]] = {}
    if not refused:
        try:
            drafts = await draft_all(kernel, workspace, event, intents, _missing(event, enabled), now)
        except RendererUnavailable as error:
            if not intents.keys() <= ruling.fallbacks:
                raise  # nothing is stored, and the same event may be sent again
            failures = dict.fromkeys(intents, str(error))
    return [
        _decide(event, key, ruling, drafts=drafts.get(key, ()), failure=failures.get(key), now=now)
        for key in keys_of(event.trigger, ruling.rules, ruling.fallbacks)
    ]


def _missing(event: IncomingEvent, rules: Mapping[RuleKey, RuleDefinition]) -> Mapping[RuleKey, str]:
    """The variables that the templates of each rule print and the event lacks."""
    found = {key: missing_for(event, rule) for key, rule in rules.items()}
    return {
        key: "; ".join(f"{one.place} {one.message}" for one in missing) for key, missing in found.items() if missing
    }


def _decide(
    event: IncomingEvent,
    key: RuleKey,
    ruling: Ruling,
    *,
    drafts: Sequence[EventDraft],
    failure: str | None,
    now: datetime,
) -> Decided:
    rule = ruling.rules.get(key)
    failure = failure or next((one.error for one in drafts if one.status is ItemStatus.FAILED), None)
    person = event.people.get(key.audience)
    refusal = person.refusal(key.channel) if person else None
    route = decide_route(key, rule, has_fallback=key in ruling.fallbacks, failure=failure, refusal=refusal)
    rule_id = rule.id if rule else None
    if route.outcome is RouteOutcome.FALLBACK:
        return Decided(key, route, rule_id, [draft_fallback(event, key, now)], failed=rule is not None)
    if rule is None or not rule.enabled:
        return Decided(key, route, rule_id)
    return Decided(key, _of_sendable(route, rule, drafts, failure), rule_id, drafts, failed=failure is not None)


def _of_sendable(route: Route, rule: RuleDefinition, drafts: Sequence[EventDraft], failure: str | None) -> Route:
    """The decision of an enabled rule: nothing is enqueued where there is no recipient."""
    sendable = sum(one.status is ItemStatus.QUEUED for one in drafts)
    if sendable and failure:
        return Route(RouteOutcome.ENQUEUED, f"{sendable} of {len(drafts)} items; the others failed: {failure}")
    if sendable or failure:
        return route
    if not rule.enabled_steps:
        return Route(RouteOutcome.NONE, f"the rule for {rule.key} has no enabled step")
    reasons = "; ".join(dict.fromkeys(one.error for one in drafts if one.error)) or "no step names a recipient"
    return Route(RouteOutcome.NONE, f"there is nobody to send to: {reasons}")


async def _store(
    kernel: Kernel, workspace: Workspace, event: IncomingEvent, source: str, now: datetime, decided: Sequence[Decided]
) -> Taken:
    new, items = _as_new(kernel, workspace, event, source, now, decided)
    shard = kernel.shard_of(new.id)

    async def write(tx: Tx) -> StoredEvent | None:
        """Store the event and return None, or return the one that has its key."""
        job, lane = _job_of(items, now), Lane.TRANSACTIONAL
        if await events.add_event(tx, shard=shard, event=new, contacts=event.contacts, job=job, lane=lane):
            return None
        return await _taken_before(tx, shard, new)

    found = await kernel.db.persist(write, alone=True)
    await forget_deleted(kernel, shard, event)
    kernel.notifier.tell(shard, Lane.TRANSACTIONAL)
    if found and found.id != new.id:
        return Taken(found, duplicate=True)
    _tell_failures(event.trigger, new.id, decided)
    if found or event.contacts:  # an answer was lost, or a contact may have been deleted meanwhile
        return Taken(found or new, duplicate=False)
    return Taken(new, duplicate=False, items=[_as_written(new.id, one, now) for one in items])


def _as_new(
    kernel: Kernel, workspace: Workspace, event: IncomingEvent, source: str, now: datetime, decided: Sequence[Decided]
) -> tuple[StoredEvent, Sequence[NewEventItem]]:
    """Return the rows of an event and its items; made once, their ids tell after an unknown commit what is ours."""
    key = str(kernel.new_id(Bucket(0), now)) if event.idempotency_key is None else event.idempotency_key
    bucket = workspace.bucket_of(key)
    event_id, job_id = kernel.new_id(bucket, now), kernel.new_id(bucket, now)
    items, decisions = _items(kernel, event_id, decided, now)
    new = StoredEvent(
        id=event_id,
        workspace=workspace,
        trigger=event.trigger,
        idempotency_key=key,
        data=event.stored,
        decisions=decisions,
        job_id=job_id if items else None,
        source=source,
        created_at=now,
        routed_at=now,
    )
    return new, items


async def _taken_before(tx: Tx, shard: Shard, new: StoredEvent) -> StoredEvent:
    found = await events.find_event_by_key(
        tx, shard=shard, workspace=new.workspace, trigger=new.trigger, key=new.idempotency_key
    )
    if found is None:  # what holds the hash of its key has another key
        raise Conflict(f"idempotencyKey {new.idempotency_key[:50]!r} cannot be told from another one: use another key")
    return found


def _as_written(event_id: UUID, item: NewEventItem, now: datetime) -> FoundEventItem:
    """Return an item as it is in the moment after it was written."""
    return FoundEventItem(
        event_id=event_id,
        id=item.id,
        ordinal=item.ordinal,
        channel=item.channel,
        provider=item.provider,
        recipient=item.recipient,
        payload=item.payload,
        status=item.status,
        in_doubt=False,
        attempts=0,
        max_attempts=item.max_attempts,
        run_at=item.planned_at or now,
        marked_at=None,
        message_id=None,
        error=item.error,
        contact_id=item.contact_id,
        created_at=now,
        finalized_at=None if item.status is ItemStatus.QUEUED else now,
    )


def _items(
    kernel: Kernel, event_id: UUID, decided: Sequence[Decided], now: datetime
) -> tuple[list[NewEventItem], list[Json]]:
    """The rows of an event's items, numbered through, and the decisions that name them."""
    items: list[NewEventItem] = []
    decisions: list[Json] = []
    for one in decided:
        own = [_item(kernel, event_id, one, draft, len(items) + place, now) for place, draft in enumerate(one.drafts)]
        items += own
        decisions.append(
            {
                "channel": one.key.channel,
                "audience": one.key.audience,
                "outcome": one.route.outcome,
                "reason": one.route.reason,
                "ruleId": str(one.rule_id) if one.rule_id else None,
                "items": [str(item.id) for item in own],
            }
        )
    return items, decisions


def _item(kernel: Kernel, event_id: UUID, one: Decided, draft: EventDraft, number: int, now: datetime) -> NewEventItem:
    if draft.step and draft.step.id and one.rule_id:
        key = rule_key(event_id, one.rule_id, draft.step.id, draft.ordinal)
    else:
        key = fallback_key(event_id, one.key.channel, one.key.audience)
    return NewEventItem(
        id=kernel.new_id(bucket_of_id(event_id), now),
        ordinal=number,
        channel=draft.channel,
        provider=draft.provider,
        recipient=draft.recipient,
        payload=draft.payload,
        status=draft.status,
        key=key,
        planned_at=draft.send_at if draft.send_at != now else None,
        max_attempts=draft.step.max_attempts if draft.step else None,
        error=draft.error,
        contact_id=draft.contact_id,
    )


def _job_of(items: Sequence[NewEventItem], now: datetime) -> NewEventJob:
    failed, skipped, due = _settled(items, now)
    status = _job_status(len(items), failed, is_open=bool(due))
    return NewEventJob(status, failed, skipped, min(due, default=None), items)


def _settled(items: Sequence[NewEventItem], now: datetime) -> tuple[int, int, list[datetime]]:
    """How many items have already failed or are skipped, and when the others are due."""
    failed = sum(item.status is ItemStatus.FAILED for item in items)
    skipped = sum(item.status is ItemStatus.SKIPPED for item in items)
    return failed, skipped, [item.planned_at or now for item in items if item.status is ItemStatus.QUEUED]


def _job_status(planned: int, failed: int, *, is_open: bool) -> JobStatus:
    if is_open:
        return JobStatus.QUEUED
    if not failed:
        return JobStatus.COMPLETED
    return JobStatus.FAILED if failed == planned else JobStatus.PARTIAL


async def load_event_work(
    kernel: Kernel, shard: Shard, leases: Sequence[Claimed], jobs: Mapping[UUID, LoadedJob], now: datetime
) -> EventWork:
    """Load the open items of the claimed jobs of events; events that SQL has stored are routed first."""
    unrouted = [job.event_id for job in jobs.values() if job.event_id and job.unrouted]
    if unrouted:
        await _route_stored(kernel, shard, {lease.id: lease for lease in leases}, unrouted, now)
    ids = [job.event_id for job in jobs.values() if job.event_id]
    if not ids:
        return EventWork([], {}, None)
    read_at = kernel.clock.carried()
    found = await kernel.db.persist(lambda tx: events.load_event_items(tx, shard=shard, ids=ids), alone=True)
    policies = {id: retry_policy(attempts) for id, attempts in found.max_attempts.items()}
    return EventWork(found.items, policies, RulesOfItems(kernel, read_at, found.rule_of, found.enabled))


async def _route_stored(
    kernel: Kernel, shard: Shard, leases: Mapping[UUID, Claimed], ids: Sequence[UUID], now: datetime
) -> None:
    stored = await kernel.db.persist(lambda tx: events.load_unrouted_events(tx, shard=shard, ids=ids), alone=True)
    for one in stored:
        with await numbers_of(kernel, one.workspace):
            event = await meet_people(kernel, read_stored(one.trigger, one.idempotency_key, one.data))
        ruling = await find_ruling(kernel, one.workspace, one.trigger)
        if one.job_id:
            write = partial(_write_route, kernel, shard, one, leases[one.job_id], now)
            await _plan_and_write(kernel, one.workspace, event, ruling, now, write, must_store=True)
            await forget_deleted(kernel, shard, event)


async def _write_route(
    kernel: Kernel, shard: Shard, stored: StoredEvent, lease: Claimed, now: datetime, decided: Sequence[Decided]
) -> None:
    """Write the decisions with their items; write nothing if the lease was lost, or an earlier try has written them."""
    items, decisions = _items(kernel, stored.id, decided, now)
    failed, skipped, _ = _settled(items, now)

    async def write(tx: Tx) -> bool:
        is_ours = await events.route_event(
            tx, shard=shard, id=stored.id, fence=lease.fence, decisions=decisions, now=now
        )
        if is_ours and items:
            await events.plan_event_job(
                tx, shard=shard, id=lease.id, planned=len(items), failed=failed, skipped=skipped
            )
            await events.add_event_items(tx, shard=shard, job_id=lease.id, items=items, now=now)
        return is_ours

    if await kernel.db.persist(write):
        _tell_failures(stored.trigger, stored.id, decided)
