"""`client.enrollments`: contacts on their way through sequences."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from tidings.client.enrollment_answers import BatchEnrolled, Enrolled, Enrollment, StepLog, Why
from tidings.client.pages import Time, pages
from tidings.client.transport import Request, Transport, path_to, read

PATH = "/v1/enrollments"
SEQUENCES = "/v1/sequences"
Ids = Sequence[UUID | str]


class _Duplicate(msgspec.Struct):
    """What the answer says beside the enrollment."""

    duplicate: bool = False


class _Counted(msgspec.Struct):
    """What stands in the answer's envelope."""

    data: BatchEnrolled


class _Changed(msgspec.Struct):
    """For how many a change was new."""

    count: int


class _Logs(msgspec.Struct):
    """What each step did."""

    data: list[StepLog]


class Enrollments:
    """Enroll contacts, and watch, pause, resume or cancel what they are in."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def enroll(self, sequence_id: UUID | str, contact_id: UUID | str) -> Enrolled:
        """One contact in an active sequence; the same again changes nothing, and who was cancelled is enrolled anew."""
        request = Request("POST", path_to(SEQUENCES, sequence_id, "enrollments"), {"contactId": str(contact_id)})
        answer = await self._transport.send(request)
        return Enrolled(enrollment=read(answer, Enrollment), duplicate=read(answer, _Duplicate).duplicate)

    async def batch_enroll(
        self,
        sequence_id: UUID | str,
        *,
        everyone: bool = False,
        contact_ids: Ids = (),
        company: str | None = None,
        tag: str | None = None,
        status: str | None = None,
        exclude_contact_ids: Ids = (),
        include_cancelled: bool = False,
        dry_run: bool = False,
        timeout: float = 3600.0,
    ) -> BatchEnrolled:
        """Everybody who is meant in an active sequence; the same again enrolls only who is missing.

        With `include_cancelled` those are enrolled anew who were in the sequence and cancelled.
        """
        given: Mapping[str, Any] = {
            "all": everyone,
            "contactIds": [str(id) for id in contact_ids],
            "company": company,
            "tag": tag,
            "status": status,
            "excludeContactIds": [str(id) for id in exclude_contact_ids],
            "includeCancelled": include_cancelled,
            "dryRun": dry_run,
        }
        body = {name: value for name, value in given.items() if value not in (None, False, [])}
        request = Request("POST", path_to(SEQUENCES, sequence_id, "batch-enroll"), body, timeout=timeout)
        return (await self._transport.ask(request, _Counted)).data

    async def get(self, id: UUID | str) -> Enrollment:
        """One enrollment."""
        return await self._transport.ask(Request("GET", path_to(PATH, id)), Enrollment)

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
        """Who is or was in a sequence, newest first, page by page as the iterator is used."""
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
        """The sequences that a contact is or was in, newest first."""
        query = {"contactId": str(contact_id), "status": status, "limit": page_size}
        return pages(self._transport, PATH, query, Enrollment, created_after, created_before)

    async def pause(self, id: UUID | str) -> Enrollment:
        """Let nothing more of it leave until it is resumed."""
        return await self._set_status(id, "paused")

    async def resume(self, id: UUID | str) -> Enrollment:
        """Let it go on as planned; a time already past is due now."""
        return await self._set_status(id, "active")

    async def cancel(self, id: UUID | str) -> Enrollment:
        """End it; nothing more is sent."""
        return await self._set_status(id, "cancelled")

    async def set_status_of_many(self, sequence_id: UUID | str, status: str, where: Mapping[str, Any]) -> int:
        """Every live enrollment that matches paused, active or cancelled; gives for how many that was new.

        `where` has any of `status`, `stepId`, `contactIds`, `company` and `tag`, or `all` alone.
        """
        request = Request(
            "PATCH", path_to(SEQUENCES, sequence_id, "enrollments"), {"where": where, "status": status}, timeout=3600.0
        )
        return (await self._transport.ask(request, _Changed)).count

    async def logs(self, id: UUID | str) -> Sequence[StepLog]:
        """What each step of an enrollment did, in the order of time."""
        return (await self._transport.ask(Request("GET", path_to(PATH, id, "logs")), _Logs)).data

    def logs_of_contact(
        self, contact_id: UUID | str, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[StepLog]:
        """What the steps of every sequence did for a contact, newest first."""
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
        """What a step did for everyone, newest first."""
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
        """Why a contact did or did not get what a sequence sends."""
        request = Request("GET", path_to(SEQUENCES, sequence_id, "why"), query={"contactId": str(contact_id)})
        return await self._transport.ask(request, Why)

    async def _set_status(self, id: UUID | str, status: str) -> Enrollment:
        return await self._transport.ask(Request("PATCH", path_to(PATH, id), {"status": status}), Enrollment)
