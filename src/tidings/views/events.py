"""Events, the decisions about them, and what became of their items."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from tidings.views.contacts import ContactName
from tidings.views.rules import RuleAudience
from tidings.views.view import Id, Json, Time, View, doc

_AT = "2026-03-02T09:00:00Z"
EXAMPLE_DATA = {
    "lead": {"name": "Ada", "email": "ada@example.com", "phone": "+442071838750"},
    "variables": {"quote": {"number": "Q-17"}},
}


class RouteOutcome(StrEnum):
    """What an event leads to for one channel and audience."""

    ENQUEUED = "enqueued"
    SUPPRESSED = "suppressed"
    FALLBACK = "fallback"
    NONE = "none"


class EventItem(View, frozen=True, kw_only=True):
    """One message of an event, or one call of a fallback (kind `function`)."""

    id: Annotated[Id | None, doc("The item's id; null when the event is only explained.")] = None
    kind: Annotated[str, doc(example="email")]
    template: Annotated[str, doc(example="email_send")] = ""
    recipient: Annotated[str, doc(example="ada@example.com")]
    status: Annotated[str, doc("One of pending, processing, succeeded, failed, skipped and in_doubt.", "pending")]
    attempts: Annotated[int, doc(example=0)] = 0
    max_attempts: Annotated[int, doc(example=5)] = 0
    run_at: Time
    error: str | None = None
    message_id: str | None = None
    payload: Json | None = None
    contact_id: Id | None = None
    contact: ContactName | None = None
    waiting: Annotated[
        str | None, doc("Why no worker can do what comes next, for example `no worker serves smtp`; null if one can.")
    ] = None


class Decision(View, frozen=True, kw_only=True):
    """What was decided for one channel and audience, and why."""

    channel: Annotated[str, doc(example="email")]
    audience: Annotated[RuleAudience, doc(example="lead")]
    outcome: Annotated[RouteOutcome, doc(example="enqueued")]
    reason: Annotated[str, doc(example="the rule for quote_sent/email/lead is enabled")] = ""
    rule_id: Id | None = None
    items: Sequence[EventItem] = ()


class Explained(View, frozen=True, kw_only=True):
    """What an event would do if it were sent."""

    decisions: Sequence[Decision]


class Event(View, frozen=True, kw_only=True):
    """An event and the decisions about it."""

    id: Id
    trigger: Annotated[str, doc(example="quote_sent")]
    idempotency_key: Annotated[str, doc(example="quote-17-sent")]
    source: Annotated[str, doc(example="api")] = ""
    data: Annotated[Json, doc(example=EXAMPLE_DATA)] = {}
    decisions: Sequence[Decision] = ()
    created_at: Time
    routed_at: Annotated[
        Time | None,
        doc("When the event was routed; null until a worker has routed an event that was stored through SQL.", _AT),
    ] = None
    duplicate: bool = False
    note: Annotated[
        str | None,
        doc("What a caller should know about a duplicate: that it came with other data, and where they differ."),
    ] = None
