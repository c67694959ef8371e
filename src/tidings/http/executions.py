"""/v1/executions: what was started, how it goes, and what people decide about it."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Annotated
from uuid import UUID

from fastapi import Header, Query, Request
from starlette.responses import Response, StreamingResponse

from tidings.engine import Engine
from tidings.http.access import Operator, RequestContext, StatusReader, WorkReader, api_of
from tidings.http.answers import encode
from tidings.http.openapi import CreatedIn, Cursor, Limit, OfContact
from tidings.http.publishable import of_starter
from tidings.http.resource import resource_router
from tidings.views.executions import Execution, ExecutionPath, LogLine, ShownStatus
from tidings.views.pages import Everything, Page

router = resource_router("Executions")
LENGTH_OF_ID = 36
HEARTBEAT_SECONDS = 15.0
HEARTBEAT = b": still here\n\n"
STREAM = "text/event-stream"
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
EVENT = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"const": "execution"},
        "data": {"type": "string", "contentMediaType": "application/json", "description": "An Execution."},
    },
    "examples": [{"id": "5f1c0a7be2d94431", "event": "execution", "data": '{"status": "processing"}'}],
}
STREAM_DOCUMENTED = {
    "description": "An event for each change; the stream ends with the execution.",
    "content": {STREAM: {"schema": EVENT}},
}


def id_or_name(text: str | None) -> UUID | str | None:
    """Return a workflow's id or name: what reads as an id is one."""
    try:
        return UUID(text) if text and len(text) == LENGTH_OF_ID else text
    except ValueError:
        return text


@router.get("/v1/executions")
async def list_executions(
    context: WorkReader,
    created: CreatedIn,
    *,
    limit: Limit = 50,
    cursor: Cursor = None,
    workflow: Annotated[str | None, Query(max_length=200, description="Name or id.")] = None,
    status: ShownStatus | None = None,
    contact_id: OfContact = None,
    error: Annotated[
        str | None, Query(min_length=1, max_length=2_000, description="Part of the error's text: only what failed so.")
    ] = None,
) -> Page[Execution]:
    """The executions of the workspace, newest first."""
    return await context.engine.executions.list(
        context.workspace,
        workflow=id_or_name(workflow),
        status=status,
        contact_id=contact_id,
        error=error,
        limit=limit,
        created=created,
        cursor=cursor,
    )


@router.get("/v1/executions/{id:uuid}")
async def get_execution(context: StatusReader, id: UUID) -> Execution:
    """One execution; with a publishable key its state, if this key started it."""
    found = await context.engine.executions.get(context.workspace, id)
    return of_starter(context.identity, found) if context.identity.is_publishable else found


@router.get("/v1/executions/{id:uuid}/log")
async def get_execution_log(context: WorkReader, id: UUID) -> Everything[LogLine]:
    """What each node saw, produced and cost, in order."""
    return Everything(await context.engine.executions.log(context.workspace, id))


@router.get("/v1/executions/{id:uuid}/path")
async def get_execution_path(context: WorkReader, id: UUID) -> ExecutionPath:
    """The graph of its version with the state of each node, until when and why one waits, and the edges it took."""
    return await context.engine.executions.path(context.workspace, id)


@router.get(
    "/v1/executions/{id:uuid}/events",
    response_class=StreamingResponse,
    responses={200: STREAM_DOCUMENTED, 204: {"description": "It has ended, and Last-Event-ID has seen it end."}},
)
async def follow_execution(
    request: Request, context: WorkReader, id: UUID, last_event_id: Annotated[str | None, Header(max_length=200)] = None
) -> Response:
    """Follow an execution as server-sent events, until it or the key has ended; safe to reconnect at any time."""
    api_of(request).streams.open(request.scope, context.identity)
    current = await context.engine.executions.get(context.workspace, id)
    if current.status.has_ended and _event_id(encode(current)) == last_event_id:
        return Response(status_code=204)  # tells an EventSource not to come again
    return StreamingResponse(_events(context, id, last_event_id), media_type=STREAM, headers=STREAM_HEADERS)


async def _events(context: RequestContext, id: UUID, seen: str | None) -> AsyncIterator[bytes]:
    """Yield an event for each state the reader has not seen, and a comment when nothing has changed for a while."""
    yield HEARTBEAT  # the headers go out at once, even if nothing changes for an hour
    changes = context.engine.executions.changes(context.workspace, id)
    async for change in with_heartbeats(changes, context.engine):
        if await context.is_over():
            return
        if change is None:
            yield HEARTBEAT
            continue
        data = encode(change)
        if (event_id := _event_id(data)) != seen:
            yield b"id: %s\nevent: execution\ndata: %s\n\n" % (event_id.encode(), data)
        seen = None


def _event_id(data: bytes) -> str:
    """Return an id made from the content: the same state has the same id in every process."""
    return sha256(data).hexdigest()[:16]


async def with_heartbeats(
    changes: AsyncIterator[Execution], engine: Engine, seconds: float = HEARTBEAT_SECONDS
) -> AsyncIterator[Execution | None]:
    """Yield the changes, and None whenever there was none for a while; end early when the process drains."""
    draining = asyncio.create_task(engine.kernel.draining.wait())
    coming = asyncio.ensure_future(anext(changes, None))
    try:
        while True:
            done, _ = await asyncio.wait({coming, draining}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if coming in done:
                change = coming.result()
                if change is None:
                    return
                yield change
                coming = asyncio.ensure_future(anext(changes, None))
            elif draining in done:
                return
            else:
                yield None
    finally:
        draining.cancel()
        coming.cancel()
        await asyncio.gather(draining, coming, return_exceptions=True)


@router.post("/v1/executions/{id:uuid}/cancel")
async def cancel_execution(context: Operator, id: UUID) -> Execution:
    """End an execution; whatever has not been called yet is skipped."""
    return await context.engine.executions.cancel(context.caller, id)


@router.post("/v1/executions/{id:uuid}/pause")
async def pause_execution(context: Operator, id: UUID) -> Execution:
    """Stop sending for an execution until it is resumed."""
    return await context.engine.executions.pause(context.caller, id)


@router.post("/v1/executions/{id:uuid}/resume")
async def resume_execution(context: Operator, id: UUID) -> Execution:
    """Let a paused execution go on."""
    return await context.engine.executions.resume(context.caller, id)


@router.post("/v1/executions/{id:uuid}/retry")
async def retry_execution(context: Operator, id: UUID) -> Execution:
    """Start a failed execution again where it failed."""
    return await context.engine.executions.retry(context.caller, id)
