"""What the API answers, as typed records; fields that a newer server adds are left out.

JSON's camelCase is snake_case here.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tidings.views.contacts import ContactName
from tidings.views.problems import ProblemPlace

Json = Mapping[str, Any]


class Lack(Struct, frozen=True, kw_only=True):
    """An attribute that is printed, how many of the contacts lack it, and what helps."""

    path: str
    contacts: int
    of: int
    hint: str


class Contact(Struct, frozen=True, kw_only=True, rename="camel"):
    """Somebody who can be written to."""

    id: UUID
    external_id: str
    name: str | None = None
    email: str | None = None
    phone: str | None = None
    whatsapp: str | None = None
    push_tokens: list[str] = []
    company: str | None = None
    status: str = "active"
    time_zone: str | None = None
    locale: str | None = None
    tags: list[str] = []
    attributes: Json = {}
    consent: Json = {}
    suppressions: Json = {}
    created_at: datetime | None = None
    updated_at: datetime | None = None


class UpsertedContact(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one of many contacts."""

    id: UUID
    external_id: str
    change: str


class RejectedLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of a file that was not stored, and why."""

    line: int
    problems: list[ProblemPlace] = []


class Imported(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a file's lines; the first of those that were rejected are named."""

    lines: int
    created: int
    updated: int
    unchanged: int
    rejected: int
    repeated: int = 0
    rejected_by_field: Mapping[str, int] = {}
    rejected_lines: list[RejectedLine] = []


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
