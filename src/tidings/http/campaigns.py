"""/v1/campaigns and /v1/segments: say what, to whom and when; try it out; deploy it."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request, Response

from tidings.domain.flow.item import Channel
from tidings.domain.workflows.known_names import names_of_campaign
from tidings.http.access import ContactReader, Definer, DefinitionReader, Operator
from tidings.http.answers import JSON, answer, validated
from tidings.http.bodies import body_of, read_object
from tidings.http.campaign_requests import ChangedCampaign, GivenCampaign, GivenDeploy, GivenPreview, GivenTest
from tidings.http.channel_words import MessageChannel
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.segment_requests import ChangedSegment, GivenSegment
from tidings.http.view_schemas import reference
from tidings.views.campaigns import AudienceCount, Campaign
from tidings.views.pages import Everything, Page
from tidings.views.previews import Preview
from tidings.views.runs import StartedRun
from tidings.views.segments import Segment
from tidings.views.workflows import Validated

router = resource_router("Campaigns")
DEPLOYED_BEFORE: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {JSON: {"schema": reference(StartedRun)}},
        "description": "It had been deployed under this key before.",
    }
}


async def given(request: Request) -> dict[str, Any]:
    """Return the body as it is: the domain reads it and reports every problem with its place."""
    return await read_object(request)


Body = Annotated[dict[str, Any], Depends(given)]


@router.post("/v1/campaigns", status_code=201, openapi_extra=takes(GivenCampaign))
async def create_campaign(context: Definer, body: Body) -> Campaign | Response:
    """Make a campaign; nothing is sent before it is deployed."""
    made = await context.engine.campaigns.create(context.caller, body)
    return answer(made, 201, {"Location": f"/v1/campaigns/{made.id}"})


@router.get("/v1/campaigns")
async def list_campaigns(
    context: DefinitionReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    name: Annotated[str | None, Query(max_length=200)] = None,
    channel: MessageChannel | None = None,
) -> Page[Campaign]:
    """The campaigns of the workspace, newest first."""
    return await context.engine.campaigns.list(
        context.workspace,
        name=name,
        channel=Channel(channel) if channel else None,
        limit=limit,
        created=created,
        cursor=cursor,
    )


@router.post("/v1/campaigns/validate", openapi_extra=takes(GivenCampaign))
async def validate_campaign(context: Definer, body: Body) -> Validated:
    """Say everything that is wrong with a campaign, each with its place, and the names it may use; stores nothing."""
    return validated(await context.engine.campaigns.check(context.workspace, body), names_of_campaign(body))


@router.get("/v1/campaigns/{id:uuid}")
async def get_campaign(context: DefinitionReader, id: UUID) -> Campaign:
    """One campaign."""
    return await context.engine.campaigns.get(context.workspace, id)


@router.patch("/v1/campaigns/{id:uuid}", openapi_extra=takes(ChangedCampaign))
async def update_campaign(context: Definer, id: UUID, body: Body) -> Campaign:
    """Change what is given; runs under way keep what they were deployed with."""
    return await context.engine.campaigns.update(context.caller, id, body)


@router.delete("/v1/campaigns/{id:uuid}", status_code=204)
async def delete_campaign(context: Definer, id: UUID) -> None:
    """Remove a campaign; its runs go on and stay."""
    await context.engine.campaigns.delete(context.caller, id)


@router.get("/v1/campaigns/{id:uuid}/audience")
async def count_campaign_audience(context: ContactReader, id: UUID) -> AudienceCount:
    """How many a deploy would reach at this moment, and how many not."""
    return await context.engine.campaigns.count(context.workspace, id)


@router.post("/v1/campaigns/{id:uuid}/preview", openapi_extra=takes(GivenPreview))
async def preview_campaign(
    context: ContactReader, id: UUID, body: Annotated[GivenPreview, Depends(body_of(GivenPreview, required=False))]
) -> Everything[Preview]:
    """What a contact would get; of a social campaign, every post."""
    return Everything(await context.engine.campaigns.preview(context.workspace, id, body.contact_id))


@router.post("/v1/campaigns/{id:uuid}/test", status_code=201, openapi_extra=takes(GivenTest))
async def test_campaign(
    context: Operator, id: UUID, body: Annotated[GivenTest, Depends(body_of(GivenTest))]
) -> StartedRun | Response:
    """Send it to an address of your own: a run of one, marked as a test."""
    return _started(await context.engine.campaigns.test(context.caller, id, body.to, body.contact_id))


@router.post(
    "/v1/campaigns/{id:uuid}/deploy", status_code=201, responses=DEPLOYED_BEFORE, openapi_extra=takes(GivenDeploy)
)
async def deploy_campaign(
    context: Operator, id: UUID, body: Annotated[GivenDeploy, Depends(body_of(GivenDeploy, required=False))]
) -> StartedRun | Response:
    """Start a run and return at once; the run itself writes its jobs and items. Safe to repeat."""
    started = await context.engine.campaigns.deploy(
        context.caller, id, scheduled_for=body.scheduled_for, idempotency_key=body.idempotency_key
    )
    return _started(started)


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
async def count_segment_audience(context: ContactReader, id: UUID) -> AudienceCount:
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


def _started(run: StartedRun) -> Response:
    return answer(run, 200 if run.duplicate else 201, {"Location": f"/v1/runs/{run.id}"})
