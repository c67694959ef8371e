"""What the API simulates with: handed over from above, because a simulation opens engines of its own."""

from collections.abc import Callable, Mapping
from typing import Protocol
from uuid import UUID

from tidings.domain.flow.ids import Workspace
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.views.simulations import Simulation

Still = Callable[[], None]
"""Called now and then while a simulation is at work."""


class Simulates(Protocol):
    """Runs one simulation at a time, and none for long; `simulation.Simulator` is one."""

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

    async def campaign(
        self, live: Engine, workspace: Workspace, id: UUID, scenario: Scenario, still: Still | None = None
    ) -> Simulation:
        """What a campaign would do if it were deployed."""
