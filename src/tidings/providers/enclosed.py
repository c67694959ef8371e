"""The files of an e-mail: named in its payload, and as they are once attachments.py has fetched them."""

from dataclasses import dataclass
from tempfile import SpooledTemporaryFile

import msgspec

from tidings.domain.content.attachment import AttachmentReference, problem_of_reference
from tidings.domain.flow.item import Payload
from tidings.domain.flow.outcome import Rejected

_decode = msgspec.json.Decoder(list[AttachmentReference]).decode


@dataclass(frozen=True)
class Fetched:
    """A file that is here, ready to be read from its beginning."""

    file: "SpooledTemporaryFile[bytes]"
    filename: str
    content_type: str
    size: int
    content_id: str | None = None


def references_in(payload: Payload) -> list[AttachmentReference] | Rejected:
    """The files that a message names, or why they cannot be read."""
    text = payload.get("attachments")
    if text is None:
        return []
    try:
        found = _decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return Rejected(f"the attachments cannot be read: {error}")
    wrong = next((problem for one in found if (problem := problem_of_reference(one))), None)
    return Rejected(wrong) if wrong else found
