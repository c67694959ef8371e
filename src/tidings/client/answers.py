"""What the API answers, as typed records; fields that a newer server adds are left out.

JSON's camelCase is snake_case here.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tidings.views.contacts import ContactName

Json = Mapping[str, Any]


class Rule(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is sent when something happens, over one channel, to one audience."""

    id: UUID
    trigger: str
    channel: str
    audience: str
    enabled: bool
    steps: list[Json] = []
    not_ready: list[str] = []
    """Channels of its steps that no provider is set up for: their items fail, or fall back."""
    created_at: datetime | None = None
    updated_at: datetime | None = None


class EventItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """One message of an event, or the call of a fallback; it has no id while it is only explained."""

    kind: str
    recipient: str
    status: str
    id: UUID | None = None
    template: str | None = None
    attempts: int = 0
    max_attempts: int | None = None
    run_at: datetime | None = None
    error: str | None = None
    message_id: str | None = None
    payload: Json | None = None
    contact_id: UUID | None = None
    contact: ContactName | None = None
    waiting: str | None = None


class Decision(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one channel and audience: enqueued, suppressed, fallback or none, and why."""

    channel: str
    audience: str
    outcome: str
    reason: str = ""
    rule_id: UUID | None = None
    items: list[EventItem] = []


class Event(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event and what was decided about it."""

    id: UUID
    trigger: str
    idempotency_key: str
    decisions: list[Decision] = []
    source: str | None = None
    data: Json = {}
    created_at: datetime | None = None
    routed_at: datetime | None = None
    duplicate: bool = False
    note: str | None = None
