"""/v1/events: something happened; what that does, or would do."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request, Response

from tidings.http.access import Operator, WorkReader
from tidings.http.answers import JSON, answer
from tidings.http.bodies import body_of, read_object
from tidings.http.openapi import CreatedIn, Cursor, Limit, OfContact, takes
from tidings.http.resource import resource_router
from tidings.http.rule_requests import GivenCancel, GivenEvent
from tidings.http.view_schemas import reference
from tidings.views.events import Event, Explained
from tidings.views.pages import Page

router = resource_router("Events")
SENT_BEFORE: dict[str, Any] = {
    "content": {JSON: {"schema": reference(Event)}},
    "description": "It had been sent with this key before.",
}


async def given_event(request: Request) -> dict[str, Any]:
    """Return the body as it is: the domain reads it and reports every problem with its place."""
    return await read_object(request)


@router.post(
    "/v1/events",
    status_code=201,
    responses={200: SENT_BEFORE},
    openapi_extra=takes(GivenEvent),
)
async def send_event(context: Operator, given: Annotated[dict[str, Any], Depends(given_event)]) -> Event | Response:
    """Send an event: the answer has a decision for each channel and audience that its trigger knows."""
    sent = await context.engine.events.send(context.caller, given)
    return answer(sent, 200 if sent.duplicate else 201, {"Location": f"/v1/events/{sent.id}"})


@router.post("/v1/events/explain", openapi_extra=takes(GivenEvent))
async def explain_event(context: WorkReader, given: Annotated[dict[str, Any], Depends(given_event)]) -> Explained:
    """What an event would do, decision by decision; nothing is stored, and nothing is sent."""
    return Explained(decisions=await context.engine.events.explain(context.workspace, given))


@router.post("/v1/events/cancel", openapi_extra=takes(GivenCancel))
async def cancel_event_by_key(context: Operator, body: Annotated[GivenCancel, Depends(body_of(GivenCancel))]) -> Event:
    """Skip what the event of this key has not sent yet; 409 when nothing is left."""
    return await context.engine.events.cancel_by_key(context.caller, body.trigger, body.idempotency_key)


@router.get("/v1/events")
async def list_events(
    context: WorkReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    trigger: Annotated[str | None, Query(max_length=100)] = None,
    contact_id: OfContact = None,
) -> Page[Event]:
    """The events of the workspace, newest first; their items without what was rendered."""
    return await context.engine.events.list(
        context.workspace, trigger=trigger, contact_id=contact_id, limit=limit, created=created, cursor=cursor
    )


@router.get("/v1/events/{id:uuid}")
async def get_event(context: WorkReader, id: UUID) -> Event:
    """One event, and what has become of its items."""
    return await context.engine.events.get(context.workspace, id)


@router.post("/v1/events/{id:uuid}/cancel")
async def cancel_event(context: Operator, id: UUID) -> Event:
    """Skip what an event has not sent yet; 409 when nothing is left."""
    return await context.engine.events.cancel(context.caller, id)
