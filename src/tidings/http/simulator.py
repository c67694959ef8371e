"""The interface of the API's simulator, which the caller passes in because a simulation opens engines of its own."""

from collections.abc import Callable, Mapping
from typing import Protocol
from uuid import UUID

from tidings.domain.flow.ids import Workspace
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.views.simulations import Simulation

Still = Callable[[], None]
"""Called now and then while a simulation works."""


class Simulates(Protocol):
    """Runs one simulation at a time, none for long, in turns between tenants; `simulation.Simulator` is one."""

    async def workflow(
        self,
        live: Engine,
        workspace: Workspace,
        id: UUID,
        scenario: Scenario,
        definition: Mapping[str, object] | None = None,
        still: Still | None = None,
    ) -> Simulation:
        """Return what a workflow would do, as stored or with another definition."""

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
        """Return what a sequence would do for contacts enrolled now: its draft, or what is published."""

    async def campaign(
        self, live: Engine, workspace: Workspace, id: UUID, scenario: Scenario, still: Still | None = None
    ) -> Simulation:
        """Return what a campaign would do if it were deployed."""
