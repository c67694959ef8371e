"""/v1/senders: whom messages are from."""

from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from tidings.http.access import Definer, DefinitionReader
from tidings.http.answers import answer
from tidings.http.bodies import read_object
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.references import Reference, find_by_reference
from tidings.http.resource import resource_router
from tidings.http.sender_requests import ChangedSender, GivenSender
from tidings.views.pages import Page
from tidings.views.senders import NamedSender

router = resource_router("Senders")


async def given_sender(request: Request) -> dict[str, Any]:
    """Return the body as it is: the domain reads it and reports every problem with its place."""
    return await read_object(request)


Body = Annotated[dict[str, Any], Depends(given_sender)]


@router.post("/v1/senders", status_code=201, openapi_extra=takes(GivenSender))
async def create_sender(context: Definer, body: Body) -> NamedSender | Response:
    """Add somebody whom messages may be from."""
    made = await context.engine.senders.create(context.caller, body)
    return answer(made, 201, {"Location": f"/v1/senders/{made.id}"})


@router.get("/v1/senders")
async def list_senders(
    context: DefinitionReader, created: CreatedIn, limit: Limit = 50, cursor: Cursor = None
) -> Page[NamedSender]:
    """The senders of the workspace, newest first."""
    return await context.engine.senders.list(context.workspace, limit=limit, created=created, cursor=cursor)


@router.get("/v1/senders/{id}")
async def get_sender(context: DefinitionReader, id: Reference) -> NamedSender:
    """One sender."""
    return await find_by_reference(context.engine.senders, context.workspace, id)


@router.put("/v1/senders/{id}", openapi_extra=takes(ChangedSender))
async def update_sender(context: Definer, id: Reference, body: Body) -> NamedSender:
    """Change a sender; what is written from now on is from it as it is then."""
    found = await find_by_reference(context.engine.senders, context.workspace, id)
    return await context.engine.senders.update(context.caller, found.id, body)


@router.delete("/v1/senders/{id}", status_code=204)
async def delete_sender(context: Definer, id: Reference) -> None:
    """Remove a sender; one that something names is refused."""
    found = await find_by_reference(context.engine.senders, context.workspace, id)
    await context.engine.senders.delete(context.caller, found.id)
