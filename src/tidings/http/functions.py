"""/v1/functions: the addresses of a workspace's functions."""

from typing import Annotated

from fastapi import Depends, Path

from tidings.domain.errors import NotFound
from tidings.domain.storable import is_storable
from tidings.http.access import Administrator
from tidings.http.administration_requests import GivenFunction
from tidings.http.bodies import body_of
from tidings.http.openapi import takes
from tidings.http.resource import resource_router
from tidings.views.functions import FunctionAddress
from tidings.views.pages import Everything

router = resource_router("Administration")
Name = Annotated[str, Path(min_length=1, max_length=200, description="Or `*` for the base of all others.")]


@router.get("/v1/functions")
async def list_functions(context: Administrator) -> Everything[FunctionAddress]:
    """The addresses that the workspace has set; a secret is never shown."""
    return Everything(await context.engine.functions.list(context.workspace))


@router.put("/v1/functions/{name}", openapi_extra=takes(GivenFunction))
async def set_function(
    context: Administrator, name: Name, body: Annotated[GivenFunction, Depends(body_of(GivenFunction))]
) -> FunctionAddress:
    """Set a function's address; without a new secret the old one stays as long as the address does."""
    return await context.engine.functions.set(context.caller, name, body.url, body.secret)


@router.delete("/v1/functions/{name}", status_code=204)
async def delete_function(context: Administrator, name: Name) -> None:
    """Forget a function's address and its secret."""
    if not is_storable(name):
        raise NotFound("there is no function of this name")
    await context.engine.functions.delete(context.caller, name)
