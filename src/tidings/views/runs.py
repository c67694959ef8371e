"""Runs, their jobs, and the trace of a whole run, one line for each item."""

from enum import StrEnum
from typing import Annotated

from tidings.views.outbox import ByError, HistoryLine, ItemStatus
from tidings.views.view import ChannelName, Duration, Id, Time, View, doc

_AT = "2026-03-02T09:00:00Z"


class RunStatus(StrEnum):
    """The states of a run; `paused` and `cancelled` are separate flags."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"

    @property
    def has_ended(self) -> bool:
        """Return whether nothing more happens by itself."""
        return self not in OPEN_RUNS


OPEN_RUNS = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})


class JobStatus(StrEnum):
    """The states of a job; `queued` and `locked` are open."""

    QUEUED = "queued"
    LOCKED = "locked"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    DEAD = "dead"


class JobCounts(View, frozen=True):
    """The number of a job's items in each state; the remaining items are open."""

    planned: int
    sent: int = 0
    called: int = 0
    posted: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def succeeded(self) -> int:
        """Return the number of items that reached the provider."""
        return self.sent + self.called + self.posted

    @property
    def open(self) -> int:
        """Return the number of items that are not terminal, whether in doubt or not."""
        return self.planned - self.succeeded - self.failed - self.skipped

    def __add__(self, other: "JobCounts") -> "JobCounts":
        return JobCounts(
            self.planned + other.planned,
            self.sent + other.sent,
            self.called + other.called,
            self.posted + other.posted,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )


class Counts(View, frozen=True, kw_only=True):
    """The counts of a run's items: planned = queued + sent + called + posted + failed + skipped + inDoubt."""

    planned: Annotated[int, doc(example=1000)]
    queued: Annotated[int, doc("Items that are open and not in doubt.", 397)] = 0
    sent: Annotated[int, doc(example=590)] = 0
    called: Annotated[int, doc(example=0)] = 0
    posted: Annotated[int, doc(example=0)] = 0
    failed: Annotated[int, doc(example=6)] = 0
    skipped: Annotated[int, doc(example=4)] = 0
    in_doubt: Annotated[int, doc(example=3)] = 0


class Run(View, frozen=True, kw_only=True):
    """One execution of a campaign."""

    id: Id
    campaign_id: Id
    campaign_name: Annotated[
        str | None, doc("The campaign's name; null for a run that a program deployed without a campaign.", "spring")
    ] = None
    channel: ChannelName = ""
    provider: Annotated[str, doc(example="smtp")] = ""
    status: Annotated[RunStatus, doc(example="running")]
    status_text: Annotated[
        str, doc("The status together with what it hides: paused, planning, in doubt, waiting.", "running, 3 in doubt")
    ] = ""
    paused: bool = False
    cancelled: bool = False
    planning: Annotated[bool, doc("Whether the run is still writing items for its audience.")] = False
    retry_of: Id | None = None
    test: bool = False
    counts: Counts
    jobs: Annotated[int, doc(example=2)] = 0
    in_doubt_since: Annotated[Time | None, doc(example=_AT)] = None
    scheduled_for: Time | None = None
    send_hour: int | None = None
    rate: Annotated[int | None, doc(example=600)] = None
    max_lateness: Annotated[Duration | None, doc(example="PT12H")] = None
    idempotency_key: Annotated[str, doc(example="spring-1")] = ""
    created_at: Time
    started_at: Annotated[Time | None, doc(example=_AT)] = None
    completed_at: Time | None = None
    printed: Annotated[bool, doc("Whether the messages are printed, as requested, instead of sent.")] = False
    waiting: Annotated[
        str | None, doc("Why no worker can do what comes next, for example `no worker serves smtp`; null if one can.")
    ] = None

    @property
    def has_ended(self) -> bool:
        """Return whether nothing more happens by itself."""
        return self.status.has_ended


class StartedRun(Run, frozen=True, kw_only=True):
    """The run that a deploy started, and whether it existed before."""

    duplicate: bool = False
    note: Annotated[
        str | None, doc("What a caller should know besides: that this run existed before and was cancelled.")
    ] = None


class Job(View, frozen=True, kw_only=True):
    """A batch of a run's items."""

    id: Id
    run_id: Id
    job_type: Annotated[str, doc(example="email_send")]
    status: Annotated[JobStatus, doc(example="completed")]
    attempts: int = 0
    counts: JobCounts
    error: str | None = None
    available_at: Time | None = None
    created_at: Time
    started_at: Annotated[Time | None, doc(example=_AT)] = None
    completed_at: Annotated[Time | None, doc(example=_AT)] = None


class JobHistoryLine(HistoryLine, frozen=True, kw_only=True):
    """A change of a job's state: queued, locked, pause, resume, cancel, completed, partial, failed or dead."""

    job_id: Id


class Retry(View, frozen=True, kw_only=True):
    """The failed items that were tried again, or would be."""

    count: Annotated[int, doc(example=6)]
    by_error: Annotated[ByError, doc(example={"429 too many": 6})] = {}
    retried_before: Annotated[int, doc("Items that match, but belong to an earlier retry.", 0)] = 0
    dry_run: Annotated[bool, doc(example=True)] = False
    run: Annotated[Run | None, doc("The new run, with `retryOf`.")] = None
    duplicate: bool = False


class TraceLine(View, frozen=True, kw_only=True):
    """One item with its job and its run, named as in the SQL view `campaign_trace`."""

    campaign_id: Id
    run_id: Id
    run_status: RunStatus
    job_id: Id
    job_type: Annotated[str, doc(example="email_send")] = ""
    job_status: JobStatus
    job_attempts: int = 0
    outbox_id: Id
    outbox_status: ItemStatus
    in_doubt: bool = False
    contact_id: Id | None = None
    channel: ChannelName = ""
    provider: Annotated[str, doc(example="smtp")] = ""
    recipient: Annotated[str, doc(example="ada@example.com")] = ""
    attempts: int = 0
    provider_message_id: str | None = None
    error: str | None = None
    created_at: Time
    finalized_at: Time | None = None


class Trace(View, frozen=True, kw_only=True):
    """A whole run as a stream."""

    data: list[TraceLine]
