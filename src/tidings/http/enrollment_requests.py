"""The bodies of requests about enrollments."""

from typing import Annotated, Literal

from pydantic import Field

from tidings.http.audience_requests import Contacts, GivenAudience
from tidings.http.requests import ID, ContactReference, Given, Json, example
from tidings.views.enrollments import EnrollmentStatus

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
    """The status an enrollment should have."""

    model_config = example({"status": "paused"})
    status: Asked


class GivenEnrollmentFilter(Given):
    """Which live enrollments; every condition that is given must hold."""

    all: bool = Field(False, description="Every one of the sequence; then nothing else is given.")
    status: Annotated[EnrollmentStatus, Field(strict=False)] | None = None
    step_id: Word | None = Field(None, description="Those that come to this step next.")
    contact_ids: Contacts | None = None
    company: Word | None = None
    tag: Word | None = None
    contacts: Json | None = Field(None, description="A filter on their contacts, as in an audience.")


class GivenEnrollmentStatuses(Given):
    """The status that every matching enrollment should have."""

    model_config = example({"where": {"tag": "trial"}, "status": "paused"})
    where: GivenEnrollmentFilter
    status: Asked
