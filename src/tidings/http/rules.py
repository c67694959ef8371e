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
    visit: Definer, given: Annotated[dict[str, Any], Depends(given_rule)], response: Response
) -> Rule:
    """Make a rule; there is one for each trigger, channel and audience."""
    made = await visit.engine.rules.create(visit.caller, given)
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
    visit: DefinitionReader,
    created: CreatedIn,
    where: Annotated[RuleFilter, Depends(asked_for)],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> List[Rule]:
    """The rules of the workspace."""
    page = await visit.engine.rules.list(visit.workspace, where, limit=limit, created=created, cursor=cursor)
    return List(data=[Rule.model_validate(one) for one in page.items], next_cursor=page.next_cursor)


@router.get("/v1/rules/{id:uuid}")
async def get_rule(visit: DefinitionReader, id: UUID) -> Rule:
    """One rule."""
    return Rule.model_validate(await visit.engine.rules.get(visit.workspace, id))


@router.put("/v1/rules/{id:uuid}", openapi_extra=takes(GivenRule))
async def update_rule(visit: Definer, id: UUID, given: Annotated[dict[str, Any], Depends(given_rule)]) -> Rule:
    """Make a rule be so; what it has enqueued already is sent as it was."""
    return Rule.model_validate(await visit.engine.rules.update(visit.caller, id, given))


@router.delete("/v1/rules/{id:uuid}", status_code=204)
async def delete_rule(visit: Definer, id: UUID) -> None:
    """Remove a rule; where a fallback is registered, that is called from now on."""
    await visit.engine.rules.delete(visit.caller, id)


@router.post("/v1/rules/{id:uuid}/enable")
async def enable_rule(visit: Definer, id: UUID) -> Rule:
    """Let it send."""
    return Rule.model_validate(await visit.engine.rules.enable(visit.caller, id))


@router.post("/v1/rules/{id:uuid}/disable")
async def disable_rule(visit: Definer, id: UUID) -> Rule:
    """Suppress its channel for its audience."""
    return Rule.model_validate(await visit.engine.rules.disable(visit.caller, id))
