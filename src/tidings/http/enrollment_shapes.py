"""Enrollments and the logs of their steps, as models."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tidings.domain.sequences.enrollment import EnrollmentOutcome, EnrollmentStatus
from tidings.http.audience_shapes import Contacts, GivenAudience
from tidings.http.lack_shapes import Missing
from tidings.http.shapes import AT, CONTACT, ID, ContactName, ContactReference, Given, Json, Shape, example
from tidings.resources.shown_enrollments import Fate, LogStatus

EXAMPLE_ENROLLMENT: Json = {
    "id": ID,
    "contactId": ID,
    "contact": CONTACT,
    "sequenceId": ID,
    "sequenceName": "Onboarding",
    "sequenceVersion": 1,
    "currentStepIndex": 1,
    "currentStepId": ID,
    "nextStepAt": AT,
    "status": "active",
    "outcome": None,
    "messages": {"sent": 1, "failed": 0, "skipped": 0, "pending": 0},
    "enrolledAt": AT,
    "createdAt": AT,
    "completedAt": None,
    "reason": None,
}
Word = Annotated[str, Field(min_length=1, max_length=500)]
Asked = Literal["active", "paused", "cancelled"]


class GivenEnrollment(Given):
    """Whom to enroll."""

    model_config = example({"contactId": ID})
    contact_id: ContactReference


class GivenEnrolling(GivenAudience):
    """Whom to enroll: filters are joined by "and" and united with `contactIds`; exclusions are removed.

    An audience that names nobody is refused: for everyone say `all`.
    """

    model_config = example({"tag": "trial", "excludeContactIds": [ID]})
    include_cancelled: bool | None = Field(
        None, description="Enroll those anew who were in the sequence and cancelled: they get every step again."
    )
    dry_run: bool | None = Field(None, description="Only count what would be done.")


class GivenEnrollmentStatus(Given):
    """What becomes of an enrollment."""

    model_config = example({"status": "paused"})
    status: Asked


class GivenEnrollmentFilter(Given):
    """Which live enrollments; whatever is given must hold."""

    all: bool = Field(False, description="Every one of the sequence; then nothing else is given.")
    status: Annotated[EnrollmentStatus, Field(strict=False)] | None = None
    step_id: Word | None = Field(None, description="Those that come to this step next.")
    contact_ids: Contacts | None = None
    company: Word | None = None
    tag: Word | None = None


class GivenEnrollmentStatuses(Given):
    """What becomes of every enrollment that matches."""

    model_config = example({"where": {"tag": "trial"}, "status": "paused"})
    where: GivenEnrollmentFilter
    status: Asked


class MessageCounts(Shape):
    """How many messages have come to what; those in doubt are pending."""

    sent: int
    failed: int
    skipped: int
    pending: int


class Enrollment(Shape):
    """A contact on its way through a sequence."""

    model_config = example(EXAMPLE_ENROLLMENT)
    id: UUID
    contact_id: UUID
    contact: ContactName | None = Field(description="What the contact is called; null once it was deleted.")
    sequence_id: UUID
    sequence_name: str
    sequence_version: int
    current_step_index: int = Field(description="The step that comes next, from 0; at the end, the last one reached.")
    current_step_id: str | None
    next_step_at: datetime | None
    status: EnrollmentStatus
    outcome: EnrollmentOutcome | None = Field(
        description="What came of one that has ended: `completed` says only that every step was dealt with."
    )
    messages: MessageCounts
    enrolled_at: datetime
    created_at: datetime
    completed_at: datetime | None
    reason: str | None = Field(
        description="Why nothing more is sent, or not now; of a completed one, what was not sent and why."
    )


class EnrolledContact(Enrollment):
    """An enrollment, and whether it was there before."""

    model_config = example({**EXAMPLE_ENROLLMENT, "duplicate": False})
    duplicate: bool


class SkippedCounts(Shape):
    """Why contacts were not enrolled."""

    already_enrolled: int = Field(description="In the sequence now.")
    completed_before: int = Field(description="Has been through it, and the sequence allows no re-entry.")
    cancelled_before: int = Field(description="Was cancelled in it; `includeCancelled` enrolls them anew.")
    not_found: int = Field(description="Named, and not a contact of this workspace; or deleted meanwhile.")


class EnrolledCounts(Shape):
    """How many were enrolled, and why others were not."""

    enrolled_count: int
    reenrolled_count: int = Field(description="Those among the enrolled who had been cancelled.")
    skipped_count: int
    skipped: SkippedCounts
    dry_run: bool
    missing: Missing


class BatchEnrolled(Shape):
    """What an enrolling of many came to."""

    model_config = example(
        {
            "success": True,
            "data": {
                "enrolledCount": 998,
                "reenrolledCount": 0,
                "skippedCount": 2,
                "skipped": {"alreadyEnrolled": 1, "completedBefore": 0, "cancelledBefore": 0, "notFound": 1},
                "dryRun": False,
                "missing": [],
            },
        }
    )
    success: Literal[True] = True
    data: EnrolledCounts


class ChangedEnrollments(Shape):
    """For how many enrollments the change was new."""

    model_config = example({"count": 17})
    count: int


class StepLog(Shape):
    """One attempt at a step: what was to be sent, and what became of it."""

    model_config = example(
        {
            "id": ID,
            "enrollmentId": ID,
            "sequenceName": "Onboarding",
            "contactId": ID,
            "contact": CONTACT,
            "stepId": ID,
            "channel": "email",
            "recipient": "ada@example.com",
            "subject": "Welcome",
            "contentSnapshot": "Good day, Ada.",
            "status": "completed",
            "sentAt": AT,
            "error": None,
            "attempts": 1,
            "inDoubt": False,
            "createdAt": AT,
        }
    )
    id: UUID = Field(description="Of the message; the same for every attempt at it.")
    enrollment_id: UUID
    sequence_name: str | None
    contact_id: UUID | None
    contact: ContactName | None
    step_id: str
    channel: str
    recipient: str
    subject: str | None
    content_snapshot: str | None
    status: LogStatus
    sent_at: datetime | None
    error: str | None
    attempts: int
    in_doubt: bool
    created_at: datetime


class StepFate(Shape):
    """What happened to one step for the contact, what will, or why not."""

    step_id: str
    step_index: int
    channel: str
    fate: Fate
    at: datetime | None = Field(description="When it was settled; of a planned one, when it is due.")
    reason: str | None


class Why(Shape):
    """Why a contact did or did not get what a sequence sends."""

    model_config = example(
        {
            "contactId": ID,
            "contact": CONTACT,
            "sequenceId": ID,
            "sequenceName": "Onboarding",
            "enrolled": True,
            "reason": f"the contact was enrolled at {AT}",
            "enrollment": EXAMPLE_ENROLLMENT,
            "steps": [
                {
                    "stepId": ID,
                    "stepIndex": 0,
                    "channel": "email",
                    "fate": "skipped",
                    "at": AT,
                    "reason": "email is suppressed: unsubscribed",
                }
            ],
        }
    )
    contact_id: UUID
    contact: ContactName | None
    sequence_id: UUID
    sequence_name: str | None
    enrolled: bool
    reason: str
    enrollment: Enrollment | None
    steps: list[StepFate]
