"""What people are shown of a sequence: what is being written, beside what is published, and who is on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.graph import Graph
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import channels_needing_routes
from tidings.domain.sequences.form import SequenceStatus, Settings, Step, definition_of, settings_in, steps_in
from tidings.kernel.manage.change_version import MoveCounts
from tidings.storage.sequences import FoundSequence

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class InFlight:
    """How many are on the way to one step of one version."""

    version: int
    step_id: str
    step_order: int
    count: int


@dataclass(frozen=True, slots=True)
class Published:
    """What the newest version says."""

    version: int
    settings: Settings
    steps: Sequence[Step]
    published_at: datetime

    def says(self, settings: Settings, steps: Sequence[Step]) -> bool:
        """Whether a draft would say nothing else."""
        return definition_of(settings, steps) == definition_of(self.settings, self.steps)


@dataclass(frozen=True, slots=True)
class ShownSequence:
    """A sequence as a person sees it: what is being written, beside what is published."""

    id: UUID
    name: str
    status: SequenceStatus
    settings: Settings
    steps: Sequence[Step]
    has_draft: bool
    """Whether something was written that is not published."""
    published: Published | None
    created_at: datetime
    updated_at: datetime
    in_flight: Sequence[InFlight] | None = None
    moved: MoveCounts | None = None
    """What became of those on the way, if they were to be moved."""
    not_ready: Sequence[Channel] = ()
    """Channels of its steps that no provider is set up for: it cannot be published before there is one."""

    @property
    def channels(self) -> Sequence[Channel]:
        """What its steps send over, in the draft and as they are published."""
        published = self.published.steps if self.published else ()
        return channels_needing_routes(step.channel for step in (*self.steps, *published))


@dataclass(frozen=True, slots=True)
class PublishedSequence:
    """What enrolling needs of a sequence."""

    workflow_id: UUID
    version_id: UUID
    version: int
    name: str
    graph: Graph
    definition: Json
    status: SequenceStatus
    paused: bool
    allow_reentry: bool


def status_of(found: FoundSequence) -> SequenceStatus:
    """A draft until something is published; then active, or paused."""
    if found.version is None:
        return SequenceStatus.DRAFT
    return SequenceStatus.PAUSED if found.paused else SequenceStatus.ACTIVE


def shown_of(found: FoundSequence, steps: Sequence[Step]) -> ShownSequence:
    """A sequence with the steps of its draft."""
    published = _published(found)
    return ShownSequence(
        id=found.id,
        name=found.name,
        status=status_of(found),
        settings=found.settings,
        steps=steps,
        has_draft=published is None or not published.says(found.settings, steps),
        published=published,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def _published(found: FoundSequence) -> Published | None:
    if found.version is None or found.published_at is None:
        return None
    definition = found.version.definition
    return Published(found.version.number, settings_in(definition), steps_in(definition), found.published_at)
