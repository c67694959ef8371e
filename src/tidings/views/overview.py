"""What happens in a workspace just now."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from tidings.views.outbox import ItemStatus
from tidings.views.view import ChannelName, Time, View, doc

_AT = "2026-03-02T09:00:00Z"


class CallOutcome(StrEnum):
    """How a call to a provider ended: by what it said, or without an answer."""

    SENT = "sent"
    CALLED = "called"
    POSTED = "posted"
    FAILED = "failed"
    RETRY = "retry"
    IN_DOUBT = "inDoubt"


REACHED = (CallOutcome.SENT, CallOutcome.CALLED, CallOutcome.POSTED)


def outcome_of(status: ItemStatus, *, is_unknown: bool) -> CallOutcome:
    """Return how the call ended that left an item with this status."""
    if status is ItemStatus.QUEUED:
        return CallOutcome.IN_DOUBT if is_unknown else CallOutcome.RETRY
    return CallOutcome(status)


class CallCount(View, frozen=True, kw_only=True):
    """How many calls over one channel ended in one way within one minute."""

    at: Annotated[Time, doc("The beginning of the minute.", _AT)]
    channel: ChannelName
    outcome: Annotated[
        CallOutcome,
        doc("`retry`: the provider asked for another try later; `inDoubt`: nobody knows whether it arrived.", "sent"),
    ]
    count: Annotated[int, doc(example=120)]


class Resting(View, frozen=True, kw_only=True):
    """A provider of the workspace that no worker calls for a while."""

    provider: Annotated[str, doc("The provider, or the workspace's name for the connection.", "smtp")]
    reason: Annotated[
        str | None,
        doc("Why, where that is the workspace's own connection; what others share may quote anybody's message."),
    ] = None
    until: Annotated[Time, doc(example=_AT)]


class Overview(View, frozen=True, kw_only=True):
    """What happens in a workspace just now.

    Of `queued`, `executionsOpen`, `inDoubt` and `failedToday` at most 10,000 are counted in each shard.
    """

    at: Annotated[Time, doc("When this was looked up: it may be two seconds old.", _AT)]
    minutes: Annotated[
        Sequence[CallCount], doc("Each minute's calls as workers counted them; a minute without any is left out.")
    ] = ()
    lag_seconds: Annotated[float, doc("How long the first of what is due has waited; 0 while nothing does.", 0.0)] = 0.0
    queued: Annotated[int, doc("Executions, runs and batches of messages that are due and that no worker has yet.", 3)]
    in_doubt: Annotated[int, doc("Messages and calls of which nobody knows whether they arrived.", 0)]
    sent_today: Annotated[int, doc("Messages and calls that reached a provider since midnight in UTC.", 1815)]
    failed_today: Annotated[
        int, doc("What has failed since midnight in UTC: executions, and messages of campaigns and events.", 2)
    ]
    executions_open: Annotated[int, doc("Executions that go on, enrollments among them.", 40)]
    runs_open: Annotated[int, doc(example=1)]
    resting: Sequence[Resting] = ()
    waiting: Annotated[
        Sequence[str], doc("What no live worker can do of what the workspace uses.", ["no worker serves smtp"])
    ] = ()
