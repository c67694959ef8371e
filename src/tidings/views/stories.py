"""The story of a contact: what happened to one person, over all products."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from tidings.views.view import ChannelName, Id, Time, View, doc


class StoryKind(StrEnum):
    """What a line of a story tells of."""

    MESSAGE = "message"
    ENROLLMENT = "enrollment"
    EXECUTION = "execution"
    CHANGE = "change"


class Product(StrEnum):
    """What a message, or a walk through steps, belongs to."""

    CAMPAIGN = "campaign"
    SEQUENCE = "sequence"
    WORKFLOW = "workflow"
    RULE = "rule"


class StoryLine(View, frozen=True, kw_only=True):
    """One thing that happened to a contact, at the time when it began."""

    id: Annotated[Id, doc("Of the message, the enrollment, the execution, or the entry of the audit log.")]
    kind: Annotated[StoryKind, doc(example="message")]
    at: Time
    ended_at: Annotated[Time | None, doc("When it ended; null while it goes on.")] = None
    outcome: Annotated[
        str, doc("Its status; of a change, what was done: created, updated, deleted, address_removed.", "sent")
    ]
    in_doubt: Annotated[bool, doc("Of a message: whether nobody knows yet if it arrived.")] = False
    why: Annotated[
        str | None, doc("Why it failed, was skipped, ended or waits.", "email is suppressed: unsubscribed")
    ] = None
    product: Annotated[Product | None, doc("What it belongs to; null for a change.", "campaign")] = None
    name: Annotated[
        str | None, doc("The name of the campaign, sequence or workflow, or the event's trigger.", "spring")
    ] = None
    channel: ChannelName | None = None
    recipient: Annotated[str | None, doc(example="ada@example.com")] = None
    words: Annotated[
        str | None, doc("A message's subject, or its first words; null before it is rendered.", "Spring is here")
    ] = None
    node: Annotated[str | None, doc("The node or step that sent the message.", "hello")] = None
    run_id: Id | None = None
    event_id: Id | None = None
    execution_id: Annotated[Id | None, doc("The execution or enrollment that the line tells of, or belongs to.")] = None
    workflow_id: Annotated[Id | None, doc("The workflow or sequence of the execution.")] = None
    actor: Annotated[str | None, doc("Of a change: who made it.", "key:crm")] = None
    fields: Annotated[
        Sequence[str], doc("Of a change: the fields that were changed, never what they hold.", ["consent"])
    ] = ()
