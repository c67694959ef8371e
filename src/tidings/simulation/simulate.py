"""One simulation: read the live database, copy what matters into a scratch one, run the time, count what happened."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Protocol, TypeVar
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.content.linking import Frozen
from tidings.domain.errors import ScenarioInvalid
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import LARGEST_LIMIT
from tidings.domain.people.audience import Audience
from tidings.domain.simulation import Scenario, SimulatedItem, Walk, problems_of, simulation_of
from tidings.domain.workflows.function import FunctionCallable
from tidings.engine import Engine
from tidings.kernel.templates import LinkedDefinition, link_templates, sources_in
from tidings.simulation.crowd import Crowd, Ground, copy_crowd, draw_crowd, lacks_in
from tidings.storage import simulation
from tidings.storage.database import Tx
from tidings.testing.clock import VirtualClock
from tidings.testing.scratch import OnJump, scratch_engine
from tidings.views.simulations import SimulatedSpan, Simulation
from tidings.wiring import App

READ_AT_ONCE = 5_000
BEFORE_EVERY_ID = UUID(int=0)
Found = TypeVar("Found", SimulatedItem, Walk)


class Subject(Protocol):
    """Something that can be simulated, as it was read from the live database."""

    @property
    def kind(self) -> str:
        """What it is."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def version(self) -> int | None:
        """Which of its versions; None for a draft."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Its steps in their order, and how each is called."""

    @property
    def written(self) -> Mapping[str, object]:
        """What it renders for each contact, as its author wrote it."""

    @property
    def kept(self) -> Frozen:
        """The templates it was published with; of others the newest versions are taken."""

    @property
    def functions(self) -> Sequence[str]:
        """The functions it calls, which are not called here."""

    @property
    def only_its_audience(self) -> bool:
        """Whether a contact who is asked about must be in the audience; others are added to it."""

    @property
    def words(self) -> Mapping[str, str]:
        """What the states of an execution or run are called; a state that is not here keeps its name."""

    def audience(self, scenario: Scenario) -> Audience | None:
        """Whom it is for; None when it needs no contacts."""

    def ground(self, crowd: Crowd) -> Ground:
        """Where it is simulated for these people."""

    async def begin(self, scratch: Engine, caller: Caller, crowd: Crowd, scenario: Scenario) -> Mapping[str, str]:
        """Make it in the scratch database and start it for these people; return its steps by their names there."""


@dataclass(frozen=True, slots=True)
class SimulationStage:
    """Where a simulation runs, and for how long: on a server of its own unless one is given."""

    server: str | None = None
    pg_bin: Path | None = None
    seconds: float | None = None
    """After which it stops where it is; None for as long as it takes."""
    on_jump: Callable[[], None] | None = None
    """Called now and then while it is at work."""
    is_over: Callable[[], bool] = lambda: False
    """Asked now and then whether to stop where it is."""


async def simulate(
    live: Engine, workspace: Workspace, subject: Subject, scenario: Scenario, stage: SimulationStage | None = None
) -> Simulation:
    """Run a subject's next days; nothing leaves, and the live database is only read."""
    if problems := problems_of(scenario):
        raise ScenarioInvalid(problems)
    stage, began = stage or SimulationStage(), monotonic()
    linked = await _link(live, workspace, subject)
    audience = subject.audience(scenario)
    crowd = Crowd([], 0)
    if audience:
        crowd = await draw_crowd(live, workspace, audience, scenario, only=subject.only_its_audience)
    clock = VirtualClock(scenario.start or await live.kernel.clock.now())
    start, end = clock.time, clock.time + timedelta(days=scenario.days)
    app = App(functions={name: _answering(scenario.results.get(name)) for name in subject.functions})
    ground = subject.ground(crowd)
    async with scratch_engine(
        start=start, app=app, server=stage.server, pg_bin=stage.pg_bin, shards=ground.shards
    ) as scratch:
        await _copy(live, scratch.engine, workspace, crowd, linked.frozen)
        steps = await subject.begin(scratch.engine, Caller(workspace, "simulation"), crowd, scenario)
        await scratch.run_until(end, _on_jump(stage, began), step=ground.step)
        outgoing = [_named(one, steps) for one in await _read_all(scratch.engine, simulation.list_outgoing)]
        walks = [_failed_at(one, steps) for one in await _read_all(scratch.engine, simulation.list_walks)]
        reached = scratch.clock.time
    span = SimulatedSpan(
        kind=subject.kind,
        name=subject.name,
        version=subject.version,
        start=start,
        end=end,
        reached=reached,
        complete=reached >= end,
        time_zone=scenario.time_zone,
        audience=crowd.audience if audience else None,
        contacts=len(crowd.people),
        seconds=round(monotonic() - began, 2),
    )
    missing = await lacks_in(crowd, sources_in(linked.given))
    return simulation_of(span, scenario, subject.labels, outgoing, walks, subject.words, missing)


async def _link(live: Engine, workspace: Workspace, subject: Subject) -> LinkedDefinition:
    """Return what it says with all that it renders in its place, or raise DefinitionInvalid."""
    linked = await link_templates(live.kernel, workspace, subject.written, subject.kept, is_stored=True)
    linked.require_found()
    return linked


async def _copy(live: Engine, scratch: Engine, workspace: Workspace, crowd: Crowd, frozen: Frozen) -> None:
    """Store there whom messages are for, the templates they render, and whom they may be from."""
    caller = Caller(workspace, "simulation")
    if region := (await live.workspaces.get(workspace)).phone_region:
        await scratch.workspaces.set(caller, workspace, phone_region=region)
    await copy_crowd(scratch, workspace, crowd.people)
    await scratch.templates.copy(caller, frozen)
    for sender in (await live.senders.list(workspace, limit=LARGEST_LIMIT)).items:
        await scratch.senders.create(caller, sender.in_json())


def _on_jump(stage: SimulationStage, began: float) -> OnJump:
    def go_on(_: object) -> bool:
        if stage.on_jump:
            stage.on_jump()
        has_time = stage.seconds is None or monotonic() - began < stage.seconds
        return has_time and not stage.is_over()

    return go_on


def _answering(result: object) -> FunctionCallable:
    async def answer(action: str, payload: Mapping[str, object]) -> object:  # noqa: ARG001 – as every function is called
        return result

    return answer


def _named(one: SimulatedItem, steps: Mapping[str, str]) -> SimulatedItem:
    return replace(one, step=steps.get(one.step, one.step))


def _failed_at(one: Walk, steps: Mapping[str, str]) -> Walk:
    return replace(one, error_node=steps.get(one.error_node or "", one.error_node))


class _ListAfter(Protocol[Found]):
    def __call__(self, tx: Tx, /, *, shard: Shard, after: UUID, limit: int) -> Awaitable[list[Found]]: ...


async def _read_all(scratch: Engine, list_after: _ListAfter[Found]) -> list[Found]:
    found: list[Found] = []
    for shard in scratch.kernel.every_shard():
        after = BEFORE_EVERY_ID
        while True:
            read = partial(list_after, shard=shard, after=after, limit=READ_AT_ONCE)
            rows = await scratch.kernel.db.persist(read, alone=True)
            found += rows
            if len(rows) < READ_AT_ONCE:
                break
            after = rows[-1].id
    return found
