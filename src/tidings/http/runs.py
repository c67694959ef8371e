"""/v1/runs and /v1/outbox: what became of a deploy, of each of its items, and what people decide about them."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query, Request, Response
from starlette.responses import StreamingResponse

from tidings.domain.campaigns.run import RunStatus
from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.timing import parse_duration
from tidings.engine import Resolution
from tidings.http.access import Operator, RequestContext, WorkReader
from tidings.http.answers import JSON, answer, encode
from tidings.http.bodies import body_of
from tidings.http.edge import give_time
from tidings.http.openapi import ContactPath, CreatedIn, Cursor, Limit, OfContact, takes
from tidings.http.resource import resource_router
from tidings.http.run_requests import (
    GivenManyResolutions,
    GivenResolution,
    GivenResolutions,
    GivenRetry,
    GivenRetryFilter,
)
from tidings.http.view_schemas import reference
from tidings.resources.outbox import DoubtFilter, OutboxFilter
from tidings.resources.run_trace import csv_header, csv_lines
from tidings.resources.runs import RetryFilter, TraceFilter
from tidings.views.outbox import HistoryLine, Item, ItemDetail, Resolved, ResolvedItems
from tidings.views.pages import Everything, Page
from tidings.views.runs import Job, JobHistoryLine, Retry, Run, Trace, TraceLine

router = resource_router("Runs")
NDJSON = "application/x-ndjson"
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
CSV_DOCUMENTED = {"description": "CSV.", "content": {"text/csv": {"schema": {"type": "string"}}}}


@router.get("/v1/runs")
async def list_runs(
    context: WorkReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    campaign_id: Annotated[UUID | None, Query(alias="campaignId")] = None,
    status: RunStatus | None = None,
) -> Page[Run]:
    """The runs of the workspace, newest first."""
    return await context.engine.runs.list(
        context.workspace, campaign_id=campaign_id, status=status, limit=limit, created=created, cursor=cursor
    )


@router.get("/v1/runs/{id:uuid}")
async def get_run(context: WorkReader, id: UUID) -> Run:
    """One run; its counts always add up to `planned`."""
    return await context.engine.runs.get(context.workspace, id)


@router.get("/v1/runs/{id:uuid}/jobs")
async def list_jobs(
    context: WorkReader, created: CreatedIn, id: UUID, limit: Limit = 50, cursor: Cursor = None
) -> Page[Job]:
    """The jobs of a run, in the order they were written."""
    return await context.engine.runs.jobs(context.workspace, id, limit=limit, created=created, cursor=cursor)


@router.get("/v1/runs/{id:uuid}/items")
async def list_run_items(
    context: WorkReader,
    created: CreatedIn,
    id: UUID,
    limit: Limit = 50,
    cursor: Cursor = None,
    status: ItemStatus | None = None,
    in_doubt: Annotated[bool | None, Query(alias="inDoubt")] = None,
) -> Page[Item]:
    """The items of a run, newest first."""
    where = OutboxFilter(status=status, in_doubt=in_doubt)
    return await context.engine.runs.items(context.workspace, id, where, limit=limit, created=created, cursor=cursor)


@router.get("/v1/runs/{id:uuid}/history")
async def get_run_history(context: WorkReader, id: UUID) -> Everything[HistoryLine]:
    """Every change of a run's state, and every person's action on it."""
    return Everything(await context.engine.runs.history(context.workspace, id))


@router.get("/v1/runs/{id:uuid}/jobs/history")
async def list_job_history(
    context: WorkReader,
    created: CreatedIn,
    id: UUID,
    limit: Limit = 50,
    cursor: Cursor = None,
    job_id: Annotated[UUID | None, Query(alias="jobId")] = None,
) -> Page[JobHistoryLine]:
    """Every change of the state of a run's jobs, in the order it happened."""
    return await context.engine.runs.job_history(
        context.workspace, id, job_id=job_id, limit=limit, created=created, cursor=cursor
    )


def trace_of(
    status: ItemStatus | None = None,
    in_doubt: Annotated[bool | None, Query(alias="inDoubt")] = None,
    job_id: Annotated[UUID | None, Query(alias="jobId")] = None,
) -> TraceFilter:
    """Return the filter of a trace."""
    return TraceFilter(status, in_doubt, job_id)


Lines = Annotated[TraceFilter, Depends(trace_of)]


@router.get("/v1/runs/{id:uuid}/trace")
async def trace_run(request: Request, context: WorkReader, id: UUID, where: Lines) -> Trace | Response:
    """A whole run as one stream, however large; `Accept: application/x-ndjson` returns a line for each item."""
    await context.engine.runs.get(context.workspace, id)
    if NDJSON in request.headers.get("accept", ""):
        return _stream(_ndjson(request, context, id, where), NDJSON)
    return _stream(_json(request, context, id, where), JSON)


@router.get("/v1/runs/{id:uuid}/export", response_class=StreamingResponse, responses={200: CSV_DOCUMENTED})
async def export_run(request: Request, context: WorkReader, id: UUID, where: Lines) -> Response:
    """A whole run as CSV; no program that opens it takes a cell for a formula."""
    await context.engine.runs.get(context.workspace, id)
    stream = _stream(_csv(request, context, id, where), "text/csv; charset=utf-8")
    stream.headers["Content-Disposition"] = f'attachment; filename="run-{id}.csv"'
    return stream


@router.post("/v1/runs/{id:uuid}/pause")
async def pause_run(context: Operator, id: UUID) -> Run:
    """Stop sending for a run until it is resumed."""
    return await context.engine.runs.pause(context.caller, id)


@router.post("/v1/runs/{id:uuid}/resume")
async def resume_run(context: Operator, id: UUID) -> Run:
    """Let a paused run go on."""
    return await context.engine.runs.resume(context.caller, id)


@router.post("/v1/runs/{id:uuid}/cancel")
async def cancel_run(context: Operator, id: UUID) -> Run:
    """Skip every item of a run that has not been called yet."""
    return await context.engine.runs.cancel(context.caller, id)


@router.post(
    "/v1/runs/{id:uuid}/retry",
    responses={201: {"content": {JSON: {"schema": reference(Retry)}}, "description": "A new run was started."}},
    openapi_extra=takes(GivenRetry),
)
async def retry_run(
    context: Operator, id: UUID, body: Annotated[GivenRetry, Depends(body_of(GivenRetry, required=False))]
) -> Retry | Response:
    """Try again what failed, and nothing else, in a new run; a dry run only says what it would send."""
    where = _where(body.where)
    if body.dry_run:
        return await context.engine.runs.plan_retry(context.workspace, id, where)
    retry = await context.engine.runs.retry(context.caller, id, where, idempotency_key=body.idempotency_key)
    return answer(retry, 200 if retry.duplicate else 201)


@router.post("/v1/runs/{id:uuid}/resolve", openapi_extra=takes(GivenResolutions))
async def resolve_run(
    context: Operator, id: UUID, body: Annotated[GivenResolutions, Depends(body_of(GivenResolutions))]
) -> Resolved:
    """End the doubt about every item of a run that is in doubt, or only about the named ones."""
    return await context.engine.runs.resolve(context.caller, id, Resolution(body.outcome), body.note, body.item_ids)


def items_of(
    status: ItemStatus | None = None,
    channel: Channel | None = None,
    in_doubt: Annotated[bool | None, Query(alias="inDoubt")] = None,
    run_id: Annotated[UUID | None, Query(alias="runId")] = None,
    execution_id: Annotated[UUID | None, Query(alias="executionId")] = None,
    event_id: Annotated[UUID | None, Query(alias="eventId")] = None,
    contact_id: OfContact = None,
) -> OutboxFilter:
    """Return the filter of a list."""
    return OutboxFilter(status, channel, in_doubt, run_id, execution_id, event_id, contact_id)


@router.get("/v1/outbox", tags=["Outbox"])
async def list_outbox(
    context: WorkReader,
    created: CreatedIn,
    where: Annotated[OutboxFilter, Depends(items_of)],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Item]:
    """Every intended provider action, newest first."""
    return await context.engine.outbox.list(context.workspace, where, limit=limit, created=created, cursor=cursor)


@router.get("/v1/contacts/{id:path}/items", tags=["Contacts"])
async def list_contact_items(
    context: WorkReader, created: CreatedIn, id: ContactPath, limit: Limit = 50, cursor: Cursor = None
) -> Page[Item]:
    """Everything meant for a contact, newest first: by campaigns, sequences, workflows and events."""
    return await context.engine.outbox.of_contact(context.workspace, id, limit=limit, created=created, cursor=cursor)


@router.get("/v1/outbox/{id:uuid}", tags=["Outbox"])
async def get_item(context: WorkReader, id: UUID) -> ItemDetail:
    """One item with what was sent, what went wrong with it, and what people did about it."""
    return await context.engine.outbox.get(context.workspace, id)


@router.post("/v1/outbox/resolve", tags=["Outbox"], openapi_extra=takes(GivenManyResolutions))
async def resolve_items(
    context: Operator, body: Annotated[GivenManyResolutions, Depends(body_of(GivenManyResolutions))]
) -> ResolvedItems:
    """End the doubt about named items, or about all that match, up to 10,000 at a time; a dry run only counts them.

    Each is resolved as it would be alone, with its line in the audit log: one with a call under way is left as it is.
    """
    which = _doubtful(body)
    return await context.engine.outbox.resolve_many(
        context.caller, which, Resolution(body.outcome), body.note, dry_run=body.dry_run
    )


def _doubtful(body: GivenManyResolutions) -> DoubtFilter | list[UUID]:
    """Return which items are meant: the named ones or those that match, but never all for want of a word."""
    if (body.ids is None) is (body.where is None):
        raise FieldsInvalid([Problem("where", "give either ids or where; where: {} means everything in doubt")])
    if body.ids is not None:
        return body.ids
    where = body.where
    return (
        DoubtFilter()
        if where is None
        else DoubtFilter(where.provider, where.channel, where.run_id, _age(where.older_than))
    )


def _age(text: str | None) -> timedelta | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise FieldsInvalid([Problem("where.olderThan", str(error))]) from None


@router.post("/v1/outbox/{id:uuid}/resolve", tags=["Outbox"], openapi_extra=takes(GivenResolution))
async def resolve_item(
    context: Operator, id: UUID, body: Annotated[GivenResolution, Depends(body_of(GivenResolution))]
) -> ItemDetail:
    """End the doubt about an item: it was sent, is to be sent again, or failed."""
    return await context.engine.outbox.resolve(context.caller, id, Resolution(body.outcome), body.note)


def _where(given: GivenRetryFilter | None) -> RetryFilter:
    if given is None:
        return RetryFilter()
    return RetryFilter(given.error, None if given.ids is None else tuple(given.ids))


def _stream(pieces: AsyncIterator[bytes], media_type: str) -> StreamingResponse:
    return StreamingResponse(pieces, media_type=media_type, headers=STREAM_HEADERS)


async def _lines(
    request: Request, context: RequestContext, id: UUID, where: TraceFilter
) -> AsyncIterator[Sequence[TraceLine]]:
    """Yield lines; each piece restarts the deadline, and a key that is revoked meanwhile reads no further."""
    async for lines in context.engine.runs.trace(context.workspace, id, where):
        if await context.is_over():
            return
        give_time(request.scope)
        yield lines


async def _json(request: Request, context: RequestContext, id: UUID, where: TraceFilter) -> AsyncIterator[bytes]:
    yield b'{"data":['
    first = True
    async for lines in _lines(request, context, id, where):
        if lines:
            text = b",".join(map(encode, lines))
            yield text if first else b"," + text
            first = False
    yield b"]}"


async def _ndjson(request: Request, context: RequestContext, id: UUID, where: TraceFilter) -> AsyncIterator[bytes]:
    async for lines in _lines(request, context, id, where):
        yield b"".join(encode(line) + b"\n" for line in lines)


async def _csv(request: Request, context: RequestContext, id: UUID, where: TraceFilter) -> AsyncIterator[bytes]:
    yield csv_header().encode()
    async for lines in _lines(request, context, id, where):
        yield csv_lines(lines).encode()
