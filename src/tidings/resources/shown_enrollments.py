"""What people are shown of enrollments and their steps, and what they ask with. The edges only change the spelling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from tidings.domain.people.contact import ContactReference
from tidings.domain.sequences.enrollment import EnrollmentOutcome, EnrollmentStatus
from tidings.views.contacts import ContactName

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """How many messages of an enrollment have come to what; those in doubt are pending."""

    sent: int = 0
    failed: int = 0
    skipped: int = 0
    pending: int = 0

    @property
    def total(self) -> int:
        """Every message."""
        return self.sent + self.failed + self.skipped + self.pending


class LogStatus(StrEnum):
    """What became of a step."""

    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Fate(StrEnum):
    """What happened to a step for one contact, or will: a log's words, and two for what is in no log."""

    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    PLANNED = "planned"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ShownEnrollment:
    """An enrollment as a person sees it."""

    id: UUID
    contact_id: UUID
    contact: ContactName | None
    """What the contact is called; None once it was deleted."""
    sequence_id: UUID
    sequence_name: str
    sequence_version: int
    current_step_index: int
    """The step that comes next, counted from 0; at the end, the last one that was reached."""
    current_step_id: str | None
    next_step_at: datetime | None
    """When the next step is planned; None at the end."""
    status: EnrollmentStatus
    outcome: EnrollmentOutcome | None
    """None before the end, and where nothing was to be sent."""
    messages: MessageCounts
    enrolled_at: datetime
    created_at: datetime
    """The same moment."""
    completed_at: datetime | None
    reason: str | None
    """Why nothing more is sent, or not now; of one that has completed, what was not sent and why."""


@dataclass(frozen=True, slots=True)
class Enrolled:
    """An enrollment that is new, or was there already."""

    enrollment: ShownEnrollment
    duplicate: bool


@dataclass(frozen=True, slots=True)
class EnrollmentFilter:
    """Which enrollments of a sequence; whatever is given must hold, and `all` says that nothing needs to."""

    all: bool = False
    status: EnrollmentStatus | None = None
    step_id: str | None = None
    contact_ids: Sequence[ContactReference] | None = None
    company: str | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class StepLog:
    """One attempt at a step: what was to be sent, and what became of it."""

    id: UUID
    """Of the item in the outbox; the same for every attempt at it."""
    enrollment_id: UUID
    contact_id: UUID | None
    step_id: str
    channel: str
    recipient: str
    subject: str | None
    content_snapshot: str | None
    """None before anything was rendered, and after the contact was erased."""
    status: LogStatus
    sent_at: datetime | None
    error: str | None
    attempts: int
    """How many attempts there have been by then."""
    in_doubt: bool
    created_at: datetime
    contact: ContactName | None = None
    sequence_name: str | None = None


@dataclass(frozen=True, slots=True)
class StepFate:
    """What happened to one step for a contact, what will, or why not."""

    step_id: str
    step_index: int
    channel: str
    fate: Fate
    at: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Why:
    """Why a contact did or did not get what a sequence sends."""

    contact_id: UUID
    sequence_id: UUID
    enrolled: bool
    """Whether it is in the sequence now."""
    reason: str
    enrollment: ShownEnrollment | None
    steps: Sequence[StepFate] = field(default_factory=list)
    contact: ContactName | None = None
    sequence_name: str | None = None
