"""The bodies of requests about rules and events; domain/rules/rule.py and domain/rules/event.py read them."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from tidings.domain.people.contact import ADDRESS_FIELDS
from tidings.http.channel_words import StepChannel
from tidings.http.message_requests import GivenAttachment, GivenMessage
from tidings.http.requests import Given, Json, example
from tidings.views.events import EXAMPLE_DATA
from tidings.views.rules import EXAMPLE_STEP, RuleAudience

ADDRESSES = tuple(dict.fromkeys(name for names in ADDRESS_FIELDS.values() for name in names))
TriggerName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.:-]{1,100}$")]
EXAMPLE_RULE: Json = {"trigger": "quote_sent", "channel": "email", "audience": "lead", "steps": [EXAMPLE_STEP]}
EXAMPLE_EVENT: Json = {"trigger": "quote_sent", "idempotencyKey": "quote-17-sent", **EXAMPLE_DATA}


class GivenRecipients(Given):
    """Whom a step is for; without this it is the rule's audience. Nobody is written to twice."""

    include_lead_contact: bool | None = None
    include_partner: bool | None = None
    include_agent: bool | None = None
    custom_phones: list[str] | None = Field(None, max_length=100)
    custom_emails: list[str] | None = Field(None, max_length=100)


class GivenMoment(Given):
    """How long before a time to send; if that is past when the event comes, nothing is sent."""

    time: str = Field(description="A time, or one variable like `{{ appointment.startsAt }}`.")
    by: str | float = Field("PT0S", description="How long before.")


class GivenRuleStep(Given):
    """One message of a rule."""

    model_config = example(EXAMPLE_STEP)
    id: UUID | None = Field(None, description="Of a step that is there; a new one has none.")
    step_order: int | None = Field(None, ge=0, le=1_000_000, description="Then the older one goes first.")
    enabled: bool | None = None
    channel: StepChannel | None = Field(None, description="The rule's; it may be repeated.")
    template: GivenMessage
    delay: str | float | None = Field(None, description="An ISO 8601 duration, or seconds.")
    send_before: GivenMoment | None = None
    recipient_config: GivenRecipients | None = None
    to: str | list[str] | None = Field(
        None, description="Where a chat or webhook goes, one or several: an address, or a template; else `default`."
    )
    max_attempts: int | None = Field(None, ge=1, le=20, description="5 unless given.")
    attachments: list[GivenAttachment] | None = Field(None, max_length=10)
    created_at: str | None = None


class GivenRule(Given):
    """What is sent when something happens, over one channel, to one audience."""

    model_config = example(EXAMPLE_RULE)
    trigger: TriggerName
    channel: StepChannel
    audience: RuleAudience
    enabled: bool = True
    steps: list[GivenRuleStep] = Field(default_factory=list, max_length=100)


class GivenEvent(Given):
    """Something that happened. Without a key each event is its own; with one, the same again changes nothing.

    Templates see the variables at the top level, and `lead`, `partner`, `agent` and `trigger`.
    """

    model_config = example(EXAMPLE_EVENT)
    trigger: TriggerName
    idempotency_key: str | None = Field(None, min_length=1, max_length=500)
    lead: Json | None = Field(
        None,
        description=f"`{'`, `'.join(ADDRESSES)}`, and whatever you like. `contactId` says which contact"
        " this is: what is not given is taken from there, and what it refuses is not sent.",
    )
    partner: Json | None = None
    agent: Json | None = None
    variables: Json | None = None


class GivenCancel(Given):
    """Which event to cancel: by the trigger and the key it was sent under."""

    model_config = example({"trigger": "appointment_scheduled", "idempotencyKey": "appointment-17"})
    trigger: TriggerName
    idempotency_key: str = Field(min_length=1, max_length=500)
