"""/v1/failures: what failed, grouped by what went wrong, and starting a group again."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query

from tidings.domain.paging import read_created
from tidings.http.access import Operator, WorkReader
from tidings.http.bodies import body_of
from tidings.http.openapi import Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.run_requests import GivenFailureReplay
from tidings.views.failures import Failure, FailureGroups, FailureReplay
from tidings.views.pages import Page

router = resource_router("Failures")


def failed_since(
    since: Annotated[
        str | None,
        Query(
            max_length=100, description="Only what failed at this time or later, in ISO 8601; without it, a week ago."
        ),
    ] = None,
) -> datetime | None:
    """Return since when failures are looked at."""
    return read_created(since, None, ("since", "before")).after


Since = Annotated[datetime | None, Depends(failed_since)]


@router.get("/v1/failures")
async def list_failures(context: WorkReader, since: Since) -> FailureGroups:
    """What failed, grouped by its error without numbers, ids, addresses and quoted values; the latest first.

    Executions that failed, and messages of campaigns, of events, and of executions that went on without them.
    """
    return await context.engine.failures.groups(context.workspace, since)


@router.get("/v1/failures/{id:uuid}/items")
async def list_failure_items(
    context: WorkReader, id: UUID, since: Since, limit: Limit = 50, cursor: Cursor = None
) -> Page[Failure]:
    """The failures of one group, the latest first; a page may be short although another follows it."""
    return await context.engine.failures.items(context.workspace, id, since, limit=limit, cursor=cursor)


@router.post("/v1/failures/{id:uuid}/replay", openapi_extra=takes(GivenFailureReplay))
async def replay_failures(
    context: Operator, id: UUID, body: Annotated[GivenFailureReplay, Depends(body_of(GivenFailureReplay))]
) -> FailureReplay:
    """Start a group again as far as it may be, under the same keys, at most so many a minute.

    Executions go on where they failed, messages of campaigns go out in retries of their runs. What may have arrived,
    was tried again before, or is of an event is left alone, and told with the reason.
    """
    since = read_created(body.since, None, ("since", "before")).after
    return await context.engine.failures.replay(
        context.caller, id, since, per_minute=body.per_minute, dry_run=body.dry_run
    )
