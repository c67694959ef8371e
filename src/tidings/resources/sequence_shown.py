"""A sequence as it was read, and as people see it: its draft, and what is published."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import asdict

from tidings.domain.flow.graph import Graph
from tidings.domain.flow.ids import made_at
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import channels_needing_routes
from tidings.domain.sequences.form import SequenceStep, definition_of, settings_in, steps_in
from tidings.storage.sequences import FoundSequence
from tidings.views.sequences import PublishedVersion, SequenceSettings, SequenceStatus, Step
from tidings.views.sequences import Sequence as ShownSequence

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Published:
    """The content of a published version."""

    version: int
    settings: SequenceSettings
    steps: Sequence[SequenceStep]
    published_at: datetime

    def says(self, settings: SequenceSettings, steps: Sequence[SequenceStep]) -> bool:
        """Return whether a draft says exactly the same."""
        return definition_of(settings, steps) == definition_of(self.settings, self.steps)


@dataclass(frozen=True, slots=True)
class WrittenSequence:
    """A sequence as it was read: the settings and steps of its draft, and what is published."""

    found: FoundSequence
    steps: Sequence[SequenceStep]
    published: Published | None

    @property
    def settings(self) -> SequenceSettings:
        """Return the settings of the draft."""
        return self.found.settings

    @property
    def has_draft(self) -> bool:
        """Return whether the draft differs from what is published."""
        return self.published is None or not self.published.says(self.settings, self.steps)

    @property
    def channels(self) -> Sequence[Channel]:
        """Return the channels of its steps, in the draft and as published."""
        published = self.published.steps if self.published else ()
        return channels_needing_routes(step.channel for step in (*self.steps, *published))


@dataclass(frozen=True, slots=True)
class PublishedSequence:
    """What enrolling needs to know about a sequence."""

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
    """Return `draft` until a version is published, and then `active` or `paused`."""
    if found.version_id is None:
        return SequenceStatus.DRAFT
    return SequenceStatus.PAUSED if found.paused else SequenceStatus.ACTIVE


def written_of(found: FoundSequence, steps: Sequence[SequenceStep]) -> WrittenSequence:
    """Return a sequence with the steps of its draft."""
    if found.version is None or found.definition is None or found.published_at is None:
        return WrittenSequence(found, steps, None)
    return WrittenSequence(found, steps, published_of(found.version, found.definition, found.published_at))


def published_of(version: int, definition: Json, published_at: datetime) -> Published:
    """Return what was published under one number."""
    return Published(version, settings_in(definition), steps_in(definition), published_at)


def show_sequence(written: WrittenSequence, unrouted: Collection[Channel]) -> ShownSequence:
    """Return a sequence with those of its channels that no provider is set up for."""
    found, published = written.found, written.published
    return ShownSequence(
        **asdict(written.settings),
        id=found.id,
        name=found.name,
        status=status_of(found),
        steps=[show_step(step, found.id) for step in written.steps],
        has_draft=written.has_draft,
        published=show_version(published, found.id) if published else None,
        not_ready=[channel for channel in written.channels if channel in unrouted],
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def show_version(published: Published, sequence_id: UUID) -> PublishedVersion:
    """Return what was published under one number, as people see it."""
    return PublishedVersion(
        **asdict(published.settings),
        version=published.version,
        steps=[show_step(step, sequence_id) for step in published.steps],
        published_at=published.published_at,
    )


def show_step(step: SequenceStep, sequence_id: UUID) -> Step:
    """Return a step with what its id tells."""
    id = UUID(step.id)
    known = {"id": id, "sequence_id": sequence_id, "max_lateness": step.lateness, "created_at": made_at(id)}
    return Step(**asdict(step) | known)
