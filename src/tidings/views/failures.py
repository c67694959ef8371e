"""Failures, grouped by what went wrong, and starting them again."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import field

from tidings.views.contacts import ContactName
from tidings.views.view import ChannelName, Id, Time, View, doc

_TEXT = "550 5.1.1 <‹address›>: no such user"


class FailureGroup(View, frozen=True, kw_only=True):
    """Everything that failed with the same error, but for its numbers, ids, addresses and quoted values."""

    id: Annotated[Id, doc("Of the text: the same in every workspace and at every time.")]
    text: Annotated[str, doc("The error without what is different each time.", _TEXT)]
    example: Annotated[str, doc("The latest error as it was.", "550 5.1.1 <ada@example.com>: no such user")] = ""
    count: Annotated[int, doc(example=17)]
    people: Annotated[int, doc("The contacts and addresses it happened to.", 16)] = 0
    first_at: Time
    last_at: Time
    channels: Sequence[ChannelName] = ()
    providers: Annotated[Sequence[str], doc(example=["smtp"])] = ()
    workflows: Annotated[Sequence[str], doc("The names of workflows and sequences.", ["welcome"])] = ()
    campaigns: Annotated[Sequence[str], doc(example=["spring"])] = ()


class FailureGroups(View, frozen=True, kw_only=True):
    """The groups, the latest first; of very many failures only the latest are looked at."""

    items: list[FailureGroup] = field(name="data")
    since: Annotated[Time, doc("Since when failures are looked at.")]
    complete: Annotated[bool, doc("False if there were more failures than one answer looks at.", True)] = True


class Failure(View, frozen=True, kw_only=True):
    """An execution that failed, or a message of a run, an event, or an execution that went on without it."""

    id: Annotated[Id, doc("Of the execution, or of the item.")]
    at: Annotated[Time, doc("When it failed.")]
    error: Annotated[str, doc(example="550 5.1.1 <ada@example.com>: no such user")]
    channel: ChannelName | None = None
    provider: Annotated[str | None, doc(example="smtp")] = None
    recipient: Annotated[str | None, doc(example="ada@example.com")] = None
    contact_id: Id | None = None
    contact: Annotated[ContactName | None, doc("The contact's names; null once the contact is deleted.")] = None
    workflow_name: Annotated[str | None, doc(example="welcome")] = None
    campaign_name: Annotated[str | None, doc(example="spring")] = None
    node: str | None = None
    execution_id: Id | None = None
    item_id: Id | None = None
    run_id: Id | None = None
    event_id: Id | None = None


class FailureReplay(View, frozen=True, kw_only=True):
    """What of a group was started again, or would be, and what cannot be."""

    executions: Annotated[int, doc("Executions that go on where they failed.", 12)] = 0
    items: Annotated[int, doc("Messages of campaigns that are tried again, in new runs.", 5)] = 0
    runs: Annotated[Sequence[Id], doc("Those runs.")] = ()
    refused: Annotated[
        Mapping[str, int],
        doc("How many were left alone, by the reason.", {"it was tried again before": 3}),
    ] = {}
    last_at: Annotated[Time | None, doc("With a rate: when the last of the executions is due.")] = None
    complete: Annotated[bool, doc("False if the group has more: ask again.", True)] = True
    dry_run: bool = False
