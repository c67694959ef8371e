"""What an edge holds to simulate with: one simulation at a time, each for a limited time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from uuid import UUID

from tidings.domain.errors import Conflict, EmbeddedServerFailed, SimulationUnavailable
from tidings.domain.ids import Workspace
from tidings.domain.simulation import Scenario, Simulated
from tidings.engine import Engine
from tidings.simulation.campaign import SimulatedCampaign
from tidings.simulation.sequence import SimulatedSequence
from tidings.simulation.simulate import Stage, Subject, simulate
from tidings.simulation.workflow import SimulatedWorkflow

LONGEST_SECONDS = 60.0
Still = Callable[[], None]


class Simulator:
    """Runs one simulation at a time on a PostgreSQL of its own, beside the engine that it reads from."""

    def __init__(self, *, pg_bin: Path | None = None, server: str | None = None) -> None:
        self._pg_bin, self._server = pg_bin, server
        self._busy = asyncio.Lock()

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
        async with self._busy:
            stage = Stage(self._server, self._pg_bin, LONGEST_SECONDS, still)
            try:
                return await simulate(live, workspace, subject, scenario, stage)
            except EmbeddedServerFailed as error:
                raise SimulationUnavailable(
                    f"no simulation can run on this machine: {error}; run `tidings simulate` on another one"
                ) from error
