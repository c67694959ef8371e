"""/v1/workflows: define, look up, switch on and off."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query
from msgspec.structs import fields
from starlette.responses import Response

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.workflows.known_names import names_of_workflow
from tidings.http.access import ContactReader, Definer, DefinitionReader
from tidings.http.answers import answer, validated
from tidings.http.bodies import body_of
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.preview_requests import GivenContactPreview
from tidings.http.resource import resource_router
from tidings.http.workflow_requests import ChangedWorkflow, GivenDefinition, GivenWorkflow
from tidings.resources.workflows import Workflows
from tidings.views.pages import Everything, Page
from tidings.views.previews import Preview
from tidings.views.workflows import Validated, Workflow, WorkflowVersion

router = resource_router("Workflows")
READ_ONLY = frozenset(
    name
    for field in fields(Workflow)
    if field.name not in ChangedWorkflow.model_fields
    for name in (field.name, field.encode_name)
)
"""Fields of an answer that a body may repeat, so that a caller can change what it read and send it back."""


def definition_of(body: GivenDefinition) -> dict[str, Any]:
    """Return the definition, wherever it stands; if it is given twice, both must be the same."""
    beside = {name: value for name, value in (body.model_extra or {}).items() if name not in READ_ONLY}
    if body.definition is None:
        return beside
    if beside and beside != body.definition:
        raise FieldsInvalid([Problem("definition", f"differs from {', '.join(beside)} beside it; give it once")])
    return body.definition


def problems_of_definition(raw: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the problems of the definition in a body whose other fields have problems too."""
    about = {"name", "active", "description", "definition", *READ_ONLY}
    definition = raw.get("definition")
    if definition is None:
        definition = {name: value for name, value in raw.items() if name not in about}
    return Workflows.validate(definition) if isinstance(definition, Mapping) else ()


@router.post("/v1/workflows", status_code=201, openapi_extra=takes(GivenWorkflow))
async def create_workflow(
    context: Definer,
    body: Annotated[GivenWorkflow, Depends(body_of(GivenWorkflow, look=problems_of_definition))],
) -> Workflow | Response:
    """Make a workflow; every problem of its definition is reported at once."""
    made = await context.engine.workflows.create(
        context.caller, body.name, definition_of(body), description=body.description, active=body.active
    )
    return answer(made.in_json(), 201, {"Location": f"/v1/workflows/{made.id}"})


@router.get("/v1/workflows")
async def list_workflows(
    context: DefinitionReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    name: Annotated[str | None, Query(max_length=200)] = None,
    active: bool | None = None,
) -> Page[Workflow] | Response:
    """The workflows of the workspace."""
    page = await context.engine.workflows.list(
        context.workspace, name=name, active=active, limit=limit, created=created, cursor=cursor
    )
    return answer(Page([one.in_json() for one in page.items], page.next_cursor))


@router.post("/v1/workflows/validate", openapi_extra=takes(GivenDefinition))
async def validate_workflow(
    context: Definer,
    body: Annotated[GivenDefinition, Depends(body_of(GivenDefinition))],
    node: Annotated[
        str | None, Query(max_length=200, description="Name in `variables` only what is known at this node.")
    ] = None,
) -> Validated:
    """Say everything that is wrong with a definition, each with its place, and the names it may use; stores nothing."""
    definition = definition_of(body)
    if body.definition is None:
        definition = {name: value for name, value in definition.items() if name not in {"name", "active"}}
    problems = await context.engine.workflows.check(context.workspace, definition)
    return validated(problems, names_of_workflow(definition, node))


@router.get("/v1/workflows/{id:uuid}")
async def get_workflow(context: DefinitionReader, id: UUID) -> Workflow | Response:
    """One workflow with the definition of its newest version."""
    return _answer(await context.engine.workflows.get(context.workspace, id))


@router.put("/v1/workflows/{id:uuid}", openapi_extra=takes(ChangedWorkflow))
async def update_workflow(
    context: Definer,
    id: UUID,
    body: Annotated[ChangedWorkflow, Depends(body_of(ChangedWorkflow, look=problems_of_definition))],
) -> Workflow | Response:
    """Change a workflow; another definition is a new version, and what was started goes on with its own."""
    workflows = context.engine.workflows
    changed = await workflows.update(
        context.caller, id, definition_of(body), name=body.name, description=body.description
    )
    if body.active is not None and body.active != changed.active:
        switch = workflows.activate if body.active else workflows.deactivate
        changed = await switch(context.caller, id)
    return _answer(changed)


@router.delete("/v1/workflows/{id:uuid}", status_code=204)
async def delete_workflow(context: Definer, id: UUID) -> None:
    """Delete a workflow; refused while it is active and has executions."""
    await context.engine.workflows.delete(context.caller, id)


@router.post("/v1/workflows/{id:uuid}/activate")
async def activate_workflow(context: Definer, id: UUID) -> Workflow | Response:
    """Let a workflow be triggered."""
    return _answer(await context.engine.workflows.activate(context.caller, id))


@router.post("/v1/workflows/{id:uuid}/deactivate")
async def deactivate_workflow(context: Definer, id: UUID) -> Workflow | Response:
    """Stop a workflow from being triggered; what was started goes on."""
    return _answer(await context.engine.workflows.deactivate(context.caller, id))


@router.post("/v1/workflows/{id:uuid}/preview", openapi_extra=takes(GivenContactPreview, required=False))
async def preview_workflow(
    context: ContactReader,
    id: UUID,
    body: Annotated[GivenContactPreview, Depends(body_of(GivenContactPreview, required=False))],
) -> Everything[Preview]:
    """What the messages of a workflow's newest version would say, rendered with data and for a contact."""
    shown = await context.engine.previews.workflow(
        context.workspace, id, body.data or {}, part=body.part, contact_id=body.contact_id
    )
    return Everything(shown)


@router.get("/v1/workflows/{id:uuid}/versions")
async def list_versions(context: DefinitionReader, id: UUID) -> Everything[WorkflowVersion]:
    """Every version of a workflow."""
    return Everything(await context.engine.workflows.versions(context.workspace, id))


def _answer(workflow: Workflow) -> Response:
    return answer(workflow.in_json())
