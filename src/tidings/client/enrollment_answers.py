"""What the API answers about enrollments, as typed records; fields that a newer server adds are left out."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.views.contacts import ContactName
from tidings.views.lacks import Lack


class MessageCounts(Struct, frozen=True, kw_only=True):
    """How many messages of an enrollment have come to what; those in doubt are pending."""

    sent: int = 0
    failed: int = 0
    skipped: int = 0
    pending: int = 0


class Enrollment(Struct, frozen=True, kw_only=True, rename="camel"):
    """A contact on its way through a sequence."""

    id: UUID
    contact_id: UUID
    sequence_id: UUID
    status: str
    contact: ContactName | None = None
    sequence_name: str | None = None
    sequence_version: int | None = None
    current_step_index: int = 0
    current_step_id: str | None = None
    next_step_at: datetime | None = None
    outcome: str | None = None
    messages: MessageCounts = MessageCounts()
    enrolled_at: datetime | None = None
    created_at: datetime | None = None
    completed_at: datetime | None = None
    reason: str | None = None


class Enrolled(Struct, frozen=True, kw_only=True):
    """An enrollment, and whether it was there before."""

    enrollment: Enrollment
    duplicate: bool = False


class SkippedCounts(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why contacts were not enrolled."""

    already_enrolled: int = 0
    completed_before: int = 0
    cancelled_before: int = 0
    not_found: int = 0


class BatchEnrolled(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many were enrolled, and why others were not."""

    enrolled_count: int
    skipped_count: int
    reenrolled_count: int = 0
    skipped: SkippedCounts = SkippedCounts()
    dry_run: bool = False
    missing: list[Lack] = []


class StepLog(Struct, frozen=True, kw_only=True, rename="camel"):
    """One attempt at a step: what was to be sent, and what became of it."""

    id: UUID
    enrollment_id: UUID
    step_id: str
    channel: str
    status: str
    contact_id: UUID | None = None
    contact: ContactName | None = None
    sequence_name: str | None = None
    recipient: str | None = None
    subject: str | None = None
    content_snapshot: str | None = None
    sent_at: datetime | None = None
    error: str | None = None
    attempts: int = 0
    in_doubt: bool = False
    created_at: datetime | None = None


class StepFate(Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened to one step for a contact, what will, or why not."""

    step_id: str
    step_index: int
    channel: str
    fate: str
    at: datetime | None = None
    reason: str | None = None


class Why(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a contact did or did not get what a sequence sends."""

    contact_id: UUID
    sequence_id: UUID
    enrolled: bool
    reason: str
    contact: ContactName | None = None
    sequence_name: str | None = None
    enrollment: Enrollment | None = None
    steps: list[StepFate] = []
