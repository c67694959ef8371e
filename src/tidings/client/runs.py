"""`client.runs` and `client.outbox`: what became of a deploy, and of each of its items."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal
from uuid import UUID

from tidings.client.errors import WaitTimeout
from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to, read
from tidings.views.outbox import HistoryLine, Resolved, ResolvedItems
from tidings.views.outbox import ItemDetail as Item
from tidings.views.pages import Everything
from tidings.views.runs import Job, JobHistoryLine, Retry, Run, TraceLine

PATH = "/v1/runs"
OUTBOX = "/v1/outbox"
Outcome = Literal["sent", "resend", "failed"]


class Runs:
    """Watches and controls runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, id: UUID | str) -> Run:
        """Return one run; its counts always add up to `planned`."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), Run)

    def list(
        self,
        *,
        campaign_id: UUID | str | None = None,
        status: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Run]:
        """Yield runs, newest first; each page is fetched as the iterator needs it."""
        query = {"campaignId": str(campaign_id) if campaign_id else None, "status": status, "limit": page_size}
        return pages(self._transport, PATH, query, Run, created_after, created_before)

    def jobs(
        self, id: UUID | str, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[Job]:
        """Yield the jobs of a run."""
        return pages(
            self._transport, path_to(PATH, id, "jobs"), {"limit": page_size}, Job, created_after, created_before
        )

    def items(
        self,
        id: UUID | str,
        *,
        status: str | None = None,
        in_doubt: bool | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Item]:
        """Yield the items of a run, newest first."""
        query = {"status": status, "inDoubt": in_doubt, "limit": page_size}
        return pages(self._transport, path_to(PATH, id, "items"), query, Item, created_after, created_before)

    async def history(self, id: UUID | str) -> Sequence[HistoryLine]:
        """Return every change of a run's state, and every person's action on it."""
        request = ApiRequest("GET", path_to(PATH, id, "history"))
        return (await self._transport.ask(request, Everything[HistoryLine])).items

    def job_history(
        self,
        id: UUID | str,
        *,
        job_id: UUID | str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[JobHistoryLine]:
        """Yield every change of the state of a run's jobs, or of one of them, in the order it happened."""
        query = {"jobId": str(job_id) if job_id else None, "limit": page_size}
        return pages(
            self._transport, path_to(PATH, id, "jobs", "history"), query, JobHistoryLine, created_after, created_before
        )

    async def trace(
        self, id: UUID | str, *, status: str | None = None, in_doubt: bool | None = None
    ) -> AsyncIterator[TraceLine]:
        """Yield everything about a run as one stream, however large it is."""
        request = ApiRequest(
            "GET",
            path_to(PATH, id, "trace"),
            query={"status": status, "inDoubt": in_doubt},
            headers={"accept": "application/x-ndjson"},
        )
        async with self._transport.stream(request) as lines:
            async for line in lines:
                if line:
                    yield read(line.encode(), TraceLine)

    async def wait(self, id: UUID | str, *, poll: float = 2.0, timeout: float = 3600.0) -> Run:
        """Return the run once it has ended; raise WaitTimeout after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            run = await self.get(id)
            left = deadline - time.monotonic()
            if run.has_ended:
                return run
            if left <= 0:
                raise WaitTimeout(id, timeout, run.status, what="run")
            await asyncio.sleep(min(poll, left))

    async def pause(self, id: UUID | str) -> Run:
        """Stop sending for a run until it is resumed."""
        return await self._tell(id, "pause")

    async def resume(self, id: UUID | str) -> Run:
        """Let a paused run go on."""
        return await self._tell(id, "resume")

    async def cancel(self, id: UUID | str) -> Run:
        """Skip every item of a run that has not been called yet."""
        return await self._tell(id, "cancel")

    async def retry(
        self,
        id: UUID | str,
        *,
        error: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> Retry:
        """Try again what failed, and nothing else, in a new run; a dry run only says what it would send."""
        body: dict[str, object] = {"where": {"error": error} if error else {}, "dryRun": dry_run}
        if idempotency_key is not None:
            body["idempotencyKey"] = idempotency_key
        repeatable = dry_run or idempotency_key is not None
        return await self._transport.ask(
            ApiRequest("POST", path_to(PATH, id, "retry"), body, repeatable=repeatable), Retry
        )

    async def resolve(
        self, id: UUID | str, outcome: Outcome, note: str, item_ids: Sequence[UUID | str] | None = None
    ) -> Resolved:
        """End the doubt about a run's items that are in doubt, or only about the named ones."""
        body: dict[str, object] = {"outcome": outcome, "note": note}
        if item_ids is not None:
            body["itemIds"] = [str(one) for one in item_ids]
        return await self._transport.ask(
            ApiRequest("POST", path_to(PATH, id, "resolve"), body, repeatable=False), Resolved
        )

    async def _tell(self, id: UUID | str, verb: str) -> Run:
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, verb)), Run)


class Outbox:
    """Looks at every intended provider action."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        status: str | None = None,
        channel: str | None = None,
        in_doubt: bool | None = None,
        run_id: UUID | str | None = None,
        execution_id: UUID | str | None = None,
        event_id: UUID | str | None = None,
        contact_id: UUID | str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Item]:
        """Yield items, newest first; each page is fetched as the iterator needs it."""
        query = {
            "status": status,
            "channel": channel,
            "inDoubt": in_doubt,
            "runId": str(run_id) if run_id else None,
            "executionId": str(execution_id) if execution_id else None,
            "eventId": str(event_id) if event_id else None,
            "contactId": str(contact_id) if contact_id else None,
            "limit": page_size,
        }
        return pages(self._transport, OUTBOX, query, Item, created_after, created_before)

    async def get(self, id: UUID | str) -> Item:
        """Return one item with what was sent, what went wrong with it, and what people did about it."""
        return await self._transport.ask(ApiRequest("GET", path_to(OUTBOX, id)), Item)

    async def resolve(self, id: UUID | str, outcome: Outcome, note: str) -> Item:
        """End the doubt about an item; the note says what proves it."""
        body = {"outcome": outcome, "note": note}
        request = ApiRequest("POST", path_to(OUTBOX, id, "resolve"), body, repeatable=False)
        return await self._transport.ask(request, Item)

    async def resolve_many(
        self,
        outcome: Outcome,
        note: str,
        *,
        ids: Sequence[UUID | str] | None = None,
        where: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> ResolvedItems:
        """End the doubt about named items, or about all that match `provider`, `channel`, `runId` and `olderThan`."""
        chosen = {"ids": None if ids is None else [str(id) for id in ids], "where": where}
        body = {"outcome": outcome, "note": note, "dryRun": dry_run, **chosen}
        return await self._transport.ask(
            ApiRequest("POST", f"{OUTBOX}/resolve", body, repeatable=dry_run), ResolvedItems
        )
