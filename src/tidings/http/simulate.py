"""POST …/simulate: what would happen, before it does. Nothing leaves, and nothing stored is changed."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Request

from tidings.domain.audience import Audience, read_audience
from tidings.domain.errors import FieldsInvalid, SimulationUnavailable
from tidings.domain.simulation import Scenario, Simulated
from tidings.http.access import ContactKeeper, api_of
from tidings.http.bodies import body_of
from tidings.http.edge import give_time
from tidings.http.openapi import takes
from tidings.http.simulation_shapes import (
    GivenCampaignSimulation,
    GivenSequenceSimulation,
    GivenSimulation,
    GivenWorkflowSimulation,
    Simulation,
)
from tidings.http.simulator import Simulates, Still

router = APIRouter(tags=["Simulation"])


def simulator_of(request: Request) -> Simulates:
    """What this server simulates with."""
    found = api_of(request).simulator
    if found is None:
        raise SimulationUnavailable("this server was started without simulation; run `tidings simulate` instead")
    return found


Simulator = Annotated[Simulates, Depends(simulator_of)]


@router.post("/v1/workflows/{id:uuid}/simulate", openapi_extra=takes(GivenWorkflowSimulation))
async def simulate_workflow(
    visit: ContactKeeper,
    id: UUID,
    simulator: Simulator,
    body: Annotated[GivenWorkflowSimulation, Depends(body_of(GivenWorkflowSimulation))],
    request: Request,
) -> Simulation:
    """Run the workflow's next days with the real engine on a scratch database; one simulation at a time."""
    scenario = msgspec.structs.replace(scenario_of(body), data=tuple(body.data), results=body.results)
    found = await simulator.workflow(visit.engine, visit.workspace, id, scenario, body.definition, _still(request))
    return show(found)


@router.post("/v1/sequences/{id:uuid}/simulate", openapi_extra=takes(GivenSequenceSimulation))
async def simulate_sequence(
    visit: ContactKeeper,
    id: UUID,
    simulator: Simulator,
    body: Annotated[GivenSequenceSimulation, Depends(body_of(GivenSequenceSimulation))],
    request: Request,
) -> Simulation:
    """Run a sequence's next days for contacts enrolled now: its draft, unless `published` is true."""
    found = await simulator.sequence(
        visit.engine, visit.workspace, id, scenario_of(body), published=body.published, still=_still(request)
    )
    return show(found)


@router.post("/v1/campaigns/{id:uuid}/simulate", openapi_extra=takes(GivenCampaignSimulation))
async def simulate_campaign(
    visit: ContactKeeper,
    id: UUID,
    simulator: Simulator,
    body: Annotated[GivenCampaignSimulation, Depends(body_of(GivenCampaignSimulation))],
    request: Request,
) -> Simulation:
    """Run a campaign's next days as if it were deployed, to its own audience or to `contacts`."""
    scenario = msgspec.structs.replace(scenario_of(body), scheduled_for=body.scheduled_for)
    return show(await simulator.campaign(visit.engine, visit.workspace, id, scenario, _still(request)))


def scenario_of(body: GivenSimulation) -> Scenario:
    """What is asked, with its audience read."""
    return Scenario(
        days=body.days,
        contacts=_audience(body.contacts),
        sample=body.sample,
        seed=body.seed,
        messages_of=tuple(dict.fromkeys(body.messages_of)),
        start=body.start,
        time_zone=body.time_zone,
    )


def _audience(given: Mapping[str, Any] | None) -> Audience | None:
    if given is None:
        return None
    audience, problems = read_audience(given, "contacts", segments=False)
    if problems:
        raise FieldsInvalid(problems)
    return audience


def _still(request: Request) -> Still:
    """A simulation has a limit of its own; while it works, the request's deadline begins anew."""
    return lambda: give_time(request.scope)


def show(found: Simulated) -> Simulation:
    """Everything in one object."""
    findings = found.findings
    own = {name: getattr(found, name) for name in found.__struct_fields__ if name != "findings"}
    told = {name: getattr(findings, name) for name in findings.__struct_fields__}
    return Simulation.model_validate({**own, "complete": found.is_complete, **told})
