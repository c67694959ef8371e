"""Enrollments: contacts on their way through sequences, what their steps did, and why."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from tidings.views.contacts import ContactName
from tidings.views.lacks import Lack
from tidings.views.view import Id, Time, View, doc

_NAME = doc(example="Onboarding")
_STEP = doc(example="019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f")
_CHANNEL = doc(example="email")


class EnrollmentStatus(StrEnum):
    """The states of an enrollment."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is sent."""
        return self is EnrollmentStatus.COMPLETED or self is EnrollmentStatus.CANCELLED


class EnrollmentOutcome(StrEnum):
    """What came of an enrollment that has ended: that it completed says only that every step was dealt with."""

    SENT = "sent"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"


class LogStatus(StrEnum):
    """What became of a message of a step."""

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


class MessageCounts(View, frozen=True, kw_only=True):
    """How many messages have come to what; those in doubt are pending."""

    sent: int = 0
    failed: Annotated[int, doc(example=0)] = 0
    skipped: Annotated[int, doc(example=0)] = 0
    pending: Annotated[int, doc(example=0)] = 0

    @property
    def total(self) -> int:
        """Every message."""
        return self.sent + self.failed + self.skipped + self.pending


class Enrollment(View, frozen=True, kw_only=True):
    """A contact on its way through a sequence."""

    id: Id
    contact_id: Id
    contact: Annotated[ContactName | None, doc("What the contact is called; null once it was deleted.")] = None
    sequence_id: Id
    sequence_name: Annotated[str, _NAME] = ""
    sequence_version: int = 0
    current_step_index: Annotated[int, doc("The step that comes next, from 0; at the end, the last one reached.")] = 0
    current_step_id: Annotated[str | None, _STEP] = None
    next_step_at: Annotated[Time | None, doc("When that is planned; null at the end.", "2026-03-02T09:00:00Z")] = None
    status: EnrollmentStatus
    outcome: Annotated[
        EnrollmentOutcome | None,
        doc("What came of one that has ended: `completed` says only that every step was dealt with."),
    ] = None
    messages: MessageCounts = MessageCounts()
    enrolled_at: Time
    created_at: Annotated[Time, doc("The same moment.")]
    completed_at: Time | None = None
    reason: Annotated[
        str | None, doc("Why nothing more is sent, or not now; of a completed one, what was not sent and why.")
    ] = None


class EnrolledContact(Enrollment, frozen=True, kw_only=True):
    """An enrollment, and whether it was there before."""

    duplicate: bool = False


class SkippedCounts(View, frozen=True, kw_only=True):
    """Why contacts were not enrolled."""

    already_enrolled: Annotated[int, doc("In the sequence now.")] = 0
    completed_before: Annotated[int, doc("Has been through it, and the sequence allows no re-entry.", 0)] = 0
    cancelled_before: Annotated[int, doc("Was cancelled in it; `includeCancelled` enrolls them anew.", 0)] = 0
    not_found: Annotated[int, doc("Named, and not a contact of this workspace; or deleted meanwhile.")] = 0


class EnrolledCounts(View, frozen=True, kw_only=True):
    """How many were enrolled, and why others were not."""

    enrolled_count: Annotated[int, doc(example=998)]
    reenrolled_count: Annotated[int, doc("Those among the enrolled who had been cancelled.", 0)] = 0
    skipped_count: Annotated[int, doc(example=2)]
    skipped: SkippedCounts = SkippedCounts()
    dry_run: bool = False
    missing: Annotated[
        Sequence[Lack], doc("Attributes that are printed and that some lack; their message would fail.")
    ] = ()


class BatchEnrolled(View, frozen=True, kw_only=True):
    """What an enrolling of many came to."""

    success: Annotated[bool, Meta(extra_json_schema={"const": True}, examples=[True])] = True
    data: EnrolledCounts


class ChangedEnrollments(View, frozen=True, kw_only=True):
    """For how many enrollments the change was new."""

    count: Annotated[int, doc(example=17)]


class StepLog(View, frozen=True, kw_only=True):
    """One attempt at a step: what was to be sent, and what became of it."""

    id: Annotated[Id, doc("Of the message; the same for every attempt at it.")]
    enrollment_id: Id
    sequence_name: Annotated[str | None, _NAME] = None
    contact_id: Id | None = None
    contact: ContactName | None = None
    step_id: Annotated[str, _STEP]
    channel: Annotated[str, _CHANNEL]
    recipient: Annotated[str, doc(example="ada@example.com")] = ""
    subject: Annotated[str | None, doc(example="Welcome")] = None
    content_snapshot: Annotated[
        str | None, doc("Null before anything was rendered, and after the contact was erased.", "Good day, Ada.")
    ] = None
    status: Annotated[LogStatus, doc(example="completed")]
    sent_at: Annotated[Time | None, doc(example="2026-03-02T09:00:00Z")] = None
    error: str | None = None
    attempts: Annotated[int, doc("How many attempts there have been by then.")] = 0
    in_doubt: bool = False
    created_at: Time


class EnrollmentLogs(View, frozen=True, kw_only=True):
    """What each step of an enrollment did, in the order of time; a list that is never long."""

    items: Sequence[StepLog] = field(name="data")


class StepFate(View, frozen=True, kw_only=True):
    """What happened to one step for the contact, what will, or why not."""

    step_id: Annotated[str, _STEP]
    step_index: Annotated[int, doc(example=0)]
    channel: Annotated[str, _CHANNEL]
    fate: Annotated[Fate, doc(example="skipped")]
    at: Annotated[
        Time | None, doc("When it was settled; of a planned one, when it is due.", "2026-03-02T09:00:00Z")
    ] = None
    reason: Annotated[str | None, doc(example="email is suppressed: unsubscribed")] = None


class Why(View, frozen=True, kw_only=True):
    """Why a contact did or did not get what a sequence sends."""

    contact_id: Id
    contact: ContactName | None = None
    sequence_id: Id
    sequence_name: Annotated[str | None, _NAME] = None
    enrolled: Annotated[bool, doc("Whether it is in the sequence now.", example=True)]
    reason: Annotated[str, doc(example="the contact was enrolled at 2026-03-02T09:00:00Z")]
    enrollment: Enrollment | None = None
    steps: Sequence[StepFate] = ()
