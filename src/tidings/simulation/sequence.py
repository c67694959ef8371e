"""A sequence to be simulated: its draft, which is the point, or what is published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.content.linking import Frozen, frozen_in
from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.audience import Audience
from tidings.domain.sequences.form import SequenceStep, definition_of
from tidings.domain.simulation import Scenario
from tidings.domain.words import WORDS
from tidings.domain.workflows.definition import parse_workflow
from tidings.engine import Engine
from tidings.kernel.templates import link_templates
from tidings.simulation.crowd import Crowd, Ground
from tidings.views.sequences import SequenceSettings, SequenceStatus


@dataclass(frozen=True, slots=True)
class SimulatedSequence:
    """Steps and settings, as they are being written or as they were published."""

    name: str
    version: int | None
    settings: SequenceSettings
    steps: Sequence[SequenceStep]
    kept: Frozen = field(default_factory=dict)
    kind: str = "sequence"
    functions: Sequence[str] = ()
    only_its_audience: bool = False

    @classmethod
    async def find(
        cls, live: Engine, workspace: Workspace, sequence: UUID | str, *, published: bool = False
    ) -> "SimulatedSequence":
        """A sequence by id or name: its draft, unless what is published is asked for."""
        sequences = live.sequences
        id = sequence if isinstance(sequence, UUID) else (await sequences.find(workspace, sequence)).id
        written = await sequences.read(workspace, id)
        name, version = written.found.name, written.published
        if published and version is None:
            raise Conflict(f"sequence {name!r} was never published; simulate its draft")
        if version is not None and (published or not written.has_draft):
            kept = frozen_in(written.found.definition or {})
            return cls(name, version.version, version.settings, version.steps, kept)
        linked = await link_templates(live.kernel, workspace, definition_of(written.settings, written.steps))
        linked.read(parse_workflow)  # what could not be published is refused at once
        return cls(name, None, written.settings, written.steps)

    @property
    def labels(self) -> Mapping[str, str]:
        """The steps in their order, each by its day."""
        return {step.id: f"{place}. day {step.day_offset}" for place, step in enumerate(self._ordered(), start=1)}

    @property
    def written(self) -> Mapping[str, object]:
        """What its steps say."""
        return definition_of(self.settings, self.steps)

    @property
    def words(self) -> Mapping[str, str]:
        """What enrollments are called."""
        return {status: words.enrollment for status, words in WORDS.items()}

    def audience(self, scenario: Scenario) -> Audience:
        """The contacts that are named, or else every contact."""
        return scenario.contacts or Audience(all=True)

    def ground(self, crowd: Crowd) -> Ground:  # noqa: ARG002
        """Nothing depends on it."""
        return Ground()

    async def begin(
        self,
        scratch: Engine,
        caller: Caller,
        crowd: Crowd,  # noqa: ARG002 – they are all there is in the scratch database
        scenario: Scenario,  # noqa: ARG002
    ) -> Mapping[str, str]:
        """Write and publish it, and enroll everybody there."""
        given = [{name: value for name, value in step.to_json().items() if name != "id"} for step in self._ordered()]
        made = await scratch.sequences.create(caller, self.name, self.settings.to_json(), given)
        made = await scratch.sequences.update(caller, made.id, status=SequenceStatus.ACTIVE)
        await scratch.enrollments.batch_enroll(caller, made.id, {"all": True}, triggered_by="simulation")
        copies = sorted(made.steps, key=lambda step: step.step_order)
        return {str(copy.id): step.id for copy, step in zip(copies, self._ordered(), strict=True)}

    def _ordered(self) -> list[SequenceStep]:
        return sorted(self.steps, key=lambda step: step.step_order)
