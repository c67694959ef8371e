"""What people are shown of workflows and executions, and what they ask with. The edges only change the spelling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.readiness import is_printing
from tidings.domain.people.contact import ContactReference
from tidings.domain.words import ShownStatus
from tidings.storage.names import ContactName
from tidings.storage.observe import ShownAttempt
from tidings.storage.workflows import ShownVersion, ShownWorkflow

__all__ = [
    "BulkResult",
    "BulkTrigger",
    "DeadLetterFilter",
    "LogContext",
    "LogItem",
    "LogLine",
    "Replay",
    "ShownAttempt",
    "ShownExecution",
    "ShownVersion",
    "ShownWorkflow",
    "Triggered",
]

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShownExecution:
    """An execution as a person sees it."""

    id: UUID
    status: ShownStatus
    workflow_id: UUID
    workflow_name: str
    workflow_version: int
    cursor: str | None
    """The node that is due first; at the end, the one that failed, if any."""
    current_step: int
    """How many nodes it has passed, counted from 0 as 004 does; at the end, the last."""
    total_steps: int
    available_at: datetime | None
    """When it is due; None while somebody works on it, and at the end."""
    attempts: int
    input_payload: Json
    vars: Json
    error_message: str | None
    error_step: str | None
    retry_count: int
    triggered_by: str | None
    idempotency_key: str
    contact_id: UUID | None
    """Whom it is for, if for a contact."""
    contact: ContactName | None
    """What that contact is called; None once it was deleted."""
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    waiting: str | None = None
    """Why nobody can do what comes next: `no worker serves smtp`, say."""


@dataclass(frozen=True, slots=True)
class Triggered:
    """An execution that was started, or had been under the same key."""

    execution: ShownExecution
    duplicate: bool


@dataclass(frozen=True, slots=True)
class BulkTrigger:
    """One of many wishes to start a workflow, by id or by name."""

    workflow: UUID | str
    data: Json = field(default_factory=dict)
    idempotency_key: str | None = None
    contact_id: ContactReference | None = None


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What became of one of many wishes."""

    id: UUID
    duplicate: bool


@dataclass(frozen=True, slots=True)
class LogItem:
    """What became of one message or call of a node."""

    id: UUID
    channel: str
    provider: str
    recipient: str
    status: str
    """The item's status, or `in_doubt`."""
    attempts: int
    saw: Json | None
    """The rendered payload."""
    produced: Json | None
    message_id: str | None
    error: str | None
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    failed_attempts: Sequence[ShownAttempt] = ()

    @property
    def printed(self) -> bool:
        """Whether it was only printed, or would be."""
        return is_printing(self.provider)


@dataclass(frozen=True, slots=True)
class LogContext:
    """What there was when a node's turn came: what the execution was given, and what nodes before had produced."""

    data: Json
    vars: Json
    left_out: Sequence[str] = ()
    """The places of values that are too large to be shown here."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """What one node of an execution saw, produced, how long it took, and its error."""

    node: str
    kind: str
    """The node's type: delay, branch, function, email, …"""
    status: str
    attempts: int
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    saw: Json | None
    produced: Json | None
    error: str | None
    items: Sequence[LogItem] = ()
    context: LogContext = LogContext({}, {})


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which failed executions; whatever is given must hold."""

    workflow: UUID | str | None = None
    error: str | None = None
    """A part of the error, whatever the case of its letters."""
    node: str | None = None
    ids: Sequence[UUID] | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay has reopened, or in a dry run would reopen."""

    count: int
    executions: Sequence[UUID]
    """The first of them."""
    by_error: Mapping[str, int]
    refused: int = 0
    """Failed executions that were left alone: what they tried may have arrived, or somebody works on them."""
