"""/v1/functions: the addresses of a workspace's functions; /v1/signing-secret: what signs the calls to them."""

from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Path

from tidings.domain.errors import NotFound
from tidings.domain.storable import is_storable
from tidings.http.access import Administrator
from tidings.http.administration_requests import GivenFunction, GivenRotation
from tidings.http.bodies import body_of
from tidings.http.openapi import takes
from tidings.http.resource import resource_router
from tidings.views.functions import FunctionAddress, FunctionHost, NewSigningSecret, SigningSecret
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


@router.get("/v1/signing-secret")
async def get_signing_secret(context: Administrator) -> SigningSecret:
    """Since when the workspace's calls are signed; never the secret."""
    return await context.engine.functions.signing_secret(context.workspace)


@router.post("/v1/signing-secret", status_code=201, openapi_extra=takes(GivenRotation))
async def rotate_signing_secret(
    context: Administrator, body: Annotated[GivenRotation, Depends(body_of(GivenRotation, required=False))]
) -> NewSigningSecret:
    """Make a secret that signs the workspace's calls: it is in this answer and nowhere else."""
    overlap = timedelta(seconds=body.overlap_seconds)
    return await context.engine.functions.rotate_signing_secret(context.caller, overlap)


@router.get("/v1/function-hosts")
async def list_function_hosts(context: Administrator) -> Everything[FunctionHost]:
    """The hosts of the workspace's functions that do not answer, and until when each is left alone."""
    return Everything(await context.engine.functions.hosts(context.workspace))


@router.post("/v1/function-hosts/{host}/reset", status_code=204)
async def reset_function_host(
    context: Administrator, host: Annotated[str, Path(min_length=1, max_length=300, description="Its name and port.")]
) -> None:
    """Let a host be called again at once."""
    if not is_storable(host):
        raise NotFound("there is no such host")
    await context.engine.functions.reset_host(context.caller, host)
