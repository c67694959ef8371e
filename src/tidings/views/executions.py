"""Executions, their logs, and the answers to starting and replaying them."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from msgspec import field

from tidings.views.contacts import ContactName
from tidings.views.view import Id, Json, Time, View, doc


class ShownStatus(StrEnum):
    """The states of an execution as people see them."""

    ENQUEUED = "enqueued"
    PROCESSING = "processing"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        """Return whether nothing more happens unless somebody asks for it."""
        return self in _ENDED


_ENDED = frozenset({ShownStatus.COMPLETED, ShownStatus.FAILED, ShownStatus.CANCELLED})
_AT = "2026-03-02T09:00:00Z"
_SENT = {"hello": {"messageId": "m-1", "status": "sent", "at": _AT}}
_ADA = {"email": "ada@example.com", "name": "Ada", "phone": "+442071838750"}


class Execution(View, frozen=True, kw_only=True):
    """One run through one version of a workflow."""

    id: Id
    status: Annotated[ShownStatus, doc(example="processing")]
    workflow_id: Id
    workflow_name: Annotated[str, doc(example="welcome")]
    workflow_version: int
    cursor: Annotated[str | None, doc("The node that is due first; at the end, the node that failed.", "wait")] = None
    current_step: Annotated[
        int, doc("The number of nodes passed, and so an index from 0; at the end, the index of the last node.", 1)
    ] = 0
    total_steps: Annotated[int, doc(example=3)] = 0
    available_at: Annotated[
        Time | None,
        doc("When the next node is due; null while a worker has the execution, and once it has ended.", _AT),
    ] = None
    attempts: Annotated[int, doc(example=1)] = 0
    input_payload: Annotated[Json, doc(example=_ADA)] = {}
    vars: Annotated[Json, doc(example=_SENT)] = {}
    error_message: str | None = None
    error_step: str | None = None
    retry_count: Annotated[int, doc(example=0)] = 0
    triggered_by: Annotated[str | None, doc(example="api")] = None
    idempotency_key: Annotated[str, doc(example="signup-1")] = ""
    contact_id: Annotated[Id | None, doc("The contact it is for, if any.")] = None
    contact: Annotated[ContactName | None, doc("The contact's names; null once the contact is deleted.")] = None
    created_at: Time
    started_at: Annotated[Time | None, doc(example=_AT)] = None
    completed_at: Time | None = None
    waiting: Annotated[
        str | None, doc("Why no worker can do what comes next, for example `no worker serves smtp`; null if one can.")
    ] = None

    @property
    def has_ended(self) -> bool:
        """Return whether nothing more happens unless somebody asks for it."""
        return self.status.has_ended


class StartedExecution(Execution, frozen=True, kw_only=True):
    """The execution that a trigger started, and whether it existed before."""

    duplicate: bool = False


class StartedOne(View, frozen=True, kw_only=True):
    """One of many executions that were started together."""

    id: Id
    duplicate: bool = False


class Attempt(View, frozen=True, kw_only=True):
    """A call to a provider that did not succeed."""

    attempt: int
    provider: Annotated[str, doc("Whom it was made with.", "smtp")] = ""
    outcome: str
    error: str
    started_at: Time
    ended_at: Time


class LogItem(View, frozen=True, kw_only=True):
    """What became of one message or call of a node."""

    id: Id
    channel: str
    provider: str
    printed: Annotated[bool, doc("Whether the message is printed, as requested, instead of sent.")] = False
    recipient: str
    status: Annotated[str, doc("The item's status, or `in_doubt`.")]
    attempts: int = 0
    saw: Annotated[Any, doc("What was rendered for it.")] = None
    produced: Any = None
    message_id: str | None = None
    error: str | None = None
    started_at: Time | None = None
    ended_at: Time | None = None
    duration_ms: float | None = None
    failed_attempts: Sequence[Attempt] = ()


class LogContext(View, frozen=True, kw_only=True):
    """The context that a node saw when its turn came."""

    data: Annotated[Json, doc("The data that the execution was started with.")] = {}
    vars: Annotated[Json, doc("The results of earlier nodes, as the node's templates saw them in `vars`.")] = {}
    left_out: Annotated[
        Sequence[str], doc("The places of the largest values, which are left out because the context exceeds 64 KiB.")
    ] = ()


class LogLine(View, frozen=True, kw_only=True):
    """What one node saw, did and produced."""

    node: Annotated[str, doc(example="hello")]
    kind: Annotated[str, doc("The node's type: delay, branch, function, email, …", "email")]
    status: Annotated[str, doc(example="sent")]
    attempts: int = 0
    started_at: Time | None = None
    ended_at: Time | None = None
    duration_ms: float | None = None
    saw: Any = None
    produced: Any = None
    error: str | None = None
    items: Sequence[LogItem] = ()
    context: LogContext = LogContext()


class Replay(View, frozen=True, kw_only=True):
    """The executions that were started again, or would be."""

    count: Annotated[int, doc(example=2)]
    executions: Annotated[Sequence[Id], doc("The first hundred of them.")] = ()
    by_error: Annotated[Mapping[str, int], doc(example={"timed out": 2})] = {}
    refused: Annotated[int, doc("Not started again: what they tried may have arrived, or a worker has them.", 0)] = 0
    dry_run: bool = False


class NodeState(StrEnum):
    """What has become of a node in one execution."""

    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_REACHED = "notReached"


class EdgeState(StrEnum):
    """Whether an edge was taken, can never be taken any more, or may still be."""

    TAKEN = "taken"
    DEAD = "dead"
    OPEN = "open"


class PathNode(View, frozen=True, kw_only=True):
    """A node of an execution's graph, and what has become of it."""

    id: Annotated[str, doc("As in the definition; `onError` is what is called when the execution fails.", "wait")]
    type: Annotated[str, doc("delay, branch, function, email, …", "delay")]
    state: Annotated[NodeState, doc(example="waiting")]
    until: Annotated[Time | None, doc("While it waits: until when; null if nobody knows.", _AT)] = None
    why: Annotated[str | None, doc("Why it waits, failed or was skipped.", "waits for a while")] = None
    visits: Annotated[int, doc("How often its turn has come: a node runs at most once.", 1)] = 0
    attempts: int = 0
    started_at: Time | None = None
    ended_at: Time | None = None


class PathEdge(View, frozen=True, kw_only=True):
    """An edge of an execution's graph, and whether it was taken."""

    from_: Annotated[str, doc(example="hello")] = field(name="from")
    to: Annotated[str, doc(example="wait")]
    condition: Annotated[str | None, doc("What must hold for it, in words.")] = None
    state: Annotated[EdgeState, doc(example="taken")]


class ExecutionPath(View, frozen=True, kw_only=True):
    """The graph of an execution's version with the path that it took."""

    execution_id: Id
    status: Annotated[ShownStatus, doc(example="processing")]
    workflow_id: Id
    workflow_name: Annotated[str, doc(example="welcome")]
    workflow_version: int
    entry: Annotated[str, doc("The node it began at.", "hello")]
    nodes: Sequence[PathNode] = ()
    edges: Sequence[PathEdge] = ()
