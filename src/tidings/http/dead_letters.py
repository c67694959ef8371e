"""/v1/dead-letters: executions that failed for good, and starting them again."""

from typing import Annotated

from fastapi import Depends, Query

from tidings.http.access import Operator, WorkReader
from tidings.http.bodies import body_of
from tidings.http.executions import id_or_name
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.trigger_requests import GivenReplay
from tidings.resources.executions import DeadLetterFilter
from tidings.views.executions import Execution, Replay
from tidings.views.pages import Page

router = resource_router("Dead letters")


@router.get("/v1/dead-letters")
async def list_dead_letters(
    context: WorkReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    workflow: Annotated[str | None, Query(max_length=200, description="Name or id.")] = None,
    error: Annotated[str | None, Query(max_length=2_000, description="Part of the error's text.")] = None,
    node: Annotated[str | None, Query(max_length=200)] = None,
) -> Page[Execution]:
    """The executions that failed, newest first."""
    return await context.engine.executions.dead_letters(
        context.workspace,
        workflow=id_or_name(workflow),
        error=error,
        node=node,
        limit=limit,
        created=created,
        cursor=cursor,
    )


@router.post("/v1/dead-letters/replay", openapi_extra=takes(GivenReplay))
async def replay_dead_letters(context: Operator, body: Annotated[GivenReplay, Depends(body_of(GivenReplay))]) -> Replay:
    """Start again what failed, as far as it matches; a dry run only says what it would do."""
    where = DeadLetterFilter(
        workflow=id_or_name(body.where.workflow), error=body.where.error, node=body.where.node, ids=body.where.ids
    )
    return await context.engine.executions.replay(context.caller, where, dry_run=body.dry_run)
