"""Rules: what is sent when something happens."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from tidings.views.view import ChannelName, Id, Json, Time, View, doc

EXAMPLE_STEP = {
    "stepOrder": 1,
    "template": {"subject": "Your quote {{ quote.number }}", "body": "Good day {{ lead.name }}, here it is."},
    "recipientConfig": {"includeLeadContact": True, "customEmails": ["sales@example.com"]},
}


class RuleAudience(StrEnum):
    """The people an event is about; a rule is for one of them."""

    LEAD = "lead"
    PARTNER = "partner"
    AGENT = "agent"


class Rule(View, frozen=True, kw_only=True):
    """A rule with its steps in full."""

    id: Id
    trigger: Annotated[str, doc(example="quote_sent")]
    channel: Annotated[str, doc(example="email")]
    audience: Annotated[RuleAudience, doc(example="lead")]
    enabled: Annotated[bool, doc(example=True)]
    steps: Annotated[Sequence[Json], doc(example=[EXAMPLE_STEP])] = ()
    not_ready: Annotated[
        Sequence[ChannelName],
        doc("Channels of its steps that no provider is set up for: their items fail, or fall back."),
    ] = ()
    created_at: Time
    updated_at: Time

    @property
    def key(self) -> str:
        """What it is known by: `quote_sent/email/lead`."""
        return f"{self.trigger}/{self.channel}/{self.audience}"
