"""/v1/rules: what is sent when something happens."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request, Response

from tidings.domain.people.recipients import Audience
from tidings.http.access import Definer, DefinitionReader
from tidings.http.bodies import read_object
from tidings.http.channel_words import ContactChannel
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.rule_shapes import GivenRule, Rule
from tidings.http.shapes import List
from tidings.resources.rules import RuleFilter

router = resource_router("Rules")
Word = Annotated[str | None, Query(max_length=100)]


async def given_rule(request: Request) -> dict[str, Any]:
    """The body as it is: the domain reads it and tells every problem with its place."""
    return await read_object(request)


@router.post("/v1/rules", status_code=201, openapi_extra=takes(GivenRule))
async def create_rule(
    context: Definer, given: Annotated[dict[str, Any], Depends(given_rule)], response: Response
) -> Rule:
    """Make a rule; there is one for each trigger, channel and audience."""
    made = await context.engine.rules.create(context.caller, given)
    response.headers["Location"] = f"/v1/rules/{made.id}"
    return Rule.model_validate(made)


def asked_for(
    trigger: Word = None,
    channel: ContactChannel | None = None,
    audience: Audience | None = None,
    enabled: bool | None = None,
) -> RuleFilter:
    """Which rules to list."""
    return RuleFilter(trigger, channel, audience, enabled)


@router.get("/v1/rules")
async def list_rules(
    context: DefinitionReader,
    created: CreatedIn,
    where: Annotated[RuleFilter, Depends(asked_for)],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> List[Rule]:
    """The rules of the workspace."""
    page = await context.engine.rules.list(context.workspace, where, limit=limit, created=created, cursor=cursor)
    return List(data=[Rule.model_validate(one) for one in page.items], next_cursor=page.next_cursor)


@router.get("/v1/rules/{id:uuid}")
async def get_rule(context: DefinitionReader, id: UUID) -> Rule:
    """One rule."""
    return Rule.model_validate(await context.engine.rules.get(context.workspace, id))


@router.put("/v1/rules/{id:uuid}", openapi_extra=takes(GivenRule))
async def update_rule(context: Definer, id: UUID, given: Annotated[dict[str, Any], Depends(given_rule)]) -> Rule:
    """Make a rule be so; what it has enqueued already is sent as it was."""
    return Rule.model_validate(await context.engine.rules.update(context.caller, id, given))


@router.delete("/v1/rules/{id:uuid}", status_code=204)
async def delete_rule(context: Definer, id: UUID) -> None:
    """Remove a rule; where a fallback is registered, that is called from now on."""
    await context.engine.rules.delete(context.caller, id)


@router.post("/v1/rules/{id:uuid}/enable")
async def enable_rule(context: Definer, id: UUID) -> Rule:
    """Let it send."""
    return Rule.model_validate(await context.engine.rules.enable(context.caller, id))


@router.post("/v1/rules/{id:uuid}/disable")
async def disable_rule(context: Definer, id: UUID) -> Rule:
    """Suppress its channel for its audience."""
    return Rule.model_validate(await context.engine.rules.disable(context.caller, id))
