"""/v1/health for whoever watches over the process, and /metrics for Prometheus."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, Response

from tidings.domain.errors import StorageUnavailable
from tidings.domain.ids import Shard
from tidings.domain.roles import Permission
from tidings.http.access import allowed, api_of
from tidings.http.metrics import CONTENT_TYPE_LATEST
from tidings.http.openapi import VERSION
from tidings.http.shapes import Health

if TYPE_CHECKING:
    from tidings.products.providers import StoredRest

router = APIRouter(tags=["Administration"])
LONGEST_LOOK_SECONDS = 2.0
METRICS_DOCUMENTED = {
    "description": "The numbers, as Prometheus reads them.",
    "content": {"text/plain": {"schema": {"type": "string"}, "example": 'tidings_queue{state="due"} 0.0\n'}},
}


@router.get(
    "/v1/health",
    response_model=Health,
    responses={503: {"model": Health, "description": "The database does not answer."}},
)
async def get_health(request: Request) -> Response:
    """Whether the database answers, and which providers cannot be used; needs no key."""
    engine = api_of(request).engine
    try:
        async with asyncio.timeout(LONGEST_LOOK_SECONDS):
            await engine.next_due(Shard(0))  # a look at the table that everything depends on
            problems = [_problem(rest) for rest in await engine.providers.unavailable()]
    except (TimeoutError, StorageUnavailable):
        return _health("unhealthy", 503, ["the database does not answer"])
    return _health("healthy", 200, problems)


def _health(status: str, code: int, problems: Sequence[str]) -> JSONResponse:
    shown = {"status": status, "version": VERSION, "problems": problems}
    return JSONResponse(shown, code, headers={"Cache-Control": "no-store"})


def _problem(rest: "StoredRest") -> str:
    """Without the reason: anybody may ask, and it may tell of the network and the servers in it."""
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
