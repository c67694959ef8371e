"""A file that goes with an e-mail, by reference: the outbox holds where it is, never the file."""

import re

import msgspec

from tidings.domain.content.template import has_liquid
from tidings.domain.errors import InputInvalid
from tidings.domain.messages import quoted
from tidings.domain.workflows.function import check_url

LONGEST_FILENAME = 200
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTENT_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?(?:@[A-Za-z0-9.-]{1,100})?")
_NOT_HTTP = "must begin with http:// or https://"


class AttachmentReference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where a file is, and the name it is shown under; with a `content_id` it is an image that the HTML shows."""

    url: str
    filename: str
    content_type: str | None = None
    content_id: str | None = None


def problem_of_reference(reference: AttachmentReference) -> str | None:
    """Why a file cannot be sent under this name or fetched from there, or None."""
    if wrong := _problem_of_filename(reference.filename):
        return wrong
    if reference.content_id is not None and (wrong := problem_of_content_id(reference.content_id)):
        return wrong
    wrong = _problem_of_url(reference.url)
    return f"the attachment {reference.filename!r}: its URL {wrong}" if wrong else None


def problem_of_template(field: str, source: str) -> str | None:
    """Why no file can ever be fetched from, or be called, what a template (of `url` or `filename`) makes; or None."""
    if field == "filename":
        return None if has_liquid(source) else _problem_of_filename(source.strip())
    if has_liquid(source):
        # What stands before the first variable is all that is known of it: enough to see another scheme.
        begins = source.strip().partition("{")[0]
        wrong = _NOT_HTTP if (found := _SCHEME.match(begins)) and found[1].lower() not in ("http", "https") else None
    else:
        wrong = _problem_of_url(source.strip())
    return f"{quoted(source)} {wrong}; write it like https://example.com/quote.pdf" if wrong else None


def problem_of_content_id(id: str) -> str | None:
    """Why HTML cannot show a file under this id, or None."""
    if _CONTENT_ID.fullmatch(id):
        return None
    return f"{quoted(id)} is no contentId: use 1 to 100 letters, digits, dots, hyphens or underscores, as in logo"


def _problem_of_filename(name: str) -> str | None:
    if 0 < len(name) <= LONGEST_FILENAME and name.isprintable() and not set(name) & set('/\\"'):
        return None
    return f"{quoted(name)} is no name for an attachment: use 1 to {LONGEST_FILENAME} characters without slashes"


def _problem_of_url(url: str) -> str | None:
    try:
        check_url(url)
    except InputInvalid as error:
        return str(error).removeprefix("the URL of a function ").partition(";")[0]
    return None
