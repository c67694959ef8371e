"""/v1/enrollments and what sequences and contacts show of them: enroll, watch, pause, resume, cancel, and ask why."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request
from starlette.responses import Response

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.messages import quoted
from tidings.domain.people.audience import read_audience
from tidings.domain.people.contact_fields import LONGEST_EXTERNAL_ID
from tidings.http.access import Operator, WorkReader
from tidings.http.answers import answer
from tidings.http.bodies import body_of, read_object
from tidings.http.edge import give_time
from tidings.http.enrollment_requests import (
    GivenEnrolling,
    GivenEnrollment,
    GivenEnrollmentStatus,
    GivenEnrollmentStatuses,
)
from tidings.http.openapi import ContactPath, CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.view_schemas import reference
from tidings.resources.enrollments import EnrollmentFilter, show_counts
from tidings.views.enrollments import (
    BatchEnrolled,
    ChangedEnrollments,
    EnrolledContact,
    Enrollment,
    EnrollmentLogs,
    EnrollmentStatus,
    StepLog,
    Why,
)
from tidings.views.pages import Page

NAMED = frozenset(["contactIds", "contact_ids", "excludeContactIds", "exclude_contact_ids"])
"""Fields of an audience whose values only the database knows."""
router = resource_router("Enrollments")
ContactId = Annotated[
    str, Query(alias="contactId", min_length=1, max_length=LONGEST_EXTERNAL_ID, description="Its id or its externalId.")
]


async def given_audience(request: Request) -> dict[str, Any]:
    """Return the body as it is: the domain reads it and reports every problem with its place."""
    return await read_object(request)


@router.post(
    "/v1/sequences/{id:uuid}/enrollments",
    status_code=201,
    responses={
        200: {
            "description": "The contact was enrolled before.",
            "content": {"application/json": {"schema": reference(EnrolledContact)}},
        }
    },
    openapi_extra=takes(GivenEnrollment),
)
async def enroll_contact(
    context: Operator, id: UUID, body: Annotated[GivenEnrollment, Depends(body_of(GivenEnrollment))]
) -> EnrolledContact | Response:
    """Enroll one contact in an active sequence; one that is in it already is answered with 200 and `duplicate`.

    One that was cancelled in it is enrolled anew, from the first step on.
    """
    enrolled = await context.engine.enrollments.enroll(context.caller, id, body.contact_id)
    return answer(enrolled, 200 if enrolled.duplicate else 201, {"Location": f"/v1/enrollments/{enrolled.id}"})


@router.post("/v1/sequences/{id:uuid}/batch-enroll", openapi_extra=takes(GivenEnrolling))
async def batch_enroll(
    context: Operator, id: UUID, request: Request, given: Annotated[dict[str, Any], Depends(given_audience)]
) -> BatchEnrolled:
    """Enroll everybody who is meant in an active sequence; safe to repeat, which enrolls only who is missing."""
    dry_run, include_cancelled = _flags(given)
    done = await context.engine.enrollments.batch_enroll(
        context.caller,
        id,
        given,
        include_cancelled=include_cancelled,
        dry_run=dry_run,
        on_progress=lambda _: give_time(request.scope),
    )
    return BatchEnrolled(data=show_counts(done, dry_run=dry_run))


def _flags(given: dict[str, Any]) -> tuple[bool, bool]:
    """Remove what is not part of the audience from a body: whether only to count, and whom to enroll again."""
    found = {
        "dryRun": given.pop("dryRun", given.pop("dry_run", None)),
        "includeCancelled": given.pop("includeCancelled", given.pop("include_cancelled", None)),
    }
    wrong = {name: value for name, value in found.items() if not isinstance(value, bool | None)}
    if wrong:
        filters = {name: value for name, value in given.items() if name not in NAMED}
        more = read_audience(filters, "", segments=False)[1] if filters else []
        said = [Problem(name, f"{quoted(value)} is not true or false") for name, value in wrong.items()]
        raise FieldsInvalid([*said, *more])
    return bool(found["dryRun"]), bool(found["includeCancelled"])


@router.get("/v1/sequences/{id:uuid}/enrollments")
async def list_enrollments(
    context: WorkReader,
    created: CreatedIn,
    id: UUID,
    status: EnrollmentStatus | None = None,
    step_id: Annotated[
        str | None, Query(alias="stepId", max_length=200, description="Those that come to this step next.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Enrollment]:
    """Who is or was in a sequence, newest first."""
    return await context.engine.enrollments.list(
        context.workspace, id, status=status, step_id=step_id, limit=limit, created=created, cursor=cursor
    )


@router.patch("/v1/sequences/{id:uuid}/enrollments", openapi_extra=takes(GivenEnrollmentStatuses))
async def update_enrollments(
    context: Operator, id: UUID, body: Annotated[GivenEnrollmentStatuses, Depends(body_of(GivenEnrollmentStatuses))]
) -> ChangedEnrollments:
    """Pause, resume or cancel every live enrollment of a sequence that matches; safe to repeat."""
    where = EnrollmentFilter(**body.where.model_dump())
    count = await context.engine.enrollments.set_status_of_many(
        context.caller, id, where, EnrollmentStatus(body.status)
    )
    return ChangedEnrollments(count=count)


@router.get("/v1/sequences/{id:uuid}/why")
async def explain_enrollment(context: WorkReader, id: UUID, contact_id: ContactId) -> Why:
    """Why a contact did or did not get what a sequence sends: each step with what happened, what will, or why not."""
    return await context.engine.enrollments.why(context.workspace, id, contact_id)


@router.get("/v1/sequences/{id:uuid}/steps/{stepId:uuid}/logs")
async def list_step_logs(
    context: WorkReader,
    created: CreatedIn,
    id: UUID,
    stepId: UUID,  # noqa: N803 – its name in the path
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[StepLog]:
    """What a step did for everyone, newest first; `limit` counts messages, each with all of its attempts."""
    return await context.engine.enrollments.logs.of_step(
        context.workspace, id, str(stepId), limit=limit, created=created, cursor=cursor
    )


@router.get("/v1/enrollments")
async def list_enrollments_of_contact(
    context: WorkReader,
    created: CreatedIn,
    contact_id: ContactId,
    status: EnrollmentStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Enrollment]:
    """The sequences that a contact is or was in, newest first."""
    return await context.engine.enrollments.list_of_contact(
        context.workspace, contact_id, status=status, limit=limit, created=created, cursor=cursor
    )


@router.get("/v1/enrollments/{id:uuid}")
async def get_enrollment(context: WorkReader, id: UUID) -> Enrollment:
    """One enrollment."""
    return await context.engine.enrollments.get(context.workspace, id)


@router.patch("/v1/enrollments/{id:uuid}", openapi_extra=takes(GivenEnrollmentStatus))
async def update_enrollment(
    context: Operator, id: UUID, body: Annotated[GivenEnrollmentStatus, Depends(body_of(GivenEnrollmentStatus))]
) -> Enrollment:
    """Pause, resume or cancel an enrollment. What is resumed keeps its plan: a time already past is due now."""
    return await context.engine.enrollments.set_status(context.caller, id, EnrollmentStatus(body.status))


@router.get("/v1/enrollments/{id:uuid}/logs")
async def get_enrollment_logs(context: WorkReader, id: UUID) -> EnrollmentLogs:
    """What each step of an enrollment did, in the order of time."""
    return EnrollmentLogs(items=await context.engine.enrollments.logs.of_enrollment(context.workspace, id))


@router.get("/v1/contacts/{id:path}/logs")
async def list_contact_logs(
    context: WorkReader, created: CreatedIn, id: ContactPath, limit: Limit = 50, cursor: Cursor = None
) -> Page[StepLog]:
    """What the steps of every sequence did for a contact, newest first; `limit` counts messages."""
    return await context.engine.enrollments.logs.of_contact(
        context.workspace, id, limit=limit, created=created, cursor=cursor
    )
