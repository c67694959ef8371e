"""/v1/rules: what is sent when something happens."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request, Response

from tidings.domain.workflows.known_names import names_of_rule
from tidings.http.access import ContactReader, Definer, DefinitionReader
from tidings.http.answers import answer, validated
from tidings.http.bodies import body_of, read_object
from tidings.http.channel_words import StepChannel
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.preview_requests import GivenMessagePreview
from tidings.http.resource import resource_router
from tidings.http.rule_requests import GivenRule
from tidings.resources.rules import RuleFilter
from tidings.views.pages import Everything, Page
from tidings.views.previews import Preview
from tidings.views.rules import Rule, RuleAudience, RuleMatrix
from tidings.views.workflows import Validated

router = resource_router("Rules")
Word = Annotated[str | None, Query(max_length=100)]


async def given_rule(request: Request) -> dict[str, Any]:
    """Return the body as it is: the domain reads it and reports every problem with its place."""
    return await read_object(request)


@router.post("/v1/rules", status_code=201, openapi_extra=takes(GivenRule))
async def create_rule(context: Definer, given: Annotated[dict[str, Any], Depends(given_rule)]) -> Rule | Response:
    """Make a rule; there is one for each trigger, channel and audience."""
    made = await context.engine.rules.create(context.caller, given)
    return answer(made, 201, {"Location": f"/v1/rules/{made.id}"})


def asked_for(
    trigger: Word = None,
    channel: StepChannel | None = None,
    audience: RuleAudience | None = None,
    enabled: bool | None = None,
) -> RuleFilter:
    """Return the filter of a list."""
    return RuleFilter(trigger, channel, audience, enabled)


@router.get("/v1/rules")
async def list_rules(
    context: DefinitionReader,
    created: CreatedIn,
    where: Annotated[RuleFilter, Depends(asked_for)],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Rule]:
    """The rules of the workspace."""
    return await context.engine.rules.list(context.workspace, where, limit=limit, created=created, cursor=cursor)


@router.get("/v1/rules/matrix")
async def get_rule_matrix(
    context: DefinitionReader, limit: Limit = 50, cursor: Annotated[str | None, Query(max_length=100)] = None
) -> RuleMatrix:
    """What becomes of each trigger over each channel for each audience: its rule, a fallback, or nothing."""
    return await context.engine.rules.matrix(context.workspace, limit=limit, cursor=cursor)


@router.post("/v1/rules/validate", openapi_extra=takes(GivenRule))
async def validate_rule(context: Definer, given: Annotated[dict[str, Any], Depends(given_rule)]) -> Validated:
    """Say everything that is wrong with a rule, each with its place, and the names it may use; stores nothing."""
    return validated(await context.engine.rules.check(context.workspace, given), names_of_rule(given))


@router.get("/v1/rules/{id:uuid}")
async def get_rule(context: DefinitionReader, id: UUID) -> Rule:
    """One rule."""
    return await context.engine.rules.get(context.workspace, id)


@router.put("/v1/rules/{id:uuid}", openapi_extra=takes(GivenRule))
async def update_rule(context: Definer, id: UUID, given: Annotated[dict[str, Any], Depends(given_rule)]) -> Rule:
    """Replace a rule; what it has enqueued already is sent as it was."""
    return await context.engine.rules.update(context.caller, id, given)


@router.delete("/v1/rules/{id:uuid}", status_code=204)
async def delete_rule(context: Definer, id: UUID) -> None:
    """Remove a rule; where a fallback is registered, that is called from now on."""
    await context.engine.rules.delete(context.caller, id)


@router.post("/v1/rules/{id:uuid}/preview", openapi_extra=takes(GivenMessagePreview, required=False))
async def preview_rule(
    context: ContactReader,
    id: UUID,
    body: Annotated[GivenMessagePreview, Depends(body_of(GivenMessagePreview, required=False))],
) -> Everything[Preview]:
    """What the steps of a rule would say about an event with this data."""
    shown = await context.engine.previews.rule(context.workspace, id, body.data or {}, part=body.part)
    return Everything(shown)


@router.post("/v1/rules/{id:uuid}/enable")
async def enable_rule(context: Definer, id: UUID) -> Rule:
    """Let a rule send."""
    return await context.engine.rules.enable(context.caller, id)


@router.post("/v1/rules/{id:uuid}/disable")
async def disable_rule(context: Definer, id: UUID) -> Rule:
    """Suppress a rule's channel for its audience."""
    return await context.engine.rules.disable(context.caller, id)
