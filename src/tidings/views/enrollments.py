"""Enrollments: contacts on their way through sequences, what each step did for them, and why."""

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
        """Return whether nothing more is sent."""
        return self is EnrollmentStatus.COMPLETED or self is EnrollmentStatus.CANCELLED


class EnrollmentOutcome(StrEnum):
    """What an enrollment that has ended achieved; the status `completed` says only that every step was dealt with."""

    SENT = "sent"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"


class LogStatus(StrEnum):
    """The states of a message of a step, as its log shows them."""

    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Fate(StrEnum):
    """What happened to a step for one contact, or will: the states of a log, and two for steps that have no log."""

    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    PLANNED = "planned"
    NEVER = "never"


class MessageCounts(View, frozen=True, kw_only=True):
    """How many messages have reached which state; messages in doubt count as pending."""

    sent: int = 0
    failed: Annotated[int, doc(example=0)] = 0
    skipped: Annotated[int, doc(example=0)] = 0
    pending: Annotated[int, doc(example=0)] = 0

    @property
    def total(self) -> int:
        """Return the number of all messages."""
        return self.sent + self.failed + self.skipped + self.pending


class Enrollment(View, frozen=True, kw_only=True):
    """A contact on its way through a sequence."""

    id: Id
    contact_id: Id
    contact: Annotated[ContactName | None, doc("The contact's names; null once the contact is deleted.")] = None
    sequence_id: Id
    sequence_name: Annotated[str, _NAME] = ""
    sequence_version: int = 0
    current_step_index: Annotated[
        int, doc("The index, from 0, of the step that comes next; at the end, of the last step reached.")
    ] = 0
    current_step_id: Annotated[str | None, _STEP] = None
    next_step_at: Annotated[
        Time | None, doc("When the next step is planned; null at the end.", "2026-03-02T09:00:00Z")
    ] = None
    status: EnrollmentStatus
    outcome: Annotated[
        EnrollmentOutcome | None,
        doc("What an ended enrollment achieved; the status `completed` says only that every step was dealt with."),
    ] = None
    messages: MessageCounts = MessageCounts()
    enrolled_at: Time
    created_at: Annotated[Time, doc("The same as `enrolledAt`.")]
    completed_at: Time | None = None
    reason: Annotated[
        str | None,
        doc("Why nothing more is sent, or nothing now; for a completed enrollment, what was not sent and why."),
    ] = None


class EnrolledContact(Enrollment, frozen=True, kw_only=True):
    """An enrollment, and whether it existed before."""

    duplicate: bool = False


class SkippedCounts(View, frozen=True, kw_only=True):
    """Why contacts were not enrolled."""

    already_enrolled: Annotated[int, doc("Contacts who are in the sequence now.")] = 0
    completed_before: Annotated[
        int, doc("Contacts who have been through the sequence, which allows no re-entry.", 0)
    ] = 0
    cancelled_before: Annotated[
        int, doc("Contacts whose enrollment was cancelled; `includeCancelled` enrolls them again.", 0)
    ] = 0
    not_found: Annotated[
        int, doc("Contacts who are named but not in this workspace, or were deleted in the meantime.")
    ] = 0


class EnrolledCounts(View, frozen=True, kw_only=True):
    """How many contacts were enrolled, and why the others were not."""

    enrolled_count: Annotated[int, doc(example=998)]
    reenrolled_count: Annotated[
        int, doc("Those among the enrolled whose earlier enrollment had been cancelled.", 0)
    ] = 0
    skipped_count: Annotated[int, doc(example=2)]
    skipped: SkippedCounts = SkippedCounts()
    dry_run: bool = False
    missing: Annotated[
        Sequence[Lack],
        doc("Attributes that the templates print and that some contacts lack; their message would fail."),
    ] = ()


class BatchEnrolled(View, frozen=True, kw_only=True):
    """The result of enrolling many contacts."""

    success: Annotated[bool, Meta(extra_json_schema={"const": True}, examples=[True])] = True
    data: EnrolledCounts


class ChangedEnrollments(View, frozen=True, kw_only=True):
    """The number of enrollments that a change of status has changed."""

    count: Annotated[int, doc(example=17)]


class StepLog(View, frozen=True, kw_only=True):
    """One attempt at a step: what was to be sent, and what became of it."""

    id: Annotated[Id, doc("The message's id, the same for every attempt at it.")]
    enrollment_id: Id
    sequence_name: Annotated[str | None, _NAME] = None
    contact_id: Id | None = None
    contact: ContactName | None = None
    step_id: Annotated[str, _STEP]
    channel: Annotated[str, _CHANNEL]
    recipient: Annotated[str, doc(example="ada@example.com")] = ""
    subject: Annotated[str | None, doc(example="Welcome")] = None
    content_snapshot: Annotated[
        str | None,
        doc("The rendered body; null before it is rendered, and after the contact is erased.", "Good day, Ada."),
    ] = None
    status: Annotated[LogStatus, doc(example="completed")]
    sent_at: Annotated[Time | None, doc(example="2026-03-02T09:00:00Z")] = None
    error: str | None = None
    attempts: Annotated[int, doc("The number of attempts up to this one.")] = 0
    in_doubt: bool = False
    created_at: Time


class EnrollmentLogs(View, frozen=True, kw_only=True):
    """What each step of an enrollment did, in the order of time; never long enough to need pages."""

    items: Sequence[StepLog] = field(name="data")


class StepFate(View, frozen=True, kw_only=True):
    """What happened to one step for the contact, what will happen, or why nothing will."""

    step_id: Annotated[str, _STEP]
    step_index: Annotated[int, doc(example=0)]
    channel: Annotated[str, _CHANNEL]
    fate: Annotated[Fate, doc(example="skipped")]
    at: Annotated[
        Time | None, doc("When the step was settled; for a planned step, when it is due.", "2026-03-02T09:00:00Z")
    ] = None
    reason: Annotated[str | None, doc(example="email is suppressed: unsubscribed")] = None


class Why(View, frozen=True, kw_only=True):
    """Why a contact did or did not receive what a sequence sends."""

    contact_id: Id
    contact: ContactName | None = None
    sequence_id: Id
    sequence_name: Annotated[str | None, _NAME] = None
    enrolled: Annotated[bool, doc("Whether the contact is in the sequence now.", example=True)]
    reason: Annotated[str, doc(example="the contact was enrolled at 2026-03-02T09:00:00Z")]
    enrollment: Enrollment | None = None
    steps: Sequence[StepFate] = ()
