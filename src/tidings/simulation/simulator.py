"""What an edge simulates with: one simulation at a time, in turns between tenants, on a server that stays warm."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from uuid import UUID

from tidings.domain.errors import Conflict, EmbeddedServerFailed, SimulationUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.kernel.process.turns import FairTurns
from tidings.simulation.campaign import SimulatedCampaign
from tidings.simulation.sequence import SimulatedSequence
from tidings.simulation.simulate import SimulationStage, Subject, simulate
from tidings.simulation.workflow import SimulatedWorkflow
from tidings.testing.server import KeptServer
from tidings.views.simulations import Simulation

LONGEST_SECONDS = 60.0
TURN_SECONDS = 10.0
"""How long a simulation may go on while another tenant waits for the next one."""
PATIENCE_SECONDS = 5.0
"""How often a request that waits for its turn restarts its deadline."""
Still = Callable[[], None]


class Simulator:
    """Runs one simulation at a time on a PostgreSQL of its own, beside the engine that it reads from.

    Tenants take turns: a second one of the same tenant is refused, one of another tenant waits. The one under way ends
    where it is once it has had its turn and another tenant waits.

    The first one starts that server, and the next ones find it there, unless none ran for ten minutes. It
    is a part of `tidings serve`: drained, it ends the simulation under way where it is, and stops the server.
    """

    def __init__(
        self, *, pg_bin: Path | None = None, server: str | None = None, turn_seconds: float = TURN_SECONDS
    ) -> None:
        self._server, self._kept = server, KeptServer(pg_bin)
        self._turns, self._turn_seconds = FairTurns(), turn_seconds
        self._under_way: str | None = None
        self._draining = asyncio.Event()

    async def run(self) -> None:
        """Be there until drained."""
        await self._draining.wait()
        async with self._turns.turn(Workspace()):
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
    ) -> Simulation:
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
    ) -> Simulation:
        """What a sequence would do for contacts enrolled now: its draft, or what is published."""
        finding = SimulatedSequence.find(live, workspace, id, published=published)
        return await self._run(live, workspace, finding, scenario, still)

    async def campaign(
        self, live: Engine, workspace: Workspace, id: UUID, scenario: Scenario, still: Still | None = None
    ) -> Simulation:
        """What a campaign would do if it were deployed."""
        return await self._run(live, workspace, SimulatedCampaign.find(live, workspace, id), scenario, still)

    async def _run(
        self, live: Engine, workspace: Workspace, finding: Awaitable[Subject], scenario: Scenario, still: Still | None
    ) -> Simulation:
        subject = await finding
        if workspace.tenant == self._under_way or self._turns.is_asked_by(workspace.tenant):
            raise Conflict("a simulation is under way here, and there is one at a time; try again in a moment")
        async with _patiently(still), self._turn_of(workspace), self._somewhere() as server:
            return await simulate(live, workspace, subject, scenario, self._stage(server, still))

    @asynccontextmanager
    async def _turn_of(self, workspace: Workspace) -> AsyncIterator[None]:
        async with self._turns.turn(workspace):
            self._under_way = workspace.tenant
            try:
                yield
            finally:
                self._under_way = None

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

    def _stage(self, server: str, still: Still | None) -> SimulationStage:
        began = monotonic()

        def is_over() -> bool:
            has_had_its_turn = self._turns.is_waited_for and monotonic() - began >= self._turn_seconds
            return self._draining.is_set() or has_had_its_turn

        return SimulationStage(server=server, seconds=LONGEST_SECONDS, on_jump=still, is_over=is_over)


@asynccontextmanager
async def _patiently(still: Still | None) -> AsyncIterator[None]:
    """Call back now and then, also while nothing happens because others have their turns."""

    async def call_back() -> None:
        while still:
            await asyncio.sleep(PATIENCE_SECONDS)
            still()

    calling = asyncio.create_task(call_back())
    try:
        yield
    finally:
        calling.cancel()
