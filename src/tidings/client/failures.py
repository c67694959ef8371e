"""`client.failures`: what failed, grouped by what went wrong."""

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

from tidings.client.pages import pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.failures import Failure, FailureGroups, FailureReplay

PATH = "/v1/failures"


class FailuresClient:
    """Looks at failures in groups, and starts a group again."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def list(self, *, since: datetime | str | None = None) -> FailureGroups:
        """Return what failed since then (a week, unless given), the latest first."""
        return await self._transport.ask(ApiRequest("GET", PATH, query={"since": _written(since)}), FailureGroups)

    def items(
        self, id: UUID | str, *, since: datetime | str | None = None, page_size: int = 50
    ) -> AsyncIterator[Failure]:
        """Yield the failures of one group, the latest first."""
        query = {"since": _written(since), "limit": page_size}
        return pages(self._transport, path_to(PATH, id, "items"), query, Failure)

    async def replay(
        self,
        id: UUID | str,
        *,
        since: datetime | str | None = None,
        per_minute: int | None = None,
        dry_run: bool = False,
    ) -> FailureReplay:
        """Start again what of a group may be, at most so many a minute; a dry run only counts."""
        body = {"since": _written(since), "perMinute": per_minute, "dryRun": dry_run}
        return await self._transport.ask(
            ApiRequest("POST", path_to(PATH, id, "replay"), body, repeatable=dry_run), FailureReplay
        )


def _written(at: datetime | str | None) -> str | None:
    return at.isoformat() if isinstance(at, datetime) else at
