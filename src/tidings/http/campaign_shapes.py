"""Campaigns, segments, runs and the outbox, as models: domain/campaigns/campaign.py reads what is given."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from tidings.domain.campaigns.run import JobStatus, RunStatus
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.http.audience_shapes import GivenAudience, GivenCampaignAudience
from tidings.http.channel_words import MessageChannel
from tidings.http.shapes import (
    AT,
    ID,
    Attempt,
    ContactName,
    ContactReference,
    Given,
    Json,
    NotReady,
    Printed,
    Shape,
    Waiting,
    example,
)
from tidings.resources import outbox

Label = Annotated[str, Field(min_length=1, max_length=100)]
Key = Annotated[str, Field(min_length=1, max_length=500)]
EXAMPLE_CAMPAIGN: Json = {
    "name": "Spring news",
    "channel": "email",
    "content": {"subject": "Spring is here, {{ contact.name }}", "body": "Good day."},
    "audience": {"tag": "newsletter", "excludeContactIds": []},
    "rate": 600,
    "maxLateness": "PT12H",
}
EXAMPLE_RUN: Json = {
    "id": ID,
    "campaignId": ID,
    "campaignName": "spring",
    "channel": "email",
    "provider": "smtp",
    "status": "running",
    "statusText": "running, 3 in doubt",
    "paused": False,
    "cancelled": False,
    "planning": False,
    "retryOf": None,
    "test": False,
    "counts": {
        "planned": 1000,
        "queued": 397,
        "sent": 590,
        "called": 0,
        "posted": 0,
        "failed": 6,
        "skipped": 4,
        "inDoubt": 3,
    },
    "jobs": 2,
    "inDoubtSince": AT,
    "scheduledFor": None,
    "sendHour": None,
    "rate": 600,
    "maxLateness": "PT12H",
    "idempotencyKey": "spring-1",
    "createdAt": AT,
    "startedAt": AT,
    "completedAt": None,
    "printed": False,
    "waiting": None,
}


class ChangedCampaign(Given):
    """What is given of a campaign: what is left out stays, what is null goes back to its default."""

    model_config = example({"content": EXAMPLE_CAMPAIGN["content"], "rate": None})
    name: str | None = Field(None, min_length=1, max_length=200)
    channel: MessageChannel | None = None
    content: Json | None = Field(
        None,
        description="`{subject, body, html}`, `{body}`, `{title, body}`, `{script, version}`, or for social "
        "`{posts: [{id, body, accounts}]}`. Liquid: `contact.*`, `campaign.*`, and what `data` has.",
    )
    audience: GivenCampaignAudience | None = None
    data: Json | None = Field(None, description="What templates see beside the contact.")
    send_hour: int | None = Field(None, ge=0, le=23, description="The hour, in each contact's zone or in `timeZone`.")
    time_zone: str | None = Field(None, max_length=100, description="`contact`, or the name of a zone.")
    rate: int | None = Field(None, ge=1, le=1_000_000, description="Messages a minute, over all workers.")
    max_lateness: str | float | None = Field(None, description="`PT2H`, or seconds: what is later is skipped.")


class GivenCampaign(ChangedCampaign):
    """A campaign to be made; nothing is sent before it is deployed."""

    model_config = example(EXAMPLE_CAMPAIGN)
    name: str = Field(min_length=1, max_length=200)
    channel: MessageChannel
    content: Json


class Campaign(Shape):
    """What is said over which channel, to whom, when and how fast."""

    model_config = example(
        {
            "id": ID,
            **EXAMPLE_CAMPAIGN,
            "version": 1,
            "segmentName": None,
            "data": {},
            "sendHour": None,
            "timeZone": "contact",
            "notReady": [],
            "createdAt": AT,
            "updatedAt": AT,
        }
    )
    id: UUID
    name: str
    channel: Channel
    content: Json
    version: int = Field(description="Counts its changes.")
    audience: Json | None
    segment_name: str | None = Field(description="Of the segment in the audience.")
    data: Json
    send_hour: int | None
    time_zone: str
    rate: int | None
    max_lateness: timedelta | None
    not_ready: NotReady
    created_at: datetime
    updated_at: datetime


class GivenPreview(Given):
    """For whom; without `contactId`, for the first of the audience."""

    model_config = example({"contactId": ID})
    contact_id: ContactReference | None = None


class Preview(Shape):
    """What one contact would get at this moment."""

    contact_id: UUID | None
    contact: ContactName | None
    recipients: list[str]
    content: dict[str, str]
    error: str | None = Field(description="Why the content cannot be rendered for them.")
    skipped: str | None = Field(description="Why nothing would be sent to them.")


class GivenTest(Given):
    """Send it to an address of your own, with a contact's data."""

    model_config = example({"to": "me@example.com"})
    to: str = Field(min_length=1, max_length=500)
    contact_id: ContactReference | None = None


class GivenDeploy(Given):
    """When, and under which key; without one, the same campaign for the same time is deployed once."""

    model_config = example({"scheduledFor": AT, "idempotencyKey": "spring-1"})
    scheduled_for: AwareDatetime | None = None
    idempotency_key: Key | None = None


class ChangedSegment(Given):
    """Another name, another audience."""

    model_config = example({"audience": {"tag": "vip"}})
    name: str | None = Field(None, min_length=1, max_length=200)
    audience: GivenAudience | None = None


class GivenSegment(ChangedSegment):
    """An audience under a name."""

    model_config = example({"name": "vips of Acme", "audience": {"tag": "vip", "company": "Acme"}})
    name: str = Field(min_length=1, max_length=200)
    audience: GivenAudience


class Counts(Shape):
    """They add up: planned = queued + sent + called + posted + failed + skipped + inDoubt."""

    planned: int
    queued: int = Field(description="Open, and not in doubt.")
    sent: int
    called: int
    posted: int
    failed: int
    skipped: int
    in_doubt: int


class Run(Shape):
    """One execution of a campaign."""

    model_config = example(EXAMPLE_RUN)
    id: UUID
    campaign_id: UUID
    campaign_name: str | None = Field(description="Null for a run that a program deployed without a campaign.")
    channel: Channel
    provider: str
    status: RunStatus
    status_text: str
    paused: bool
    cancelled: bool
    planning: bool = Field(description="Its people are still being turned into items.")
    retry_of: UUID | None
    test: bool
    counts: Counts
    jobs: int
    in_doubt_since: datetime | None
    scheduled_for: datetime | None
    send_hour: int | None
    rate: int | None
    max_lateness: timedelta | None
    idempotency_key: str
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    printed: Printed
    waiting: Waiting


class StartedRun(Run):
    """The run of a deploy, and whether it was there before."""

    model_config = example({**EXAMPLE_RUN, "duplicate": False, "note": None})
    duplicate: bool
    note: str | None = Field(None, description="What else is to be known: that the answer is a run that was cancelled.")


class JobCounts(Shape):
    """What has become of a job's items; the rest is open."""

    planned: int
    sent: int
    called: int
    posted: int
    failed: int
    skipped: int


class Job(Shape):
    """A batch of a run's items."""

    id: UUID
    run_id: UUID
    job_type: str
    status: JobStatus
    attempts: int
    counts: JobCounts
    error: str | None
    available_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


class GivenRetryFilter(Given):
    """Which failed items; what is left out does not matter."""

    error: str | None = Field(None, max_length=2_000, description="Part of the error's text.")
    ids: list[UUID] | None = Field(None, max_length=10_000)


class GivenRetry(Given):
    """Try again what failed, in a new run; a dry run only says what it would send."""

    model_config = example({"where": {"error": "429"}, "dryRun": True})
    where: GivenRetryFilter | None = None
    dry_run: bool = False
    idempotency_key: Key | None = None


class Retry(Shape):
    """What was, or would be, tried again."""

    model_config = example(
        {
            "count": 6,
            "byError": {"429 too many": 6},
            "retriedBefore": 0,
            "dryRun": True,
            "run": None,
            "duplicate": False,
        }
    )
    count: int
    by_error: dict[str, int]
    retried_before: int = Field(description="Items that match and that an earlier retry has taken.")
    dry_run: bool
    run: Run | None = Field(description="The new run, with `retryOf`.")
    duplicate: bool


class GivenResolution(Given):
    """What a person found out about what is in doubt, and what shows it."""

    model_config = example({"outcome": "sent", "note": "the provider's log has it"})
    outcome: Literal["sent", "resend", "failed"]
    note: str = Field(min_length=1, max_length=2_000)


class GivenResolutions(GivenResolution):
    """The same for every item of a run that is in doubt, or for those named."""

    model_config = example({"outcome": "sent", "note": "the provider's log has them", "itemIds": [ID]})
    item_ids: list[UUID] | None = Field(None, max_length=10_000)


class Resolved(Shape):
    """What became of them."""

    resolved: int
    refused: int = Field(description="A call was in the air, or the doubt had ended by itself.")


class HistoryLine(Shape):
    """Something that was done to a run or an item."""

    event: str
    actor: str
    detail: Json
    at: datetime


class JobHistoryLine(HistoryLine):
    """A change of a job's state: queued, locked, pause, resume, cancel, completed, partial, failed or dead."""

    job_id: UUID


class Item(Shape):
    """An intended provider action."""

    id: UUID
    status: ItemStatus
    in_doubt: bool
    channel: Channel
    provider: str
    printed: Printed
    recipient: str
    contact_id: UUID | None
    contact: ContactName | None = Field(description="What the contact is called; null once it was deleted.")
    workflow_name: str | None = Field(description="Of the execution it belongs to.")
    campaign_name: str | None = Field(description="Of the run it belongs to.")
    trigger: str | None = Field(description="Of the event it belongs to.")
    execution_id: UUID | None
    node: str | None
    run_id: UUID | None
    job_id: UUID | None
    event_id: UUID | None
    attempts: int
    retry_at: datetime | None
    first_called_at: datetime | None
    provider_message_id: str | None
    error: str | None
    idempotency_key: str = Field(description="64 hexadecimal digits; the same at every attempt.")
    created_at: datetime
    finalized_at: datetime | None


class ItemDetail(Item):
    """An item with what was sent, what went wrong with it, and what people did about it."""

    payload: dict[str, Any] | None
    failed_attempts: list[Attempt]
    history: list[HistoryLine]


class TraceLine(Shape):
    """One item with its job and its run."""

    campaign_id: UUID
    run_id: UUID
    run_status: RunStatus
    job_id: UUID
    job_type: str
    job_status: JobStatus
    job_attempts: int
    outbox_id: UUID
    outbox_status: ItemStatus
    in_doubt: bool
    contact_id: UUID | None
    channel: Channel
    provider: str
    recipient: str
    attempts: int
    provider_message_id: str | None
    error: str | None
    created_at: datetime
    finalized_at: datetime | None


class Trace(Shape):
    """A whole run, streamed."""

    data: list[TraceLine]


def show_item(found: outbox.ItemDetail) -> ItemDetail:
    """An item with what belongs to it beside its own fields."""
    payload = None if found.item.payload is None else dict(found.item.payload)
    return ItemDetail(
        **Item.model_validate(found.item).model_dump(),
        payload=payload,
        failed_attempts=[Attempt.model_validate(one) for one in found.failed_attempts],
        history=[HistoryLine.model_validate(one) for one in found.history],
    )
