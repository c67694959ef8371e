"""/v1/health for whatever monitors the process, and /metrics for Prometheus."""

import asyncio
from typing import TYPE_CHECKING

from fastapi import Request
from starlette.responses import Response

from tidings.domain.errors import StorageUnavailable
from tidings.domain.roles import Permission
from tidings.http.access import RequestContext, WorkerService, api_of, let_in_quietly
from tidings.http.answers import answer
from tidings.http.errors import RETRY_AFTER
from tidings.http.metrics import CONTENT_TYPE_LATEST
from tidings.http.resource import resource_router
from tidings.http.view_schemas import reference
from tidings.version import __version__
from tidings.views.health import HealthReport

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.resources.providers import StoredRest

router = resource_router("Administration")
LONGEST_LOOK_SECONDS = 2.0
SECONDS_OLD = 2.0
"""How old the operator's information about the installation may be: it reads every shard."""
NEVER_STORED = {"Cache-Control": "no-store"}
METRICS_DOCUMENTED = {
    "description": "The numbers, as Prometheus reads them.",
    "content": {"text/plain": {"schema": {"type": "string"}, "example": 'tidings_queue{state="due"} 0.0\n'}},
}


@router.get(
    "/v1/health",
    responses={
        503: {
            "description": "The database does not answer, or nothing can be written.",
            "content": {"application/json": {"schema": reference(HealthReport)}},
        }
    },
)
async def get_health(request: Request) -> HealthReport | Response:
    """Whether the database can be written to; needs no key.

    With a key also the version, and what waits or rests of what the workspace's channels use; with an operator's the
    same for the whole installation. Neither makes this process less healthy: starting it anew would not help.
    """
    try:
        if await api_of(request).pulse.is_healthy():
            async with asyncio.timeout(LONGEST_LOOK_SECONDS):
                report = await _report(await let_in_quietly(request, Permission.READ_DEFINITIONS))
            return answer(report, headers=NEVER_STORED)
    except (TimeoutError, StorageUnavailable):
        pass  # it was there a moment ago
    trouble = ["nothing can be written to the database"]
    return answer(HealthReport(status="unhealthy", problems=trouble), 503, {**NEVER_STORED, **RETRY_AFTER})


async def _report(context: RequestContext | None) -> HealthReport:
    if context is None:
        return HealthReport(status="healthy")
    return await (_of_installation(context.engine) if context.is_operator else _of_workspace(context))


async def _of_installation(engine: "Engine") -> HealthReport:
    system = await engine.waiting.look(SECONDS_OLD)
    return HealthReport(
        status="healthy",
        version=__version__,
        workers=len(system.workers),
        waiting=system.waiting,
        problems=[_problem(rest) for rest in await engine.providers.unavailable()],
    )


async def _of_workspace(context: RequestContext) -> HealthReport:
    providers = await context.engine.providers.own(context.workspace)
    return HealthReport(
        status="healthy",
        version=__version__,
        waiting=await context.engine.waiting.own([one.name for one in providers]),
        problems=[
            f"the provider {one.name} rests until {one.rests_until.isoformat(timespec='seconds')}"
            for one in providers
            if one.rests_until
        ],
    )


def _problem(rest: "StoredRest") -> str:
    what = "refuses our settings" if rest.is_refused else "cannot be used"
    since = rest.since.isoformat(timespec="seconds") if rest.since else "now"
    return f"the provider {rest.provider} {what} since {since}; 'tidings providers list' says why"


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: METRICS_DOCUMENTED},
)
async def get_metrics(request: Request, context: WorkerService) -> Response:
    """Executions and the outbox of the workspace by status, and which of its providers are ready.

    For an operator the same of the whole installation, and its requests, queue, workers and providers.
    """
    metrics = api_of(request).metrics
    text = await (metrics.text() if context.is_operator else metrics.own_text(context.workspace))
    return Response(text, media_type=CONTENT_TYPE_LATEST)
