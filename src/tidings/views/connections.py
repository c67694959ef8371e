"""Connections: what a workspace sends through; and the providers that it can connect to."""

from collections.abc import Sequence
from typing import Annotated

from tidings.views.executions import Attempt
from tidings.views.view import ChannelName, Id, Json, Time, View, doc


class ConnectionActivity(View, frozen=True, kw_only=True):
    """What a connection has done lately."""

    since: Annotated[Time, doc("The messages that were made since then are counted.")]
    sent: int = 0
    failed: int = 0
    per_minute: Annotated[float, doc("Messages sent in a minute, on average.", 12.5)] = 0
    average_seconds: Annotated[float | None, doc("How long a call took from its mark to its answer.", 0.25)] = None
    in_doubt: Annotated[int, doc("Messages of any time of which nobody knows whether they arrived.", 0)] = 0
    last_errors: Annotated[Sequence[Attempt], doc("The last attempts that did not succeed, newest first.")] = ()
    used: Annotated[Json, doc("Places taken of its limits now.", {"perMinute": 17})] = {}


class ProviderConnection(View, frozen=True, kw_only=True):
    """A provider that a workspace has set up under a name of its own; credentials are never shown."""

    id: Id
    name: Annotated[str, doc(example="resend-eu")]
    channel: ChannelName
    provider: Annotated[str, doc("One of `GET /v1/provider-kinds`.", "resend")]
    settings: Annotated[Json, doc(example={"from": "You <you@example.com>"})] = {}
    credentials: Annotated[Sequence[str], doc("Which are set.", ["apiKey"])] = ()
    limits: Annotated[Json, doc("Over all workers; see the reference.", {"perMinute": 600})] = {}
    position: Annotated[int, doc("The smallest is tried first.", 1)] = 1
    weight: Annotated[int, doc("How many of the recipients it gets beside others of the same position.", 1)] = 1
    sticky: Annotated[bool, doc("Whether its messages wait for it instead of taking the next connection.")] = False
    enabled: bool = True
    operators: Annotated[
        bool, doc("Whether the operator has set it up, for every workspace without a connection for the channel.")
    ] = False
    state: Annotated[
        str,
        doc("`ready`, `resting`, `unserved` while no live worker can use it, or `disabled`.", "ready"),
    ] = "ready"
    circuit: Annotated[
        str,
        doc("`closed` while it is used, `open` while it is left alone, `halfOpen` while a few calls try it.", "closed"),
    ] = "closed"
    rests_until: Annotated[Time | None, doc("Until when nothing leaves through it.")] = None
    reason: Annotated[str | None, doc("Why it is left alone, or was when it was last called.")] = None
    created_at: Time | None = None
    updated_at: Time | None = None
    activity: Annotated[ConnectionActivity | None, doc("Shown for one connection, not in lists.")] = None


class ConnectionTest(View, frozen=True, kw_only=True):
    """One real message through a connection: what became of it, and what was said."""

    run_id: Annotated[Id, doc("The run of one item that it is; `/v1/runs` shows it as a test.")]
    item_id: Annotated[Id | None, doc("Null until it is written.")] = None
    status: Annotated[str, doc("The item's status, or `in_doubt`.", "sent")] = "queued"
    done: Annotated[bool, doc("Whether it was called for.")] = False
    error: str | None = None
    dialogue: Annotated[
        Sequence[str],
        doc(
            "What was said: > by us, < by the server; secrets are struck out.", ["> POST https://api.resend.com/emails"]
        ),
    ] = ()


class KindSetting(View, frozen=True, kw_only=True):
    """Something that a provider must or may be told."""

    name: Annotated[str, doc(example="apiKey")]
    doc: Annotated[str, doc(example="the API key")]
    type: Annotated[str, doc("`text`, `lines`, `url`, `number` or `flag`.", "text")]
    required: bool = False
    secret: Annotated[bool, doc("Whether it is given among `credentials`, sealed, and never shown.")] = False
    default: Annotated[str | int | bool | None, doc("What holds where it is not given.")] = None
    choices: Sequence[str] = ()
    example: str = ""


class KindDocument(View, frozen=True, kw_only=True):
    """A page of the vendor's own documentation that the package follows."""

    title: Annotated[str, doc(example="Resend API reference: send email")]
    read_on: Annotated[str, doc("When it was read.", "2026-11-18")]


class ProviderKindView(View, frozen=True, kw_only=True):
    """A provider that a workspace can connect to."""

    name: Annotated[str, doc(example="resend")]
    title: Annotated[str, doc(example="Resend")]
    channels: Sequence[ChannelName]
    settings: Sequence[KindSetting]
    documents: Sequence[KindDocument] = ()
