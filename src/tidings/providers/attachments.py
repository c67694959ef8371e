"""Fetch what an e-mail carries: by reference, within a size, streamed into a temporary file.

Nothing of a file is ever in the database or, as a whole, in memory. A fetch comes before anything is sent, so whatever
goes wrong with it is either for good (there is no such file, it is too large) or a safe retry.
"""

import mimetypes
from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from tempfile import SpooledTemporaryFile
from urllib.parse import urlsplit

import httpcore2

from tidings.domain.content.attachment import AttachmentReference
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Outcome, Rejected, RetryLater
from tidings.domain.private_addresses import FindPrivateAddresses
from tidings.providers.enclosed import Fetched
from tidings.providers.guard import REMEDY, AddressRefused, GuardedPools, Resolver, resolve

LARGEST_ATTACHMENTS = 20_000_000
"""Bytes of all the files of one e-mail: what most mail servers take, once it is encoded."""
KEPT_IN_MEMORY = 262_144
_FAILURES = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError)
_LATER = frozenset({408, 425, 429})


class _CannotFetch(Exception):
    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class AttachmentFetcher:
    """Gets files over HTTP from public addresses, with no redirect, no proxy and nothing unpacked."""

    def __init__(
        self, allowed: FindPrivateAddresses, *, largest: int = LARGEST_ATTACHMENTS, resolver: Resolver = resolve
    ) -> None:
        self._allowed, self._largest = allowed, largest
        self._pools = GuardedPools(
            resolver,
            ssl_context=httpcore2.default_ssl_context(),
            max_connections=20,
            max_keepalive_connections=0,
        )

    async def fetch(
        self, references: Sequence[AttachmentReference], files: ExitStack, workspace: Workspace
    ) -> list[Fetched] | Outcome:
        """Every file, in order, or what the lack of one means; `files` closes them."""
        fetched: list[Fetched] = []
        pool = await self._pools.of(await self._allowed(workspace))
        left = self._largest
        for reference in references:
            try:
                one = await self._fetch(pool, reference, left, files)
            except _CannotFetch as cannot:
                return cannot.outcome
            except AddressRefused as refused:
                return Rejected(f"the attachment {reference.filename!r}: {refused}; {REMEDY}")
            except _FAILURES as failure:
                reason = str(failure) or type(failure).__name__
                return RetryLater(f"the attachment {reference.filename!r} could not be fetched: {reason}")
            left -= one.size
            fetched.append(one)
        return fetched

    async def close(self) -> None:
        """Let go of every connection."""
        await self._pools.close()

    async def _fetch(
        self, pool: httpcore2.AsyncConnectionPool, reference: AttachmentReference, left: int, files: ExitStack
    ) -> Fetched:
        url = urlsplit(reference.url)
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        target = httpcore2.URL(scheme=url.scheme, host=url.hostname or "", port=url.port, target=path)
        headers = [("Host", url.netloc), ("Accept-Encoding", "identity"), ("User-Agent", "tidings")]
        file = files.enter_context(SpooledTemporaryFile(max_size=KEPT_IN_MEMORY))  # noqa: SIM115 – the stack closes it
        size = 0
        async with pool.stream("GET", target, headers=headers) as response:
            _check_status(reference, response.status)
            async with aclosing(response.aiter_stream()) as chunks:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > left:
                        raise _CannotFetch(
                            Rejected(f"the attachments are larger than {self._largest:,} bytes: send a link instead")
                        )
                    file.write(chunk)
        file.seek(0)
        guessed = mimetypes.guess_type(reference.filename)[0]
        return Fetched(file, reference.filename, reference.content_type or guessed or "application/octet-stream", size)


def _check_status(reference: AttachmentReference, status: int) -> None:
    if 200 <= status < 300:
        return
    reason = f"the attachment {reference.filename!r} could not be fetched: its server answered {status}"
    raise _CannotFetch(RetryLater(reason) if status >= 500 or status in _LATER else Rejected(reason))
