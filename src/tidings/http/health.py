"""/v1/health for whatever monitors the process, and /metrics for Prometheus."""

import asyncio
from typing import TYPE_CHECKING

from fastapi import Depends, Request
from starlette.responses import Response

from tidings.domain.errors import StorageUnavailable
from tidings.domain.roles import Permission
from tidings.http.access import allowed, api_of
from tidings.http.answers import answer
from tidings.http.errors import RETRY_AFTER
from tidings.http.metrics import CONTENT_TYPE_LATEST
from tidings.http.resource import resource_router
from tidings.http.view_schemas import reference
from tidings.version import __version__
from tidings.views.health import HealthReport

if TYPE_CHECKING:
    from tidings.resources.providers import StoredRest

router = resource_router("Administration")
LONGEST_LOOK_SECONDS = 2.0
SECONDS_OLD = 2.0
"""How old the information about workers may be: anybody may ask, as often as they like."""
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
    """Whether the database can be written to, how many workers live, and what somebody should look at; needs no key.

    Work that waits for a worker and a provider that cannot be used make this process no less healthy: starting it anew
    would not help.
    """
    api = api_of(request)
    try:
        if await api.pulse.is_healthy():
            async with asyncio.timeout(LONGEST_LOOK_SECONDS):
                system = await api.engine.waiting.look(SECONDS_OLD)
                problems = [_problem(rest) for rest in await api.engine.providers.unavailable()]
            report = HealthReport(
                status="healthy",
                version=__version__,
                workers=len(system.workers),
                waiting=system.waiting,
                problems=problems,
            )
            return answer(report, headers=NEVER_STORED)
    except (TimeoutError, StorageUnavailable):
        pass  # it was there a moment ago
    trouble = ["nothing can be written to the database"]
    report = HealthReport(status="unhealthy", version=__version__, problems=trouble)
    return answer(report, 503, {**NEVER_STORED, **RETRY_AFTER})


def _problem(rest: "StoredRest") -> str:
    """Leave the reason out: anybody may ask, and it may tell of the network and its servers."""
    what = "refuses our settings" if rest.is_refused else "cannot be used"
    since = rest.since.isoformat(timespec="seconds") if rest.since else "now"
    return f"the provider {rest.provider} {what} since {since}; 'tidings providers list' says why"


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: METRICS_DOCUMENTED},
    dependencies=[Depends(allowed(Permission.RUN_WORKERS))],
)
async def get_metrics(request: Request) -> Response:
    """Requests and their time, the queue, executions and outbox by status."""
    return Response(await api_of(request).metrics.text(), media_type=CONTENT_TYPE_LATEST)
