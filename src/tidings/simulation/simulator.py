"""What an edge holds to simulate with: one simulation at a time, none for long, on a server that stays warm."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

from tidings.domain.errors import Conflict, EmbeddedServerFailed, SimulationUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.domain.simulation import Scenario, Simulated
from tidings.engine import Engine
from tidings.simulation.campaign import SimulatedCampaign
from tidings.simulation.sequence import SimulatedSequence
from tidings.simulation.simulate import Stage, Subject, simulate
from tidings.simulation.workflow import SimulatedWorkflow
from tidings.testing.server import KeptServer

LONGEST_SECONDS = 60.0
Still = Callable[[], None]


class Simulator:
    """Runs one simulation at a time on a PostgreSQL of its own, beside the engine that it reads from.

    The first one starts that server, and the next ones find it there, unless none ran for ten minutes. It
    is a part of `tidings serve`: drained, it ends the simulation under way where it is, and stops the server.
    """

    def __init__(self, *, pg_bin: Path | None = None, server: str | None = None) -> None:
        self._server, self._kept = server, KeptServer(pg_bin)
        self._busy = asyncio.Lock()
        self._draining = asyncio.Event()

    async def run(self) -> None:
        """Be there until drained."""
        await self._draining.wait()
        async with self._busy:
            await self._kept.close()

    def drain(self) -> None:
        """End what is under way at its next moment."""
        self._draining.set()

    async def workflow(
        self,
        live: Engine,
        workspace: Workspace,
        id: UUID,
        scenario: Scenario,
        definition: Mapping[str, object] | None = None,
        still: Still | None = None,
    ) -> Simulated:
        """What a workflow would do; with a definition, what it would do then."""
        return await self._run(
            live, workspace, SimulatedWorkflow.find(live, workspace, id, definition), scenario, still
        )

    async def sequence(
        self,
        live: Engine,
        workspace: Workspace,
        id: UUID,
        scenario: Scenario,
        *,
        published: bool = False,
        still: Still | None = None,
    ) -> Simulated:
        """What a sequence would do for contacts enrolled now: its draft, or what is published."""
        finding = SimulatedSequence.find(live, workspace, id, published=published)
        return await self._run(live, workspace, finding, scenario, still)

    async def campaign(
        self, live: Engine, workspace: Workspace, id: UUID, scenario: Scenario, still: Still | None = None
    ) -> Simulated:
        """What a campaign would do if it were deployed."""
        return await self._run(live, workspace, SimulatedCampaign.find(live, workspace, id), scenario, still)

    async def _run(
        self, live: Engine, workspace: Workspace, finding: Awaitable[Subject], scenario: Scenario, still: Still | None
    ) -> Simulated:
        subject = await finding
        if self._busy.locked():
            raise Conflict("a simulation is under way here, and there is one at a time; try again in a moment")
        async with self._busy, self._somewhere() as server:
            return await simulate(live, workspace, subject, scenario, self._stage(server, still))

    @asynccontextmanager
    async def _somewhere(self) -> AsyncIterator[str]:
        if self._server:
            yield self._server
            return
        try:
            async with self._kept.in_use() as address:
                yield address
        except EmbeddedServerFailed as error:
            raise SimulationUnavailable(
                f"no simulation can run on this machine: {error}; run `tidings simulate` on another one"
            ) from error

    def _stage(self, server: str, still: Still | None) -> Stage:
        return Stage(server=server, seconds=LONGEST_SECONDS, on_jump=still, is_over=self._draining.is_set)
