"""/v1/templates: what is written once, and rendered in many messages or wraps them."""

from typing import Annotated, Any

from fastapi import Depends, Query, Request
from starlette.responses import Response

from tidings.http.access import Definer, DefinitionReader
from tidings.http.answers import answer
from tidings.http.bodies import body_of, read_object
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.references import Reference, find_by_reference
from tidings.http.resource import resource_router
from tidings.http.template_requests import ChangedTemplate, GivenTemplatePreview, NewTemplate
from tidings.resources.templates import SAMPLE
from tidings.views.pages import Everything, Page
from tidings.views.templates import NamedTemplate, TemplateKind, TemplatePreview, TemplateVersion

router = resource_router("Templates")


async def given_template(request: Request) -> dict[str, Any]:
    """Return the body as it is: the domain reads it and reports every problem with its place."""
    return await read_object(request)


Body = Annotated[dict[str, Any], Depends(given_template)]


@router.post("/v1/templates", status_code=201, openapi_extra=takes(NewTemplate))
async def create_template(context: Definer, body: Body) -> NamedTemplate | Response:
    """Make a template with its first version."""
    made = await context.engine.templates.create(context.caller, body)
    return answer(made, 201, {"Location": f"/v1/templates/{made.id}"})


@router.get("/v1/templates")
async def list_templates(
    context: DefinitionReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    kind: Annotated[TemplateKind | None, Query(description="Only these.")] = None,
) -> Page[NamedTemplate]:
    """The templates of the workspace, newest first."""
    return await context.engine.templates.list(
        context.workspace, kind=kind, limit=limit, created=created, cursor=cursor
    )


@router.get("/v1/templates/{id}")
async def get_template(context: DefinitionReader, id: Reference) -> NamedTemplate:
    """One template with its newest version, and what uses it."""
    return await find_by_reference(context.engine.templates, context.workspace, id)


@router.put("/v1/templates/{id}", openapi_extra=takes(ChangedTemplate))
async def update_template(context: Definer, id: Reference, body: Body) -> NamedTemplate:
    """Have a template say something else: a new version; what is published keeps the one it has."""
    found = await find_by_reference(context.engine.templates, context.workspace, id)
    return await context.engine.templates.update(context.caller, found.id, body)


@router.delete("/v1/templates/{id}", status_code=204)
async def delete_template(context: Definer, id: Reference) -> None:
    """Remove a template; one that something uses is refused."""
    found = await find_by_reference(context.engine.templates, context.workspace, id)
    await context.engine.templates.delete(context.caller, found.id)


@router.get("/v1/templates/{id}/versions")
async def list_template_versions(context: DefinitionReader, id: Reference) -> Everything[TemplateVersion]:
    """Every version of a template, newest first."""
    found = await find_by_reference(context.engine.templates, context.workspace, id)
    return Everything(await context.engine.templates.versions(context.workspace, found.id))


@router.post("/v1/templates/{id}/preview", openapi_extra=takes(GivenTemplatePreview, required=False))
async def preview_template(
    context: DefinitionReader,
    id: Reference,
    body: Annotated[GivenTemplatePreview, Depends(body_of(GivenTemplatePreview, required=False))],
) -> TemplatePreview:
    """What a template prints with some data; stores nothing."""
    found = await find_by_reference(context.engine.templates, context.workspace, id)
    content = SAMPLE if body.content is None else body.content
    return await context.engine.templates.preview(
        context.workspace, found.id, body.data, version=body.version, content=content
    )
