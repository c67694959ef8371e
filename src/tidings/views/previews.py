"""What one person would receive, before anything is sent."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from tidings.views.contacts import ContactName
from tidings.views.view import ChannelName, Id, View, doc


class SegmentCount(View, frozen=True, kw_only=True):
    """How an SMS is sent: its alphabet, its length in that alphabet, and in how many parts."""

    encoding: Annotated[Literal["gsm", "ucs2"], doc(example="gsm")]
    units: Annotated[int, doc(example=47)]
    segments: Annotated[int, doc(example=1)]


class Preview(View, frozen=True, kw_only=True):
    """What one person would receive at this moment."""

    channel: ChannelName
    part: Annotated[str | None, doc("Which node or step of a workflow, sequence or rule it is.", "hello")] = None
    contact_id: Id | None = None
    contact: ContactName | None = None
    recipients: Annotated[Sequence[str], doc(example=["ada@example.com"])] = ()
    content: Annotated[
        Mapping[str, str],
        doc(
            "What a provider gets; what has parts is JSON.",
            {"subject": "Spring is here, Ada", "body": "Good day."},
        ),
    ] = {}
    size: Annotated[int | None, doc("Bytes of the text and the HTML of an e-mail.", 27)] = None
    segments: Annotated[SegmentCount | None, doc("Of an SMS.")] = None
    problems: Annotated[
        Sequence[str], doc("What should be looked at; a variable that is missing is shown as it is written.")
    ] = ()
    error: Annotated[str | None, doc("Why the content cannot be rendered for the contact.")] = None
    skipped: Annotated[str | None, doc("Why nothing would be sent to the contact.")] = None
