"""The files of an e-mail for vendors that take them in the request itself: fetched before anything is handed over."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Outcome
from tidings.providers.email_fields import EmailFields
from tidings.providers.enclosed import Fetched
from tidings.providers.http_request import HttpRequest
from tidings.providers.vendor_api import VendorCalls


@dataclass(frozen=True, slots=True)
class EmailFile:
    """A file as a whole; with a `content_id` it is an image that the HTML shows."""

    filename: str
    content_type: str
    content: bytes = field(repr=False)
    content_id: str | None = None


async def email_files(
    item: Marked, fields: EmailFields, calls: VendorCalls, until: float, largest: int
) -> Sequence[EmailFile] | Outcome:
    """Every file of a message, at most `largest` bytes in all, or what the lack of one means."""
    if not fields.attachments:
        return ()
    with ExitStack() as opened:
        fetched = await calls.fetch(fields.attachments, opened, item.workspace, until, largest)
        if not isinstance(fetched, list):
            return fetched
        ids = [one.content_id for one in fields.attachments]
        return await asyncio.to_thread(_read, fetched, ids)  # what is large lies on disk


async def written(files: Sequence[EmailFile], write: Callable[[], HttpRequest]) -> HttpRequest:
    """Write a request; off the event loop where files make it large."""
    return await asyncio.to_thread(write) if files else write()


def _read(fetched: Sequence[Fetched], ids: Sequence[str | None]) -> Sequence[EmailFile]:
    return [
        EmailFile(one.filename, one.content_type, one.file.read(), id) for one, id in zip(fetched, ids, strict=True)
    ]
