"""The metrics of one workspace: its own numbers, and whether the providers that it uses are ready."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.http.counting import Counting

COUNTED_AT_ONCE = 2
"""How many workspaces are counted at once, so that metrics take two connections at most, whoever asks."""
MOST_KNOWN = 1_000


@dataclass(frozen=True, slots=True)
class OwnNumbers:
    """What one workspace may know."""

    executions: Mapping[str, int] = field(default_factory=dict)
    items: Mapping[str, int] = field(default_factory=dict)
    ready: Mapping[str, int] = field(default_factory=dict)


class OwnMetrics:
    """Counts each workspace when it asks, and not more often than Counting allows."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turns = asyncio.Semaphore(COUNTED_AT_ONCE)
        self._known: dict[Workspace, Counting[OwnNumbers]] = {}

    async def text(self, workspace: Workspace) -> bytes:
        """Return a workspace's metrics, as Prometheus reads them."""
        if workspace not in self._known and len(self._known) >= MOST_KNOWN:
            self._known = {one: counting for one, counting in self._known.items() if not counting.is_idle}
        counting = self._known.setdefault(workspace, Counting(partial(self._count, workspace)))
        return _text(await counting.latest() or OwnNumbers())

    async def _count(self, workspace: Workspace) -> OwnNumbers:
        async with self._turns:
            totals = await self._engine.health.own_totals(workspace)
            providers = await self._engine.providers.own(workspace)
        executions = {str(status): count for status, count in totals.executions.items()}
        return OwnNumbers(executions, totals.items, {one.name: int(one.state == "ready") for one in providers})


def _text(numbers: OwnNumbers) -> bytes:
    registry = CollectorRegistry()
    executions = Gauge("tidings_executions", "Executions by status.", ("status",), registry=registry)
    items = Gauge("tidings_outbox", "Items by status.", ("status",), registry=registry)
    ready = Gauge(
        "tidings_provider_ready",
        "1 for a provider that the workspace's channels use, 0 while it rests or no worker serves it.",
        ("provider",),
        registry=registry,
    )
    for gauge, found in ((executions, numbers.executions), (items, numbers.items), (ready, numbers.ready)):
        for name, value in found.items():
            gauge.labels(name).set(value)
    return generate_latest(registry)
