"""Campaigns, whom they reach, and what one contact would get."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from tidings.views.contacts import ContactName
from tidings.views.lacks import Lack
from tidings.views.view import ChannelName, Duration, Id, Json, Time, View, doc

EXAMPLE_CONTENT = {"subject": "Spring is here, {{ contact.name }}", "body": "Good day."}
EXAMPLE_AUDIENCE = {"tag": "newsletter", "excludeContactIds": []}


class Campaign(View, frozen=True, kw_only=True):
    """What is said over which channel, to whom, when and how fast."""

    id: Id
    name: Annotated[str, doc(example="Spring news")]
    channel: ChannelName
    content: Annotated[Json, doc(example=EXAMPLE_CONTENT)]
    version: Annotated[int, doc("Counts its changes.")] = 1
    audience: Annotated[Json | None, doc(example=EXAMPLE_AUDIENCE)] = None
    segment_name: Annotated[str | None, doc("Of the segment in the audience.")] = None
    data: Json = {}
    send_hour: int | None = None
    time_zone: Annotated[str, doc(example="contact")] = "contact"
    rate: Annotated[int | None, doc(example=600)] = None
    max_lateness: Annotated[Duration | None, doc(example="PT12H")] = None
    not_ready: Annotated[
        Sequence[ChannelName],
        doc("Channels it needs that no provider is set up for: until then it starts nothing (409)."),
    ] = ()
    created_at: Time
    updated_at: Time


class AudienceCount(View, frozen=True, kw_only=True):
    """matching = reachable + withoutAddress + refused."""

    matching: Annotated[int, doc(example=1000)]
    reachable: Annotated[int | None, doc("Who have an address and may be written to; null without a channel.", 990)] = (
        None
    )
    without_address: Annotated[int | None, doc(example=6)] = None
    refused: Annotated[int | None, doc("Suppressed, or consent withdrawn.", 4)] = None
    missing: Annotated[
        Sequence[Lack], doc("Attributes that are printed and that some lack; their message would fail.")
    ] = ()


class Preview(View, frozen=True, kw_only=True):
    """What one contact would get at this moment."""

    contact_id: Id | None = None
    contact: ContactName | None = None
    recipients: Annotated[Sequence[str], doc(example=["ada@example.com"])] = ()
    content: Annotated[Mapping[str, str], doc(example={"subject": "Spring is here, Ada", "body": "Good day."})] = {}
    error: Annotated[str | None, doc("Why the content cannot be rendered for them.")] = None
    skipped: Annotated[str | None, doc("Why nothing would be sent to them.")] = None
