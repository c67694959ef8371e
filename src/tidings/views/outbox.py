"""The outbox: every intended provider action, and what was done about it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from tidings.views.contacts import ContactName
from tidings.views.executions import Attempt
from tidings.views.view import ChannelName, Id, Json, Time, View, doc


class ItemStatus(StrEnum):
    """The states of an outbox row; all but `queued` are terminal."""

    QUEUED = "queued"
    SENT = "sent"
    CALLED = "called"
    POSTED = "posted"
    FAILED = "failed"
    SKIPPED = "skipped"


class HistoryLine(View, frozen=True, kw_only=True):
    """One change to a run or an item, and who made it."""

    event: Annotated[str, doc(example="created")]
    actor: Annotated[str, doc(example="cli")]
    detail: Json = {}
    at: Time


class Item(View, frozen=True, kw_only=True):
    """An intended provider action."""

    id: Id
    status: Annotated[ItemStatus, doc(example="sent")]
    in_doubt: bool = False
    channel: ChannelName
    provider: Annotated[str, doc(example="smtp")]
    connection: Annotated[
        str | None,
        doc("The name of the connection that `provider` stands for, also of one that was removed.", "resend-eu"),
    ] = None
    printed: Annotated[bool, doc("Whether the message is printed, as requested, instead of sent.")] = False
    recipient: Annotated[str, doc(example="ada@example.com")]
    contact_id: Id | None = None
    contact: Annotated[ContactName | None, doc("The contact's names; null once the contact is deleted.")] = None
    workflow_name: Annotated[str | None, doc("The name of the workflow whose execution the item belongs to.")] = None
    campaign_name: Annotated[str | None, doc("The name of the campaign whose run the item belongs to.", "spring")] = (
        None
    )
    trigger: Annotated[str | None, doc("The trigger of the event the item belongs to.")] = None
    execution_id: Id | None = None
    node: str | None = None
    run_id: Id | None = None
    job_id: Id | None = None
    event_id: Id | None = None
    attempts: int = 0
    retry_at: Time | None = None
    first_called_at: Time | None = None
    provider_message_id: str | None = None
    error: str | None = None
    idempotency_key: Annotated[str, doc("64 hexadecimal digits, the same for every attempt.", "9f2c4e1a" * 8)] = ""
    created_at: Time
    finalized_at: Time | None = None


class NextStep(StrEnum):
    """What is done next about an item whose call was made, but has not come to an end."""

    REPEAT = "repeat"
    LOOK_UP = "lookUp"
    GIVE_UP = "giveUp"
    PERSON = "person"


class Evidence(View, frozen=True, kw_only=True):
    """What is known of the calls for an item, and what is done next about it."""

    provider_class: Annotated[
        str | None,
        doc("What may be done after doubt: `keyed`, `resolvable` or `blind`; null while nobody serves it.", "blind"),
    ] = None
    doubt_policy: Annotated[
        str, doc("What is done where nothing can tell whether a call arrived: `hold`, `resend` or `give_up`.", "hold")
    ]
    calls: Annotated[int, doc("The calls that were ever marked: each may have been made.", 1)]
    last_called_at: Annotated[Time | None, doc("When the last of them was marked, as far as is known.")] = None
    under_way: Annotated[
        bool, doc("Whether the last of them has no answer yet: it is being made, or its worker is gone.")
    ] = False
    next: Annotated[
        NextStep | None,
        doc(
            "What is done next: the call is repeated, the provider is asked, the item is given up, or a person "
            "decides; null once the item is settled, and while a call is under way."
        ),
    ] = None
    next_at: Annotated[Time | None, doc("When that is done; null where a person decides.")] = None


class ItemDetail(Item, frozen=True, kw_only=True):
    """An item with what was sent, its failed attempts, and what people did about it."""

    payload: Annotated[Json | None, doc(example={"subject": "Spring is here", "body": "Good day."})] = None
    failed_attempts: Sequence[Attempt] = ()
    evidence: Annotated[Evidence | None, doc("Null for an item that was never called for.")] = None
    history: Sequence[HistoryLine] = ()


class Resolved(View, frozen=True, kw_only=True):
    """The result of a person's decision about items in doubt."""

    resolved: int
    refused: Annotated[
        int, doc("Items left as they were: a call was under way, or the doubt had ended by itself.", 0)
    ] = 0


class ResolvedItems(Resolved, frozen=True, kw_only=True):
    """The result of a person's decision about many items in doubt, or what it would be."""

    not_found: Annotated[int, doc("Named items that are not in doubt, or are not there.", 0)] = 0
    by_provider: Annotated[Mapping[str, int], doc(example={"smtp": 12})] = {}
    items: Annotated[Sequence[Id], doc("The first hundred of them.")] = ()
    complete: Annotated[bool, doc("False if more match than one call resolves: ask again.", True)] = True
    dry_run: bool = False


ByError = Mapping[str, int]
"""The number of failures for each error."""
