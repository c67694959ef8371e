"""/v1/previews and /v1/audiences/count: look at what is being written, before it is stored."""

from typing import Annotated

from fastapi import Depends

from tidings.domain.channels import Channel
from tidings.domain.errors import FieldsInvalid, Problem
from tidings.http.access import ContactReader, RequestContext
from tidings.http.bodies import body_of
from tidings.http.openapi import takes
from tidings.http.preview_requests import GivenCount, GivenUnsavedPreview
from tidings.http.resource import resource_router
from tidings.resources.audiences import AudienceQuestion
from tidings.views.campaigns import CountedAudience
from tidings.views.pages import Everything
from tidings.views.previews import Preview

router = resource_router("Editors")


@router.post("/v1/previews", openapi_extra=takes(GivenUnsavedPreview))
async def preview_unsaved(
    context: ContactReader, body: Annotated[GivenUnsavedPreview, Depends(body_of(GivenUnsavedPreview))]
) -> Everything[Preview]:
    """What content over any channel, or the nodes of a definition, would say; nothing is stored.

    With a contact, or with data of your own: the data may hold a `contact`.
    """
    if (body.definition is None) == (body.channel is None):
        raise FieldsInvalid([Problem("channel", "give either channel with content, or definition")])
    if body.definition is not None:
        shown = await context.engine.previews.definition(
            context.workspace, body.definition, body.data or {}, part=body.part, contact_id=body.contact_id
        )
        return Everything(shown)
    return Everything(await _content(context, body))


async def _content(context: RequestContext, body: GivenUnsavedPreview) -> list[Preview]:
    to = [body.to] if isinstance(body.to, str) else body.to or []
    return await context.engine.previews.content(
        context.workspace,
        Channel(str(body.channel)),
        body.content or {},
        body.data or {},
        to=to,
        contact_id=body.contact_id,
    )


@router.post("/v1/audiences/count", openapi_extra=takes(GivenCount))
async def count_audience(
    context: ContactReader, body: Annotated[GivenCount, Depends(body_of(GivenCount))]
) -> CountedAudience:
    """How many contacts an audience has at this moment, how many can be reached, some of them, and it in words."""
    asked = AudienceQuestion(Channel(body.channel) if body.channel else None, body.content or {}, body.sample)
    return await context.engine.audiences.count(context.workspace, body.audience, asked)
