"""Metrics for Prometheus: the requests to this process, and counts of what is stored; for a workspace only its own."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.http.counting import Counting
from tidings.http.own_metrics import OwnMetrics

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]

LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of one process, in a registry of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._registry = CollectorRegistry()
        labels = ("operation", "method", "status")
        self._requests = Counter("tidings_http_requests", "Requests answered.", labels, registry=self._registry)
        self._seconds = Histogram(
            "tidings_http_request_seconds",
            "Time to answer.",
            ("operation",),
            buckets=LATENCIES,
            registry=self._registry,
        )
        self._failed = Counter(
            "tidings_failed_authentications", "Requests with a key that is not valid.", registry=self._registry
        )
        self._queue = Gauge("tidings_queue", "Live work: all of it, due, leased.", ("state",), registry=self._registry)
        self._executions = Gauge("tidings_executions", "Executions by status.", ("status",), registry=self._registry)
        self._outbox = Gauge("tidings_outbox", "Items by status.", ("status",), registry=self._registry)
        self._workers = Gauge("tidings_workers", "Workers that live.", registry=self._registry)
        self._serving = Gauge(
            "tidings_provider_workers",
            "Workers that live and serve a provider; 0 where a channel is routed to one that nobody serves.",
            ("provider",),
            registry=self._registry,
        )
        self._waiting = Gauge(
            "tidings_waiting", "1 for each reason why work waits for a worker.", ("reason",), registry=self._registry
        )
        self._unavailable = Gauge(
            "tidings_provider_unavailable_seconds",
            "For how long a provider could not be used; refused says that our settings are refused.",
            ("provider", "refused"),
            registry=self._registry,
        )
        self._counting = Counting(self._count)
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}  # looking a label up takes long
        self._own = OwnMetrics(engine)

    def answered(self, operation: str, method: str, status: int, seconds: float) -> None:
        """Record one answer."""
        counted = self._counted.get((operation, method, status))
        if counted is None:
            own = self._requests.labels(operation, method, str(status)), self._seconds.labels(operation)
            counted = self._counted[operation, method, status] = own
        counted[0].inc()
        counted[1].observe(seconds)

    def authentication_failed(self) -> None:
        """Record a request whose key is not valid."""
        self._failed.inc()

    async def text(self) -> bytes:
        """Return all metrics of the installation, as Prometheus reads them."""
        await self._counting.latest()
        return generate_latest(self._registry)

    async def own_text(self, workspace: Workspace) -> bytes:
        """Return what one workspace may know."""
        return await self._own.text(workspace)

    async def _count(self) -> None:
        system = await self._engine.waiting.look()
        self._workers.set(len(system.workers))
        _set(self._serving, system.serving)
        _set(self._waiting, dict.fromkeys(system.waiting, 1))
        totals = await self._engine.health.totals()
        unavailable, now = await self._engine.providers.unavailable(), await self._engine.kernel.clock.now()
        _set(self._queue, {"live": totals.live, "due": totals.due, "leased": totals.leased})
        _set(self._executions, {str(status): count for status, count in totals.executions.items()})
        _set(self._outbox, totals.items)
        self._unavailable.clear()
        for rest in unavailable:
            seconds = (now - (rest.since or now)).total_seconds()
            self._unavailable.labels(rest.provider, str(rest.is_refused).lower()).set(seconds)


def _set(gauge: Gauge, values: Mapping[str, int]) -> None:
    gauge.clear()  # a status that nothing has any more must not keep its last number
    for name, value in values.items():
        gauge.labels(name).set(value)
