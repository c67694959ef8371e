"""`client.enrollments`: contacts on their way through sequences."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from msgspec import Struct

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.enrollments import (
    BatchEnrolled,
    ChangedEnrollments,
    EnrolledContact,
    EnrolledCounts,
    Enrollment,
    EnrollmentLogs,
    StepLog,
    Why,
)

PATH = "/v1/enrollments"
SEQUENCES = "/v1/sequences"
Ids = Sequence[UUID | str]


class Enrolled(Struct, frozen=True, kw_only=True):
    """An enrollment, and whether it existed before."""

    enrollment: Enrollment
    duplicate: bool = False


class Enrollments:
    """Enrolls contacts, and shows, pauses, resumes and cancels their enrollments."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def enroll(self, sequence_id: UUID | str, contact_id: UUID | str) -> Enrolled:
        """Enroll a contact in an active sequence, again if it was cancelled; repeating the call changes nothing."""
        request = ApiRequest("POST", path_to(SEQUENCES, sequence_id, "enrollments"), {"contactId": str(contact_id)})
        found = await self._transport.ask(request, EnrolledContact)
        return Enrolled(enrollment=found, duplicate=found.duplicate)

    async def batch_enroll(
        self,
        sequence_id: UUID | str,
        *,
        everyone: bool = False,
        contact_ids: Ids = (),
        company: str | None = None,
        tag: str | None = None,
        status: str | None = None,
        where: Mapping[str, Any] | None = None,
        exclude: Mapping[str, Any] | None = None,
        exclude_contact_ids: Ids = (),
        include_cancelled: bool = False,
        dry_run: bool = False,
        timeout: float = 3600.0,
    ) -> EnrolledCounts:
        """Enroll an audience in an active sequence; repeating enrolls only contacts who are missing.

        `where` and `exclude` are filters as in an audience: those who must match, and those who are left out.
        `include_cancelled` enrolls again those whose enrollment in the sequence was cancelled.
        """
        given: Mapping[str, Any] = {
            "all": everyone or ([where] if where else False),
            "exclude": exclude,
            "contactIds": [str(id) for id in contact_ids],
            "company": company,
            "tag": tag,
            "status": status,
            "excludeContactIds": [str(id) for id in exclude_contact_ids],
            "includeCancelled": include_cancelled,
            "dryRun": dry_run,
        }
        body = {name: value for name, value in given.items() if value not in (None, False, [])}
        request = ApiRequest("POST", path_to(SEQUENCES, sequence_id, "batch-enroll"), body, timeout=timeout)
        return (await self._transport.ask(request, BatchEnrolled)).data

    async def get(self, id: UUID | str) -> Enrollment:
        """Return one enrollment."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), Enrollment)

    def list(
        self,
        sequence_id: UUID | str,
        *,
        status: str | None = None,
        step_id: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Enrollment]:
        """Yield the enrollments in a sequence, ended ones too, newest first; pages are fetched as needed."""
        query = {"status": status, "stepId": step_id, "limit": page_size}
        return pages(
            self._transport,
            path_to(SEQUENCES, sequence_id, "enrollments"),
            query,
            Enrollment,
            created_after,
            created_before,
        )

    def list_of_contact(
        self,
        contact_id: UUID | str,
        *,
        status: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Enrollment]:
        """Yield a contact's enrollments in all sequences, newest first."""
        query = {"contactId": str(contact_id), "status": status, "limit": page_size}
        return pages(self._transport, PATH, query, Enrollment, created_after, created_before)

    async def pause(self, id: UUID | str) -> Enrollment:
        """Stop sending for an enrollment until it is resumed."""
        return await self._set_status(id, "paused")

    async def resume(self, id: UUID | str) -> Enrollment:
        """Let an enrollment go on as planned; a time already past is due now."""
        return await self._set_status(id, "active")

    async def cancel(self, id: UUID | str) -> Enrollment:
        """End an enrollment; nothing more is sent."""
        return await self._set_status(id, "cancelled")

    async def set_status_of_many(self, sequence_id: UUID | str, status: str, where: Mapping[str, Any]) -> int:
        """Pause, resume or cancel every live enrollment that matches; return how many that changed.

        `where` has any of `status`, `stepId`, `contactIds`, `company`, `tag` and `contacts`, a filter as in an
        audience; or `all` alone.
        """
        request = ApiRequest(
            "PATCH", path_to(SEQUENCES, sequence_id, "enrollments"), {"where": where, "status": status}, timeout=3600.0
        )
        return (await self._transport.ask(request, ChangedEnrollments)).count

    async def logs(self, id: UUID | str) -> Sequence[StepLog]:
        """Return what each step of an enrollment did, in the order of time."""
        return (await self._transport.ask(ApiRequest("GET", path_to(PATH, id, "logs")), EnrollmentLogs)).items

    def logs_of_contact(
        self, contact_id: UUID | str, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[StepLog]:
        """Yield what the steps of every sequence did for a contact, newest first."""
        return pages(
            self._transport,
            path_to("/v1/contacts", contact_id, "logs"),
            {"limit": page_size},
            StepLog,
            created_after,
            created_before,
        )

    def logs_of_step(
        self,
        sequence_id: UUID | str,
        step_id: str,
        *,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[StepLog]:
        """Yield what a step did for everyone, newest first."""
        steps = path_to(SEQUENCES, sequence_id, "steps")
        return pages(
            self._transport,
            path_to(steps, step_id, "logs"),
            {"limit": page_size},
            StepLog,
            created_after,
            created_before,
        )

    async def why(self, sequence_id: UUID | str, contact_id: UUID | str) -> Why:
        """Explain why a contact did or did not receive what a sequence sends."""
        request = ApiRequest("GET", path_to(SEQUENCES, sequence_id, "why"), query={"contactId": str(contact_id)})
        return await self._transport.ask(request, Why)

    async def _set_status(self, id: UUID | str, status: str) -> Enrollment:
        return await self._transport.ask(ApiRequest("PATCH", path_to(PATH, id), {"status": status}), Enrollment)
