"""Rules: what is sent when something happens."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from tidings.views.view import ChannelName, Id, Json, Time, View, doc

EXAMPLE_STEP = {
    "stepOrder": 1,
    "template": {"subject": "Your quote {{ quote.number }}", "body": "Good day {{ lead.name }}, here it is."},
    "recipientConfig": {"includeLeadContact": True, "customEmails": ["sales@example.com"]},
}


class RuleAudience(StrEnum):
    """The people an event can be about; each rule is for one of them."""

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
    templates: Annotated[
        Mapping[str, int],
        doc(
            "The templates that it renders, each with the version that was the newest when it was written.",
            {"footer": 3},
        ),
    ] = {}
    not_ready: Annotated[
        Sequence[ChannelName],
        doc("Channels of its steps for which no provider is set up: their items fail, or go to a fallback."),
    ] = ()
    created_at: Time
    updated_at: Time

    @property
    def key(self) -> str:
        """Return the key that identifies the rule: `quote_sent/email/lead`."""
        return f"{self.trigger}/{self.channel}/{self.audience}"


class MatrixCell(View, frozen=True, kw_only=True):
    """What an event does over one channel for one audience."""

    channel: ChannelName
    audience: Annotated[RuleAudience, doc(example="lead")]
    outcome: Annotated[str, doc("enqueued, suppressed, fallback or none, as an event is decided.", "enqueued")]
    reason: Annotated[str, doc(example="the rule for quote_sent/email/lead is enabled")]
    rule_id: Id | None = None
    steps: Annotated[int, doc("The steps of the rule.", 2)] = 0
    ready: Annotated[bool, doc("Whether a provider is set up for the channel.", example=True)] = True


class MatrixRow(View, frozen=True, kw_only=True):
    """What the events of one trigger do."""

    trigger: Annotated[str, doc(example="quote_sent")]
    cells: Sequence[MatrixCell]


class RuleMatrix(View, frozen=True, kw_only=True):
    """Triggers by channels and audiences; ask for more triggers with `cursor=nextCursor`."""

    channels: Sequence[ChannelName]
    audiences: Annotated[Sequence[RuleAudience], doc(example=["lead", "partner", "agent"])]
    rows: Sequence[MatrixRow]
    next_cursor: str | None = None
