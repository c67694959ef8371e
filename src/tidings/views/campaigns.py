"""Campaigns, and how many contacts they reach."""

from collections.abc import Sequence
from typing import Annotated

from tidings.views.contacts import ContactName
from tidings.views.lacks import Lack
from tidings.views.view import ChannelName, Duration, Id, Json, Time, View, doc

EXAMPLE_CONTENT = {"subject": "Spring is here, {{ contact.name }}", "body": "Good day."}
EXAMPLE_AUDIENCE = {"tag": "newsletter", "excludeContactIds": []}


class Campaign(View, frozen=True, kw_only=True):
    """A campaign: what is sent, over which channel, to whom, when and how fast."""

    id: Id
    name: Annotated[str, doc(example="Spring news")]
    channel: ChannelName
    content: Annotated[Json, doc(example=EXAMPLE_CONTENT)]
    version: Annotated[int, doc("A number that rises with each change.")] = 1
    audience: Annotated[Json | None, doc(example=EXAMPLE_AUDIENCE)] = None
    in_words: Annotated[str | None, doc("The audience as a sentence.", "contacts with the tag newsletter")] = None
    segment_name: Annotated[str | None, doc("The name of the segment that the audience refers to.")] = None
    data: Json = {}
    send_hour: int | None = None
    time_zone: Annotated[str, doc(example="contact")] = "contact"
    rate: Annotated[int | None, doc(example=600)] = None
    max_lateness: Annotated[Duration | None, doc(example="PT12H")] = None
    not_ready: Annotated[
        Sequence[ChannelName],
        doc("The channels it needs for which no provider is set up; until each has one, it starts nothing (409)."),
    ] = ()
    created_at: Time
    updated_at: Time


class AudienceCount(View, frozen=True, kw_only=True):
    """matching = reachable + withoutAddress + refused."""

    matching: Annotated[int, doc(example=1000)]
    reachable: Annotated[
        int | None, doc("Contacts with an address who may be written to; null without a channel.", 990)
    ] = None
    without_address: Annotated[int | None, doc(example=6)] = None
    refused: Annotated[int | None, doc("Contacts who are suppressed or have withdrawn their consent.", 4)] = None
    missing: Annotated[
        Sequence[Lack],
        doc("Attributes that the templates print and that some contacts lack; their message would fail."),
    ] = ()


class SampledContact(ContactName, frozen=True, kw_only=True):
    """One contact of an audience, and why nothing would be sent to them."""

    id: Id
    skipped: Annotated[str | None, doc("Why they cannot be reached over the channel.")] = None


class CountedAudience(AudienceCount, frozen=True, kw_only=True):
    """How many an audience has at this moment, some of them, and the filter in words."""

    in_words: Annotated[str, doc(example="contacts with the tag newsletter")]
    sample: Sequence[SampledContact] = ()
