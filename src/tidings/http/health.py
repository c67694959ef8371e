"""/v1/health for whoever watches over the process, and /metrics for Prometheus."""

from collections.abc import Mapping

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, Response

from tidings.domain.roles import Permission
from tidings.http.access import allowed, api_of
from tidings.http.errors import RETRY_AFTER
from tidings.http.metrics import CONTENT_TYPE_LATEST
from tidings.http.openapi import VERSION
from tidings.http.shapes import Health

router = APIRouter(tags=["Administration"])
METRICS_DOCUMENTED = {
    "description": "The numbers, as Prometheus reads them.",
    "content": {"text/plain": {"schema": {"type": "string"}, "example": 'tidings_queue{state="due"} 0.0\n'}},
}


@router.get(
    "/v1/health",
    response_model=Health,
    responses={503: {"model": Health, "description": "The database does not answer, or nothing can be written."}},
)
async def get_health(request: Request) -> Response:
    """Whether the database answers and can be written to; needs no key."""
    if await api_of(request).pulse.is_healthy():
        return _health("healthy", 200)
    return _health("unhealthy", 503, RETRY_AFTER)


def _health(status: str, code: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    body = {"status": status, "version": VERSION}
    return JSONResponse(body, code, headers={"Cache-Control": "no-store", **(headers or {})})


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: METRICS_DOCUMENTED},
    dependencies=[Depends(allowed(Permission.RUN_WORKERS))],
)
async def get_metrics(request: Request) -> Response:
    """Requests and their time, the queue, executions and outbox by status."""
    return Response(await api_of(request).metrics.text(), media_type=CONTENT_TYPE_LATEST)
