"""A workflow to be simulated: the version that is stored, or a definition that is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.content.linking import Frozen, frozen_in, without_frozen
from tidings.domain.errors import Problem, ScenarioInvalid
from tidings.domain.flow.graph import Function, Graph
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.audience import Audience
from tidings.domain.simulation import Scenario
from tidings.domain.words import WORDS
from tidings.domain.workflows.definition import parse_own_workflow, parse_workflow
from tidings.engine import Engine, Trigger
from tidings.kernel.start.check import find_workflow
from tidings.kernel.templates import link_templates
from tidings.simulation.crowd import Crowd, Ground


@dataclass(frozen=True, slots=True)
class SimulatedWorkflow:
    """A workflow as it is, or as it would be."""

    name: str
    version: int | None
    definition: Mapping[str, object]
    graph: Graph
    kept: Frozen = field(default_factory=dict)
    kind: str = "workflow"
    only_its_audience: bool = False

    @classmethod
    async def find(
        cls,
        live: Engine,
        workspace: Workspace,
        workflow: UUID | str,
        definition: Mapping[str, object] | None = None,
    ) -> "SimulatedWorkflow":
        """A stored workflow by id or name; with another definition, as it would be then."""
        workflows = live.workflows
        found = await (
            workflows.get(workspace, workflow) if isinstance(workflow, UUID) else workflows.find(workspace, workflow)
        )
        if definition is not None:
            (await link_templates(live.kernel, workspace, definition)).read(parse_own_workflow)
            return cls.of(found.name, definition)
        stored = (await find_workflow(live.kernel, workspace, found.id)).version
        graph, kept = parse_workflow(stored.definition, is_stored=True), frozen_in(stored.definition)
        return cls(found.name, stored.number, without_frozen(stored.definition), graph, kept)

    @classmethod
    def of(cls, name: str, definition: Mapping[str, object]) -> "SimulatedWorkflow":
        """A definition that need not be stored."""
        return cls(name, None, definition, parse_own_workflow(definition))

    @property
    def labels(self) -> Mapping[str, str]:
        """The nodes that send or call, in the order of the definition, and what reports a failure."""
        return {name: name for name in self.graph.doers}

    @property
    def written(self) -> Mapping[str, object]:
        """What its nodes send and call with."""
        return self.definition

    @property
    def functions(self) -> Sequence[str]:
        """The functions that its nodes call."""
        return sorted({node.function for node in self.graph.doers.values() if isinstance(node, Function)})

    def audience(self, scenario: Scenario) -> Audience | None:
        """The contacts that are named; a workflow may need none."""
        if scenario.contacts is None and not scenario.messages_of and not scenario.data:
            raise ScenarioInvalid([Problem("data", "nothing would start it: give data, contacts, or both")])
        if scenario.contacts is None and scenario.messages_of:
            return Audience(contact_ids=scenario.messages_of)
        return scenario.contacts

    @property
    def words(self) -> Mapping[str, str]:
        """What executions are called."""
        return {status: words.workflow for status, words in WORDS.items()}

    def ground(self, crowd: Crowd) -> Ground:  # noqa: ARG002
        """Nothing depends on it."""
        return Ground()

    async def begin(self, scratch: Engine, caller: Caller, crowd: Crowd, scenario: Scenario) -> Mapping[str, str]:
        """Define it and trigger it with each data, for each of the people if there are any."""
        await scratch.define(self.name, self.definition, caller.workspace)
        contacts: list[UUID | None] = [one.id for one in crowd.people]
        triggers = [
            Trigger(f"{place}:{contact}", data, contact)
            for place, data in enumerate(scenario.data or ({},))
            for contact in contacts or [None]
        ]
        await scratch.trigger_many(self.name, triggers, caller.workspace)
        return {}
