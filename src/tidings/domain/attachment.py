"""A file that goes with an e-mail, by reference: the outbox holds where it is, never the file."""

import msgspec

from tidings.domain.errors import InputInvalid
from tidings.domain.function import check_url

LONGEST_FILENAME = 200


class AttachmentReference(msgspec.Struct, frozen=True, rename="camel"):
    """Where a file is, and the name it is shown under."""

    url: str
    filename: str
    content_type: str | None = None


def problem_of_reference(reference: AttachmentReference) -> str | None:
    """Why a file cannot be sent under this name or fetched from there, or None."""
    name = reference.filename
    if not 0 < len(name) <= LONGEST_FILENAME or not name.isprintable() or set(name) & set('/\\"'):
        return f"{name[:50]!r} is no name for an attachment: use 1 to {LONGEST_FILENAME} characters without slashes"
    try:
        check_url(reference.url)
    except InputInvalid as error:
        return f"the attachment {name!r}: {str(error).replace('the URL of a function', 'its URL').partition(';')[0]}"
    return None
