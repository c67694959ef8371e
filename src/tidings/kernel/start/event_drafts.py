"""Render what an event's rules would send, and the payload of a fallback, before anything is stored.

Reached from event.py, which bases its decision on it and stores it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.channels import HTML_FIELDS, Channel
from tidings.domain.connections.route import SendingRoute
from tidings.domain.content.template import RenderFailed
from tidings.domain.errors import ChannelNotReady
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import ItemStatus, Payload
from tidings.domain.people.recipients import EventAddressee, Unreachable
from tidings.domain.rules.event import IncomingEvent
from tidings.domain.rules.key import RuleKey, fallback_name
from tidings.domain.rules.routing import FALLBACK_ACTION, Intent, fallback_payload, rendered_recipients, timing_of
from tidings.domain.rules.rule import RuleStep
from tidings.domain.storable import storable
from tidings.kernel.kernel import Kernel
from tidings.kernel.render.renderer import Rendered, RenderJob
from tidings.kernel.senders import know_senders, sent_by


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An item that an event would have, before there is an event; `step` is None for a fallback."""

    channel: Channel
    provider: str
    source: str
    recipient: str
    payload: Payload
    status: ItemStatus
    send_at: datetime
    error: str | None = None
    step: RuleStep | None = None
    ordinal: int = 0
    contact_id: UUID | None = None


async def draft_all(
    kernel: Kernel,
    workspace: Workspace,
    event: IncomingEvent,
    intents: Mapping[RuleKey, Sequence[Intent]],
    missing: Mapping[RuleKey, str],
    now: datetime,
) -> Mapping[RuleKey, list[EventDraft]]:
    """Return the items of every rule's steps, rendered; one that cannot be sent says why.

    A rule whose variables are missing renders nothing: what it sends belongs together, all or nothing.
    """
    await know_senders(kernel, [workspace], now)
    every = [(key, intent) for key, share in intents.items() if key not in missing for intent in share]
    rendered = await kernel.renderer.render([_render_job(intent.step, event, now, workspace) for _, intent in every])
    drafts: dict[RuleKey, list[EventDraft]] = {key: [] for key in intents}
    for (key, intent), result in zip(every, rendered, strict=True):
        drafts[key] += _drafts(kernel, workspace, intent, result, now)
    for key, reason in missing.items():
        for intent in intents[key]:
            drafts[key] += _drafts(kernel, workspace, intent, RenderFailed(reason), now)
    return drafts


def _render_job(step: RuleStep, event: IncomingEvent, now: datetime, workspace: Workspace) -> RenderJob:
    finish = step.message.needs_finishing
    return RenderJob(step.every_template, event.data, HTML_FIELDS, now, workspace, finish)


def _drafts(
    kernel: Kernel, workspace: Workspace, intent: Intent, result: Rendered | RenderFailed, now: datetime
) -> list[EventDraft]:
    """The items of one step; one that cannot be sent says why, and is stored all the same."""
    step = intent.step
    route, failure = _route(kernel, workspace, step.channel)
    made = sent_by(kernel, workspace, step.message, result)
    payload: Payload = {} if isinstance(made, RenderFailed) else made
    failure = failure or (made.reason if isinstance(made, RenderFailed) else None)
    send_at, late = now, None
    if isinstance(result, Rendered):
        try:
            timing = timing_of(step, result.fields, now)
            send_at, late = timing.at, timing.skip
        except ValueError as error:
            failure = failure or f"sendBefore.time: {error}"

    def draft(ordinal: int, one: EventAddressee | Unreachable) -> EventDraft:
        missing = one.reason if isinstance(one, Unreachable) else one.refusal or late
        status = ItemStatus.SKIPPED if missing else ItemStatus.FAILED if failure else ItemStatus.QUEUED
        recipient = one.address if isinstance(one, EventAddressee) else one.source
        return EventDraft(
            step.channel,
            route.first(recipient) if route else "",
            one.source,
            recipient,
            payload,
            status,
            send_at,
            error=storable(missing or failure),
            step=step,
            ordinal=ordinal,
            contact_id=one.contact_id,
        )

    whom = rendered_recipients(intent, result.fields) if isinstance(result, Rendered) else intent.recipients
    return [draft(ordinal, one) for ordinal, one in enumerate(whom)]


def _route(kernel: Kernel, workspace: Workspace, channel: Channel) -> tuple[SendingRoute | None, str | None]:
    try:
        return kernel.route(workspace, channel), None
    except ChannelNotReady as error:
        return None, str(error)


def draft_fallback(event: IncomingEvent, key: RuleKey, now: datetime) -> EventDraft:
    """The call of a host application's fallback: an outbox item like any other, under the event's key."""
    text = json.dumps(fallback_payload(event, key), ensure_ascii=False, separators=(",", ":"))
    payload = {"action": FALLBACK_ACTION, "payload": text}
    name, person = fallback_name(key), event.people.get(key.audience)
    contact_id = person.contact_id if person else None
    # Its provider has its name, so a worker that lacks it leaves the call to one that has it.
    return EventDraft(Channel.FUNCTION, name, "fallback", name, payload, ItemStatus.QUEUED, now, contact_id=contact_id)
