"""Drafts below /v1/workflows: save what is not ready, publish it when it is."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends
from starlette.responses import Response

from tidings.http.access import Definer, DefinitionReader
from tidings.http.answers import answer
from tidings.http.bodies import body_of
from tidings.http.draft_requests import GivenPublication, NewDraft, SavedDraft
from tidings.http.errors import PROBLEM_JSON
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.view_schemas import reference
from tidings.views.drafts import Drafted, ListedDraft, Publication
from tidings.views.pages import Page
from tidings.views.problems import OutdatedDraft

router = resource_router("Workflows")
OUTDATED: dict[int | str, dict[str, Any]] = {
    409: {
        "content": {PROBLEM_JSON: {"schema": reference(OutdatedDraft)}},
        "description": "A version was published since the draft was begun (`draft_outdated`), or it was saved again.",
    }
}


@router.post("/v1/workflows/drafts", status_code=201, openapi_extra=takes(NewDraft))
async def create_draft(context: Definer, body: Annotated[NewDraft, Depends(body_of(NewDraft))]) -> Drafted | Response:
    """Begin a workflow as a draft: its name is taken, and nothing lists or starts it until it is published."""
    made = await context.engine.drafts.create(context.caller, body.name, body.definition, description=body.description)
    return answer(made, 201, {"Location": f"/v1/workflows/{made.id}/draft"})


@router.get("/v1/workflows/drafts")
async def list_drafts(
    context: DefinitionReader, created: CreatedIn, limit: Limit = 50, cursor: Cursor = None
) -> Page[ListedDraft]:
    """The drafts of the workspace, without their definitions; those of the newest workflows first."""
    return await context.engine.drafts.list(context.workspace, limit=limit, created=created, cursor=cursor)


@router.get("/v1/workflows/{id:uuid}/draft")
async def get_draft(context: DefinitionReader, id: UUID) -> Drafted:
    """The draft of a workflow, who saved it, and everything that keeps it from being published."""
    return await context.engine.drafts.get(context.workspace, id)


@router.put("/v1/workflows/{id:uuid}/draft", openapi_extra=takes(SavedDraft))
async def save_draft(context: Definer, id: UUID, body: Annotated[SavedDraft, Depends(body_of(SavedDraft))]) -> Drafted:
    """Save a draft, valid or not: its problems are answered, and refuse nothing.

    With `revision`, 409 if it was saved by somebody else since.
    """
    return await context.engine.drafts.save(context.caller, id, body.definition, base=body.base, revision=body.revision)


@router.delete("/v1/workflows/{id:uuid}/draft", status_code=204)
async def delete_draft(context: Definer, id: UUID) -> None:
    """Throw a draft away; of a workflow that was never published nothing stays."""
    await context.engine.drafts.delete(context.caller, id)


@router.post("/v1/workflows/{id:uuid}/draft/publish", openapi_extra=takes(GivenPublication), responses=OUTDATED)
async def publish_draft(
    context: Definer,
    id: UUID,
    body: Annotated[GivenPublication, Depends(body_of(GivenPublication, required=False))],
) -> Publication:
    """Make the draft the newest version; executions under way go on with theirs.

    409 with both definitions if a version was published since the draft was begun.
    """
    return await context.engine.drafts.publish(context.caller, id, revision=body.revision)
