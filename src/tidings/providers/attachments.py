"""Fetch what an e-mail carries: by reference, within a size, streamed into a temporary file.

Nothing of a file is ever in the database or, as a whole, in memory. A fetch comes before anything is sent, so whatever
goes wrong with it is either for good (there is no such file, it is too large) or a safe retry.
"""

import asyncio
import mimetypes
from collections.abc import Sequence
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import assert_never

from tidings.domain.content.attachment import AttachmentReference
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Outcome, Rejected, RetryLater
from tidings.domain.private_addresses import FindPrivateAddresses, PrivateAddresses
from tidings.providers.enclosed import Fetched
from tidings.providers.guard import REMEDY, Resolver, resolve
from tidings.providers.http_client import HttpClient
from tidings.providers.http_request import (
    LATE,
    AddressClosed,
    HttpAnswer,
    HttpEnd,
    HttpRequest,
    LeaseSpent,
    NoAnswer,
    NotSent,
)
from tidings.providers.printable import printable

LARGEST_ATTACHMENTS = 20_000_000
"""Bytes of all the files of one e-mail: what most mail servers take, once it is encoded."""
KEPT_IN_MEMORY = 262_144
TOO_LATE = RetryLater("the attachments could not be fetched before the deadline of the call")
_LATER = frozenset({408, 425, 429})


class AttachmentFetcher:
    """Gets files over HTTP from public addresses, with no redirect, no proxy and nothing unpacked."""

    def __init__(
        self, allowed: FindPrivateAddresses, *, largest: int = LARGEST_ATTACHMENTS, resolver: Resolver = resolve
    ) -> None:
        self._allowed, self._largest = allowed, largest
        self._http = HttpClient(connections=20, keeps_connections=False, resolver=resolver)

    async def fetch(
        self, references: Sequence[AttachmentReference], files: ExitStack, workspace: Workspace, until: float
    ) -> list[Fetched] | Outcome:
        """Every file, in order, or what the lack of one means; `files` closes them."""
        fetched: list[Fetched] = []
        try:
            async with asyncio.timeout_at(until):
                private = await self._allowed(workspace)
        except TimeoutError:
            return TOO_LATE
        left = self._largest
        for reference in references:
            one = await self._fetch(reference, private, left, files, until)
            if not isinstance(one, Fetched):
                return one
            left -= one.size
            fetched.append(one)
        return fetched

    async def close(self) -> None:
        """Let go of every connection."""
        await self._http.close()

    async def _fetch(
        self, reference: AttachmentReference, private: PrivateAddresses, left: int, files: ExitStack, until: float
    ) -> Fetched | Outcome:
        file = files.enter_context(SpooledTemporaryFile(max_size=KEPT_IN_MEMORY))  # noqa: SIM115 – the stack closes it
        request = HttpRequest("GET", reference.url, private=private, largest_answer=left, into=file)
        end = await self._http.send(request, until, _always)
        problem = self._problem(reference, end, left)
        if problem is not None:
            return problem
        size = file.tell()
        file.seek(0)
        guessed = mimetypes.guess_type(reference.filename)[0]
        content_type = reference.content_type or guessed or "application/octet-stream"
        return Fetched(file, reference.filename, content_type, size, reference.content_id)

    def _problem(self, reference: AttachmentReference, end: HttpEnd, left: int) -> Outcome | None:
        """Say what keeps a file from being sent, if anything does."""
        match end:
            case HttpAnswer(status) if not 200 <= status < 300:
                reason = f"its server answered {status}"
                is_final = status < 500 and status not in _LATER
                return Rejected(_cannot(reference, reason)) if is_final else RetryLater(_cannot(reference, reason))
            case HttpAnswer(size=size) if size > left:
                return Rejected(f"the attachments are larger than {self._largest:,} bytes: send a link instead")
            case HttpAnswer(body=None):
                return RetryLater(_cannot(reference, "it broke off"))
            case HttpAnswer():
                return None
            case AddressClosed(reason):
                return Rejected(f"the attachment {reference.filename!r}: {reason}; {REMEDY}")
            case LeaseSpent():
                raise AssertionError("a fetch needs no lease")
            case NotSent(reason) | NoAnswer(reason):
                return TOO_LATE if reason == LATE else RetryLater(_cannot(reference, reason))
            case _:
                assert_never(end)


def _cannot(reference: AttachmentReference, reason: str) -> str:
    return f"the attachment {reference.filename!r} could not be fetched: {printable(reason)}"


def _always() -> bool:
    return True
