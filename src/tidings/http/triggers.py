"""Start executions. The hot way in: plain handlers, decoded by hand, described for OpenAPI in openapi.py."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.json_text import spelled_twice
from tidings.domain.messages import did_you_mean
from tidings.domain.roles import Permission
from tidings.http.access import RequestContext, let_in
from tidings.http.answers import answer
from tidings.http.bodies import read_listed, read_object
from tidings.http.executions import id_or_name
from tidings.http.publishable import of_starter, start_published
from tidings.kernel.process.breaks import Breaks
from tidings.resources.bulk import BulkTrigger
from tidings.views.pages import Everything

MOST_TRIGGERS = 10_000
MOST_PROBLEMS = 100
LONGEST_TOLD = 100
_SPELLINGS = {
    "workflow": "workflow",
    "idempotencyKey": "key",
    "idempotency_key": "key",
    "data": "data",
    "contactId": "contact",
    "contact_id": "contact",
}


async def trigger_workflow(request: Request) -> Response:
    """POST /v1/workflows/{id}/triggers."""
    context = await let_in(request, Permission.OPERATE)
    workflow: UUID = request.path_params["id"]
    return await _start(context, _one_trigger(await read_object(request), workflow))


async def trigger_named(request: Request) -> Response:
    """POST /v1/triggers."""
    context = await let_in(request, Permission.ENQUEUE)
    return await _start(context, _one_trigger(await read_object(request), None))


async def trigger_bulk(request: Request) -> Response:
    """POST /v1/triggers/bulk."""
    context = await let_in(request, Permission.OPERATE)
    triggers = await _read_triggers(await read_listed(request, "triggers"))
    started = await context.engine.executions.trigger_many(context.caller, triggers)
    return answer(Everything(started))


ROUTES = [
    Route("/v1/workflows/{id:uuid}/triggers", trigger_workflow, methods=["POST"]),
    Route("/v1/triggers", trigger_named, methods=["POST"]),
    Route("/v1/triggers/bulk", trigger_bulk, methods=["POST"]),
]


async def _start(context: RequestContext, trigger: BulkTrigger) -> Response:
    if context.identity.is_publishable:
        if trigger.contact_id is not None:
            raise FieldsInvalid([Problem("contactId", "a publishable key knows no contacts; leave it out")])
        own = await start_published(context, trigger.workflow, trigger.data, trigger.idempotency_key)
        started = of_starter(context.identity, own)
    else:
        started = await context.engine.executions.trigger(
            context.caller, trigger.workflow, trigger.data, trigger.idempotency_key, contact_id=trigger.contact_id
        )
    return answer(started, 200 if started.duplicate else 201, {"Location": f"/v1/executions/{started.id}"})


def _one_trigger(raw: Mapping[str, Any], workflow: UUID | None) -> BulkTrigger:
    problems: list[Problem] = []
    trigger = _read_trigger(raw, "", workflow, problems)
    if problems:
        raise FieldsInvalid(problems)
    return trigger


async def _read_triggers(raw: Mapping[str, Any]) -> list[BulkTrigger]:
    unknown = [Problem(name, "is not a field; there is only triggers") for name in raw if name != "triggers"]
    triggers = raw.get("triggers")
    if not isinstance(triggers, list) or not 1 <= len(triggers) <= MOST_TRIGGERS:
        unknown.append(Problem("triggers", f"must be a list of 1 to {MOST_TRIGGERS:,} triggers"))
    if unknown or not isinstance(triggers, list):
        raise FieldsInvalid(unknown)
    problems: list[Problem] = []
    checked, breaks = [], Breaks()
    for number, one in enumerate(triggers):
        await breaks.take_if_due()
        if isinstance(one, dict):
            checked.append(_read_trigger(one, f"triggers[{number}].", None, problems))
        else:
            problems.append(Problem(f"triggers[{number}]", "must be an object"))
        if len(problems) >= MOST_PROBLEMS:
            break
    if problems:
        raise FieldsInvalid(problems)
    return checked


def _read_trigger(raw: Mapping[str, Any], place: str, workflow: UUID | None, problems: list[Problem]) -> BulkTrigger:
    """Return one trigger; add what is wrong with it to the problems."""
    found: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in _SPELLINGS or (name == "workflow" and workflow):
            # If it were ignored in silence, a misspelt idempotencyKey would send twice.
            known = ("idempotencyKey", "data", "contactId")
            what = f"is not a field of a trigger; use {', '.join(known)}{did_you_mean(name, known)}"
            problems.append(Problem(f"{place}{name[:LONGEST_TOLD]}", what))
        found[_SPELLINGS.get(name, "")] = value
    problems += [Problem(f"{place}{one.place}", one.message) for one in spelled_twice(raw)]
    data, key, named = found.get("data", {}), found.get("key"), found.get("workflow")
    if not isinstance(data, dict):
        problems.append(Problem(f"{place}data", "must be an object"))
    if key is not None and not isinstance(key, str):
        problems.append(Problem(f"{place}idempotencyKey", "must be a string"))
    if workflow is None and (not isinstance(named, str) or not named):
        problems.append(Problem(f"{place}workflow", "must be a workflow's name or id"))
    contact = _read_contact(found.get("contact"), place, problems)
    return BulkTrigger(workflow or id_or_name(named if isinstance(named, str) else "") or "", data, key, contact)


def _read_contact(given: object, place: str, problems: list[Problem]) -> str | None:
    if given is None or (isinstance(given, str) and given):
        return given
    problems.append(Problem(f"{place}contactId", "must be the id or the externalId of a contact, as a string"))
    return None
