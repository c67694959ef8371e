"""The bodies of requests about campaigns; domain/campaigns/campaign.py reads them."""

from pydantic import AwareDatetime, Field

from tidings.http.audience_requests import GivenCampaignAudience
from tidings.http.channel_words import MessageChannel
from tidings.http.message_requests import GivenContent
from tidings.http.requests import AT, ID, ContactReference, Given, Json, example
from tidings.http.run_requests import Key
from tidings.views.campaigns import EXAMPLE_AUDIENCE, EXAMPLE_CONTENT

EXAMPLE_CAMPAIGN: Json = {
    "name": "Spring news",
    "channel": "email",
    "content": EXAMPLE_CONTENT,
    "audience": EXAMPLE_AUDIENCE,
    "rate": 600,
    "maxLateness": "PT12H",
}


class ChangedCampaign(Given):
    """Changes to a campaign: what is left out stays, what is null returns to its default."""

    model_config = example({"content": EXAMPLE_CAMPAIGN["content"], "rate": None})
    name: str | None = Field(None, min_length=1, max_length=200)
    channel: MessageChannel | None = None
    content: GivenContent | None = Field(
        None, description="What it says. Liquid sees `contact.*`, `campaign.*`, and what `data` has."
    )
    audience: GivenCampaignAudience | None = None
    data: Json | None = Field(None, description="What templates see beside the contact.")
    send_hour: int | None = Field(None, ge=0, le=23, description="The hour, in each contact's zone or in `timeZone`.")
    time_zone: str | None = Field(None, max_length=100, description="`contact`, or the name of a zone.")
    rate: int | None = Field(None, ge=1, le=1_000_000, description="Messages a minute, over all workers.")
    max_lateness: str | float | None = Field(None, description="`PT2H`, or seconds: what is later is skipped.")


class GivenCampaign(ChangedCampaign):
    """A campaign to create; nothing is sent before it is deployed."""

    model_config = example(EXAMPLE_CAMPAIGN)
    name: str = Field(min_length=1, max_length=200)
    channel: MessageChannel
    content: GivenContent


class GivenPreview(Given):
    """The contact to preview for; without `contactId`, the first of the audience."""

    model_config = example({"contactId": ID})
    contact_id: ContactReference | None = None


class GivenTest(Given):
    """An address of your own to send the campaign to, and the contact whose data it shows."""

    model_config = example({"to": "me@example.com"})
    to: str = Field(min_length=1, max_length=500)
    contact_id: ContactReference | None = None


class GivenDeploy(Given):
    """When to deploy, and under which key; without a key, the same campaign for the same time is deployed once."""

    model_config = example({"scheduledFor": AT, "idempotencyKey": "spring-1"})
    scheduled_for: AwareDatetime | None = None
    idempotency_key: Key | None = None
