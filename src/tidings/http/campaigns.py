"""/v1/campaigns and /v1/segments: say what, to whom and when; try it out; deploy it."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request, Response

from tidings.domain.flow.item import Channel
from tidings.http.access import ContactKeeper, Definer, DefinitionReader, Operator, RequestContext
from tidings.http.answers import answer
from tidings.http.bodies import body_of, read_object
from tidings.http.campaign_shapes import (
    Campaign,
    ChangedCampaign,
    ChangedSegment,
    GivenCampaign,
    GivenDeploy,
    GivenPreview,
    GivenSegment,
    GivenTest,
    Preview,
    Run,
    StartedRun,
)
from tidings.http.channel_words import MessageChannel
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.shapes import Everything, List
from tidings.kernel.start.trigger import Started
from tidings.views.campaigns import AudienceCount
from tidings.views.pages import Page
from tidings.views.segments import Segment

router = resource_router("Campaigns")
DEPLOYED_BEFORE: dict[int | str, dict[str, Any]] = {
    200: {"model": StartedRun, "description": "It had been deployed under this key before."}
}


async def given(request: Request) -> dict[str, Any]:
    """The body as it is: the domain reads it and tells every problem with its place."""
    return await read_object(request)


Body = Annotated[dict[str, Any], Depends(given)]


@router.post("/v1/campaigns", status_code=201, openapi_extra=takes(GivenCampaign))
async def create_campaign(context: Definer, body: Body, response: Response) -> Campaign:
    """Make a campaign; nothing is sent before it is deployed."""
    made = await context.engine.campaigns.create(context.caller, body)
    response.headers["Location"] = f"/v1/campaigns/{made.id}"
    return Campaign.model_validate(made)


@router.get("/v1/campaigns")
async def list_campaigns(
    context: DefinitionReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    name: Annotated[str | None, Query(max_length=200)] = None,
    channel: MessageChannel | None = None,
) -> List[Campaign]:
    """The campaigns of the workspace, newest first."""
    page = await context.engine.campaigns.list(
        context.workspace,
        name=name,
        channel=Channel(channel) if channel else None,
        limit=limit,
        created=created,
        cursor=cursor,
    )
    return List(data=[Campaign.model_validate(one) for one in page.items], next_cursor=page.next_cursor)


@router.get("/v1/campaigns/{id:uuid}")
async def get_campaign(context: DefinitionReader, id: UUID) -> Campaign:
    """One campaign."""
    return Campaign.model_validate(await context.engine.campaigns.get(context.workspace, id))


@router.patch("/v1/campaigns/{id:uuid}", openapi_extra=takes(ChangedCampaign))
async def update_campaign(context: Definer, id: UUID, body: Body) -> Campaign:
    """Change what is given; runs under way keep what they were deployed with."""
    return Campaign.model_validate(await context.engine.campaigns.update(context.caller, id, body))


@router.delete("/v1/campaigns/{id:uuid}", status_code=204)
async def delete_campaign(context: Definer, id: UUID) -> None:
    """Remove a campaign; its runs go on and stay."""
    await context.engine.campaigns.delete(context.caller, id)


@router.get("/v1/campaigns/{id:uuid}/audience")
async def count_campaign_audience(context: ContactKeeper, id: UUID) -> AudienceCount:
    """How many a deploy would reach at this moment, and how many not."""
    return await context.engine.campaigns.count(context.workspace, id)


@router.post("/v1/campaigns/{id:uuid}/preview", openapi_extra=takes(GivenPreview))
async def preview_campaign(
    context: ContactKeeper, id: UUID, body: Annotated[GivenPreview, Depends(body_of(GivenPreview, required=False))]
) -> Everything[Preview]:
    """What a contact would get; of a social campaign, every post."""
    found = await context.engine.campaigns.preview(context.workspace, id, body.contact_id)
    return Everything(data=[Preview.model_validate(one) for one in found])


@router.post("/v1/campaigns/{id:uuid}/test", status_code=201, openapi_extra=takes(GivenTest))
async def test_campaign(
    context: Operator, id: UUID, body: Annotated[GivenTest, Depends(body_of(GivenTest))], response: Response
) -> StartedRun:
    """Send it to an address of your own: a run of one, marked as a test."""
    return await _started(
        context, await context.engine.campaigns.test(context.caller, id, body.to, body.contact_id), response
    )


@router.post(
    "/v1/campaigns/{id:uuid}/deploy", status_code=201, responses=DEPLOYED_BEFORE, openapi_extra=takes(GivenDeploy)
)
async def deploy_campaign(
    context: Operator,
    id: UUID,
    body: Annotated[GivenDeploy, Depends(body_of(GivenDeploy, required=False))],
    response: Response,
) -> StartedRun:
    """Start a run and return at once; the run itself writes its jobs and items. Safe to repeat."""
    started = await context.engine.campaigns.deploy(
        context.caller, id, scheduled_for=body.scheduled_for, idempotency_key=body.idempotency_key
    )
    return await _started(context, started, response)


@router.post("/v1/segments", status_code=201, openapi_extra=takes(GivenSegment))
async def create_segment(context: Definer, body: Body) -> Segment | Response:
    """Keep an audience under a name."""
    made = await context.engine.segments.create(context.caller, body)
    return answer(made, 201, {"Location": f"/v1/segments/{made.id}"})


@router.get("/v1/segments")
async def list_segments(
    context: DefinitionReader, created: CreatedIn, limit: Limit = 50, cursor: Cursor = None
) -> Page[Segment]:
    """The segments of the workspace, newest first."""
    return await context.engine.segments.list(context.workspace, limit=limit, created=created, cursor=cursor)


@router.get("/v1/segments/{id:uuid}")
async def get_segment(context: DefinitionReader, id: UUID) -> Segment:
    """One segment."""
    return await context.engine.segments.get(context.workspace, id)


@router.get("/v1/segments/{id:uuid}/audience")
async def count_segment_audience(context: ContactKeeper, id: UUID) -> AudienceCount:
    """How many are in a segment at this moment."""
    return await context.engine.segments.count(context.workspace, id)


@router.patch("/v1/segments/{id:uuid}", openapi_extra=takes(ChangedSegment))
async def update_segment(context: Definer, id: UUID, body: Body) -> Segment:
    """Change its name or audience."""
    return await context.engine.segments.update(context.caller, id, body)


@router.delete("/v1/segments/{id:uuid}", status_code=204)
async def delete_segment(context: Definer, id: UUID) -> None:
    """Remove a segment; one that a campaign names is refused."""
    await context.engine.segments.delete(context.caller, id)


async def _started(context: RequestContext, started: Started, response: Response) -> StartedRun:
    run = await context.engine.runs.get(context.workspace, started.id)
    response.status_code = 200 if started.duplicate else 201
    response.headers["Location"] = f"/v1/runs/{started.id}"
    note = run.repeat_note if started.duplicate else None
    return StartedRun(**Run.model_validate(run).model_dump(), duplicate=started.duplicate, note=note)
