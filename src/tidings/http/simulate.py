"""POST …/simulate: what would happen, before it does. Nothing leaves, and nothing stored is changed."""

from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import Depends, Request

from tidings.domain.errors import SimulationUnavailable
from tidings.domain.simulation import Scenario
from tidings.http.access import ContactKeeper, RequestContext, api_of
from tidings.http.bodies import body_of
from tidings.http.edge import give_time
from tidings.http.openapi import takes
from tidings.http.resource import resource_router
from tidings.http.simulation_requests import (
    GivenCampaignSimulation,
    GivenSequenceSimulation,
    GivenSimulation,
    GivenWorkflowSimulation,
)
from tidings.http.simulator import Simulates, Still
from tidings.resources.crowd import read_crowd
from tidings.views.simulations import Simulation

router = resource_router("Simulation")


def simulator_of(request: Request) -> Simulates:
    """Return the simulator of this server."""
    found = api_of(request).simulator
    if found is None:
        raise SimulationUnavailable("this server was started without simulation; run `tidings simulate` instead")
    return found


Simulator = Annotated[Simulates, Depends(simulator_of)]


@router.post("/v1/workflows/{id:uuid}/simulate", openapi_extra=takes(GivenWorkflowSimulation))
async def simulate_workflow(
    context: ContactKeeper,
    id: UUID,
    simulator: Simulator,
    body: Annotated[GivenWorkflowSimulation, Depends(body_of(GivenWorkflowSimulation))],
    request: Request,
) -> Simulation:
    """Run the workflow's next days with the real engine on a scratch database; one simulation of a tenant at a time."""
    scenario = msgspec.structs.replace(await scenario_of(context, body), data=tuple(body.data), results=body.results)
    return await simulator.workflow(context.engine, context.workspace, id, scenario, body.definition, _still(request))


@router.post("/v1/sequences/{id:uuid}/simulate", openapi_extra=takes(GivenSequenceSimulation))
async def simulate_sequence(
    context: ContactKeeper,
    id: UUID,
    simulator: Simulator,
    body: Annotated[GivenSequenceSimulation, Depends(body_of(GivenSequenceSimulation))],
    request: Request,
) -> Simulation:
    """Run a sequence's next days for contacts enrolled now: its draft, unless `published` is true."""
    return await simulator.sequence(
        context.engine,
        context.workspace,
        id,
        await scenario_of(context, body),
        published=body.published,
        still=_still(request),
    )


@router.post("/v1/campaigns/{id:uuid}/simulate", openapi_extra=takes(GivenCampaignSimulation))
async def simulate_campaign(
    context: ContactKeeper,
    id: UUID,
    simulator: Simulator,
    body: Annotated[GivenCampaignSimulation, Depends(body_of(GivenCampaignSimulation))],
    request: Request,
) -> Simulation:
    """Run a campaign's next days as if it were deployed, to its own audience or to `contacts`."""
    scenario = msgspec.structs.replace(await scenario_of(context, body), scheduled_for=body.scheduled_for)
    return await simulator.campaign(context.engine, context.workspace, id, scenario, _still(request))


async def scenario_of(context: RequestContext, body: GivenSimulation) -> Scenario:
    """Return the scenario that is asked for, with its audience read and its contacts found."""
    contacts, messages_of = await read_crowd(context.engine.kernel, context.workspace, body.contacts, body.messages_of)
    return Scenario(
        days=body.days,
        contacts=contacts,
        sample=body.sample,
        seed=body.seed,
        messages_of=messages_of,
        start=body.start,
        time_zone=body.time_zone,
    )


def _still(request: Request) -> Still:
    """Restart the request's deadline while a simulation works: that has a limit of its own."""
    return lambda: give_time(request.scope)
