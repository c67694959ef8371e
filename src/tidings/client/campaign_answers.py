"""What the API answers about campaigns, runs and the outbox, as typed records."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tidings.views.contacts import ContactName

Json = Mapping[str, Any]
RUNS_ENDED = frozenset({"completed", "partial", "failed"})


class Campaign(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is said over which channel, to whom, when and how fast."""

    id: UUID
    name: str
    channel: str
    content: Json
    version: int = 1
    audience: Json | None = None
    segment_name: str | None = None
    data: Json = {}
    send_hour: int | None = None
    time_zone: str | None = None
    rate: int | None = None
    max_lateness: str | None = None
    not_ready: list[str] = []
    """Its channel, if no provider is set up for it: it cannot be deployed before there is one."""
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Preview(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one contact would get, or why nothing."""

    contact_id: UUID | None = None
    contact: ContactName | None = None
    recipients: Sequence[str] = ()
    content: Mapping[str, str] = {}
    error: str | None = None
    skipped: str | None = None


class Counts(Struct, frozen=True, kw_only=True, rename="camel"):
    """planned = queued + sent + called + posted + failed + skipped + in_doubt."""

    planned: int
    queued: int = 0
    sent: int = 0
    called: int = 0
    posted: int = 0
    failed: int = 0
    skipped: int = 0
    in_doubt: int = 0


class Run(Struct, frozen=True, kw_only=True, rename="camel"):
    """One execution of a campaign."""

    id: UUID
    campaign_id: UUID
    status: str
    counts: Counts
    campaign_name: str | None = None
    channel: str | None = None
    provider: str | None = None
    status_text: str = ""
    paused: bool = False
    cancelled: bool = False
    planning: bool = False
    retry_of: UUID | None = None
    test: bool = False
    jobs: int = 0
    in_doubt_since: datetime | None = None
    scheduled_for: datetime | None = None
    send_hour: int | None = None
    rate: int | None = None
    max_lateness: str | None = None
    idempotency_key: str | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    printed: bool = False
    waiting: str | None = None
    """Why nobody can do what is left of it, if so."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.status in RUNS_ENDED


class Deployed(Struct, frozen=True, kw_only=True):
    """A run that was started, or had been under the same key."""

    run: Run
    duplicate: bool
    note: str | None = None
    """What else is to be known: that the answer is a run that was cancelled."""


class Job(Struct, frozen=True, kw_only=True, rename="camel"):
    """A batch of a run's items."""

    id: UUID
    run_id: UUID
    job_type: str
    status: str
    attempts: int = 0
    counts: Counts
    error: str | None = None
    available_at: datetime | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None


class HistoryLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that happened to a run, or to one of its jobs (`job_id`)."""

    event: str
    actor: str
    at: datetime
    detail: Json = {}
    job_id: UUID | None = None


class Item(Struct, frozen=True, kw_only=True, rename="camel"):
    """An intended provider action; payload, failed_attempts and history only where one item is asked for."""

    id: UUID
    status: str
    channel: str
    provider: str
    printed: bool = False
    recipient: str
    in_doubt: bool = False
    contact_id: UUID | None = None
    contact: ContactName | None = None
    workflow_name: str | None = None
    campaign_name: str | None = None
    trigger: str | None = None
    execution_id: UUID | None = None
    node: str | None = None
    run_id: UUID | None = None
    job_id: UUID | None = None
    event_id: UUID | None = None
    attempts: int = 0
    retry_at: datetime | None = None
    first_called_at: datetime | None = None
    provider_message_id: str | None = None
    error: str | None = None
    idempotency_key: str | None = None
    created_at: datetime | None = None
    finalized_at: datetime | None = None
    payload: Json | None = None
    failed_attempts: Sequence[Json] = ()
    history: Sequence[Json] = ()


class Retry(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was, or would be, tried again."""

    count: int
    by_error: Mapping[str, int] = {}
    retried_before: int = 0
    dry_run: bool = False
    run: Run | None = None
    duplicate: bool = False


class Resolved(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of items in doubt."""

    resolved: int
    refused: int = 0


class TraceLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """One item with its job and its run."""

    run_id: UUID
    run_status: str
    job_id: UUID
    job_status: str
    outbox_id: UUID
    outbox_status: str
    campaign_id: UUID | None = None
    job_type: str | None = None
    job_attempts: int = 0
    in_doubt: bool = False
    contact_id: UUID | None = None
    channel: str | None = None
    provider: str | None = None
    recipient: str | None = None
    attempts: int = 0
    provider_message_id: str | None = None
    error: str | None = None
    created_at: datetime | None = None
    finalized_at: datetime | None = None
