"""`client.executions` and `client.dead_letters`: what was triggered, and what became of it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from uuid import UUID

import httpx2

from tidings.client.errors import ApiError
from tidings.client.pages import Time, pages
from tidings.client.transport import PASSING, TOO_MANY, ApiRequest, Transport, path_to, read
from tidings.views.executions import Execution, ExecutionPath, LogLine, Replay
from tidings.views.pages import Everything

PATH = "/v1/executions"
DEAD_LETTERS = "/v1/dead-letters"


class Executions:
    """Looks at executions, and stops, continues or repeats them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        workflow: UUID | str | None = None,
        status: str | None = None,
        contact_id: UUID | str | None = None,
        error: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Execution]:
        """Yield executions, newest first; each page is fetched as the iterator needs it."""
        query = {
            "workflow": None if workflow is None else str(workflow),
            "status": status,
            "contactId": None if contact_id is None else str(contact_id),
            "error": error,
            "limit": page_size,
        }
        return pages(self._transport, PATH, query, Execution, created_after, created_before)

    async def get(self, id: UUID | str) -> Execution:
        """Return one execution."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), Execution)

    async def log(self, id: UUID | str) -> Sequence[LogLine]:
        """Return what each node saw and did, in order."""
        return (await self._transport.ask(ApiRequest("GET", path_to(PATH, id, "log")), Everything[LogLine])).items

    async def path(self, id: UUID | str) -> ExecutionPath:
        """Return the graph of an execution with the state of each node and the edges it took."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id, "path")), ExecutionPath)

    async def follow(self, id: UUID | str) -> AsyncIterator[Execution]:
        """Yield the execution now and whenever it has changed, until it has ended; reconnect when needed."""
        seen: str | None = None
        failures = 0
        while True:
            try:
                async with aclosing(self._events(id, seen)) as events:
                    async for event, execution in events:
                        seen, failures = event, 0
                        yield execution
                        if execution.has_ended:
                            return
            except ApiError as error:
                failures += 1
                if error.status not in {TOO_MANY, *PASSING} or failures >= self._transport.retrying.attempts:
                    raise
            except httpx2.TransportError as error:
                failures += 1
                if failures >= self._transport.retrying.attempts:
                    raise self._transport.unreachable(error, failures) from error
            await asyncio.sleep(self._transport.retrying.wait(max(failures, 1)))

    async def _events(self, id: UUID | str, seen: str | None) -> AsyncGenerator[tuple[str | None, Execution], None]:
        """Yield the executions in one stream of server-sent events after the last one seen, each with its event id."""
        headers = {"accept": "text/event-stream"} | ({"last-event-id": seen} if seen else {})
        data: list[str] = []
        async with self._transport.stream(ApiRequest("GET", path_to(PATH, id, "events"), headers=headers)) as lines:
            async for line in lines:
                name, _, value = line.partition(":")  # a line that begins with the colon is a heartbeat
                if name == "data":
                    data.append(value.removeprefix(" "))
                elif name == "id":
                    seen = value.strip()
                elif not line and data:
                    yield seen, read("\n".join(data).encode(), Execution)
                    data.clear()

    async def cancel(self, id: UUID | str) -> Execution:
        """End an execution; whatever has not been called yet is skipped."""
        return await self._change(id, "cancel", repeatable=True)

    async def pause(self, id: UUID | str) -> Execution:
        """Stop sending for an execution until it is resumed."""
        return await self._change(id, "pause", repeatable=True)

    async def resume(self, id: UUID | str) -> Execution:
        """Let a paused execution go on."""
        return await self._change(id, "resume", repeatable=True)

    async def retry(self, id: UUID | str) -> Execution:
        """Start a failed execution again where it failed."""
        return await self._change(id, "retry", repeatable=False)

    async def _change(self, id: UUID | str, verb: str, *, repeatable: bool) -> Execution:
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, verb), repeatable=repeatable), Execution)


class DeadLetters:
    """Executions that failed for good."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        workflow: UUID | str | None = None,
        error: str | None = None,
        node: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Execution]:
        """Yield failed executions, newest first; each page is fetched as the iterator needs it."""
        name = None if workflow is None else str(workflow)
        query = {"workflow": name, "error": error, "node": node, "limit": page_size}
        return pages(self._transport, DEAD_LETTERS, query, Execution, created_after, created_before)

    async def replay(self, where: Mapping[str, str | Sequence[UUID | str]], *, dry_run: bool = False) -> Replay:
        """Start failed executions again, as `workflow`, `error`, `node` and `ids` choose; a dry run only counts."""
        body = {"where": where, "dryRun": dry_run}
        return await self._transport.ask(ApiRequest("POST", f"{DEAD_LETTERS}/replay", body, repeatable=dry_run), Replay)
