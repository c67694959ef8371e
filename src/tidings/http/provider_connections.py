"""/v1/connections: what a workspace sends through; /v1/provider-kinds: what it can connect to."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Response

from tidings.http.access import Administrator, DefinitionReader
from tidings.http.answers import answer
from tidings.http.bodies import body_of
from tidings.http.connection_requests import ChangedConnection, GivenConnection, GivenConnectionTest
from tidings.http.openapi import takes
from tidings.http.resource import resource_router
from tidings.views.connections import ConnectionTest, ProviderConnection, ProviderKindView
from tidings.views.pages import Everything

router = resource_router("Connections")


@router.get("/v1/provider-kinds")
async def list_provider_kinds(context: DefinitionReader) -> Everything[ProviderKindView]:
    """What can be connected, and what each must be told."""
    return Everything(context.engine.connections.kinds())


@router.post("/v1/connections", status_code=201, openapi_extra=takes(GivenConnection))
async def create_connection(
    context: Administrator, body: Annotated[GivenConnection, Depends(body_of(GivenConnection))]
) -> ProviderConnection | Response:
    """Add a connection, last in the order of its channel unless it says otherwise. Credentials are never shown."""
    made = await context.engine.connections.create(context.caller, body.as_given())
    return answer(made, 201, {"Location": f"/v1/connections/{made.id}"})


@router.get("/v1/connections")
async def list_connections(context: DefinitionReader) -> Everything[ProviderConnection]:
    """The connections of the workspace by channel, in the order in which they are tried.

    Where the workspace has none for a channel, what the operator has set up for every workspace.
    """
    return Everything(await context.engine.connections.list(context.workspace))


@router.get("/v1/connections/{id:uuid}")
async def get_connection(context: DefinitionReader, id: UUID) -> ProviderConnection:
    """One connection."""
    return await context.engine.connections.get(context.workspace, id)


@router.patch("/v1/connections/{id:uuid}", openapi_extra=takes(ChangedConnection))
async def update_connection(
    context: Administrator, id: UUID, body: Annotated[ChangedConnection, Depends(body_of(ChangedConnection))]
) -> ProviderConnection:
    """Change what is given. Credentials must be given anew with a setting that says where they are sent."""
    return await context.engine.connections.update(context.caller, id, body.as_given())


@router.delete("/v1/connections/{id:uuid}", status_code=204)
async def delete_connection(context: Administrator, id: UUID) -> None:
    """Take a connection out of use for good and forget its credentials."""
    await context.engine.connections.delete(context.caller, id)


@router.post("/v1/connections/{id:uuid}/enable")
async def enable_connection(context: Administrator, id: UUID) -> ProviderConnection:
    """Use a connection again."""
    return await context.engine.connections.update(context.caller, id, {"enabled": True})


@router.post("/v1/connections/{id:uuid}/disable")
async def disable_connection(context: Administrator, id: UUID) -> ProviderConnection:
    """Let nothing more leave through a connection; what waits for it takes the next one, unless it is sticky."""
    return await context.engine.connections.update(context.caller, id, {"enabled": False})


@router.post("/v1/connections/{id:uuid}/reset")
async def reset_connection(context: Administrator, id: UUID) -> ProviderConnection:
    """Let a connection that is left alone be called again at once."""
    return await context.engine.connections.reset(context.caller, id)


@router.post("/v1/connections/{id:uuid}/test", openapi_extra=takes(GivenConnectionTest))
async def try_connection(
    context: Administrator, id: UUID, body: Annotated[GivenConnectionTest, Depends(body_of(GivenConnectionTest))]
) -> ConnectionTest:
    """Send one real message through a connection, and say what became of it and what was said.

    It is an item like any other: a worker sends it. What is not done in time is in the run of one item that it names.
    """
    wait = timedelta(seconds=body.wait_seconds)
    return await context.engine.connections.test(context.caller, id, body.to, body.content, wait=wait)
