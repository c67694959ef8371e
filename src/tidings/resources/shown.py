"""What people ask of executions with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from tidings.domain.people.contact import ContactReference

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class BulkTrigger:
    """One of many requests to start a workflow, by id or by name."""

    workflow: UUID | str
    data: Json = field(default_factory=dict)
    idempotency_key: str | None = None
    contact_id: ContactReference | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which failed executions; whatever is given must hold."""

    workflow: UUID | str | None = None
    error: str | None = None
    """A part of the error, whatever the case of its letters."""
    node: str | None = None
    ids: Sequence[UUID] | None = None
