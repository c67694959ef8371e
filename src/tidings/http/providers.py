"""/v1/providers: what may be called, by whom, and what rests; /v1/workers: who is there to call."""

from tidings.http.access import Administrator, WorkerService
from tidings.http.resource import resource_router
from tidings.views.pages import Everything
from tidings.views.providers import LiveWorker, ProviderStatus

router = resource_router("Administration")


@router.get("/v1/providers")
async def list_providers(context: Administrator) -> Everything[ProviderStatus]:
    """Every provider, who serves it, who holds how many of its slots, and whether it rests; for all workspaces."""
    return Everything(await context.engine.providers.list())


@router.get("/v1/workers")
async def list_workers(context: WorkerService) -> Everything[LiveWorker]:
    """The live workers, the longest at work first; the same for all workspaces."""
    return Everything(await context.engine.providers.workers())
