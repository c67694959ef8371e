"""/v1/providers: what may be called, by whom, and what rests; /v1/workers: who is there to call.

Both belong to the whole installation: an operator sees all of it, others what concerns their own workspace.
"""

from tidings.http.access import Administrator, WorkerService
from tidings.http.resource import resource_router
from tidings.views.pages import Everything
from tidings.views.providers import LiveWorker, ProviderStatus

router = resource_router("Administration")


@router.get("/v1/providers")
async def list_providers(context: Administrator) -> Everything[ProviderStatus]:
    """The providers of the workspace's channels, and whether each is ready.

    For an operator every provider: who serves it, who holds how many of its slots, whether and why it rests.
    """
    providers = context.engine.providers
    return Everything(await (providers.details() if context.is_operator else providers.own(context.workspace)))


@router.get("/v1/workers")
async def list_workers(context: WorkerService) -> Everything[LiveWorker]:
    """The live workers, the longest at work first; where they run is shown to operators only."""
    providers = context.engine.providers
    return Everything(await (providers.workers() if context.is_operator else providers.own_workers(context.workspace)))
