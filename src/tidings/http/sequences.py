"""/v1/sequences: write a series of messages step by step, publish it, pause it."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Path, Query, Request
from pydantic import AwareDatetime
from starlette.responses import Response

from tidings.domain.errors import Problem
from tidings.domain.workflows.known_names import names_of_sequence
from tidings.http.access import ContactReader, Definer, DefinitionReader
from tidings.http.answers import answer, validated
from tidings.http.bodies import body_of, read_object
from tidings.http.edge import give_time
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.preview_requests import GivenContactPreview
from tidings.http.resource import resource_router
from tidings.http.sequence_requests import (
    ChangedSequence,
    ChangedStep,
    DraftedSequence,
    GivenSequence,
    GivenStep,
    choice_in,
    status_in,
)
from tidings.resources.sequences import Sequences
from tidings.views.pages import Everything, Page
from tidings.views.previews import Preview
from tidings.views.sequences import Funnel, PublishedVersion, Sequence, SequenceStatus, Step
from tidings.views.workflows import Validated

router = resource_router("Sequences")


async def given_step(request: Request) -> dict[str, Any]:
    """Return the body as it is: the domain reads it and reports every problem with its place."""
    return await read_object(request)


Given = Annotated[dict[str, Any], Depends(given_step)]
StepId = Annotated[UUID, Path(alias="stepId")]


def problems_of_draft(raw: Mapping[str, Any]) -> Iterable[Problem]:
    """Return the problems of the steps in a body whose other fields have problems too."""
    steps = raw.get("steps")
    sound = [one for one in steps if isinstance(one, Mapping)] if isinstance(steps, list) else []
    return Sequences.validate({}, sound) if sound == steps else ()


@router.post("/v1/sequences", status_code=201, openapi_extra=takes(GivenSequence))
async def create_sequence(
    context: Definer,
    body: Annotated[GivenSequence, Depends(body_of(GivenSequence, look=problems_of_draft))],
) -> Sequence | Response:
    """Make a sequence: a draft that nobody can be enrolled into until it is published."""
    made = await context.engine.sequences.create(context.caller, body.name, body.settings(), body.steps)
    return answer(made, 201, {"Location": f"/v1/sequences/{made.id}"})


@router.get("/v1/sequences")
async def list_sequences(
    context: DefinitionReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    name: Annotated[str | None, Query(max_length=200)] = None,
    status: SequenceStatus | None = None,
) -> Page[Sequence]:
    """The sequences of the workspace, newest first."""
    return await context.engine.sequences.list(
        context.workspace, name=name, status=status, limit=limit, created=created, cursor=cursor
    )


@router.post("/v1/sequences/validate", openapi_extra=takes(DraftedSequence))
async def validate_sequence(
    context: Definer, body: Annotated[DraftedSequence, Depends(body_of(DraftedSequence))]
) -> Validated:
    """Say everything that publishing these settings and steps would refuse, each with its place; stores nothing."""
    problems = await context.engine.sequences.check(context.workspace, body.settings(), body.steps)
    return validated(problems, names_of_sequence(body.steps))


@router.get("/v1/sequences/{id:uuid}")
async def get_sequence(
    context: DefinitionReader,
    id: UUID,
    in_flight: Annotated[
        bool, Query(alias="inFlight", description="Count who is on the way; without, the answer is faster.")
    ] = True,
) -> Sequence:
    """One sequence: its draft, what is published, and who is on the way to which step."""
    return await context.engine.sequences.get(context.workspace, id, in_flight=in_flight)


@router.patch("/v1/sequences/{id:uuid}", openapi_extra=takes(ChangedSequence))
async def update_sequence(
    context: Definer,
    id: UUID,
    body: Annotated[ChangedSequence, Depends(body_of(ChangedSequence))],
    request: Request,
) -> Sequence:
    """Rename, change the draft's settings, publish (`status: active`), pause, resume; all of it or nothing.

    A changed draft is published over contacts on the way only with `inFlight`: `leave` lets them finish their version,
    `move` takes each to the same step of the new one, its time computed anew. Moving is safe to ask for again.
    """
    return await context.engine.sequences.update(
        context.caller,
        id,
        name=body.name,
        settings=body.settings(),
        status=status_in(body),
        in_flight=choice_in(body),
        on_progress=lambda _: give_time(request.scope),
    )


@router.delete("/v1/sequences/{id:uuid}", status_code=204)
async def delete_sequence(context: Definer, id: UUID) -> None:
    """Delete a sequence; refused while somebody is on the way through it."""
    await context.engine.sequences.delete(context.caller, id)


@router.post("/v1/sequences/{id:uuid}/preview", openapi_extra=takes(GivenContactPreview, required=False))
async def preview_sequence(
    context: ContactReader,
    id: UUID,
    body: Annotated[GivenContactPreview, Depends(body_of(GivenContactPreview, required=False))],
) -> Everything[Preview]:
    """What the steps of a sequence's draft would say to a contact."""
    shown = await context.engine.previews.sequence(
        context.workspace, id, body.data or {}, part=body.part, contact_id=body.contact_id
    )
    return Everything(shown)


@router.get("/v1/sequences/{id:uuid}/versions")
async def list_sequence_versions(context: DefinitionReader, id: UUID) -> Everything[PublishedVersion]:
    """Everything that was ever published, newest first."""
    return Everything(await context.engine.sequences.versions(context.workspace, id))


@router.get("/v1/sequences/{id:uuid}/funnel")
async def get_funnel(
    context: DefinitionReader,
    id: UUID,
    since: Annotated[AwareDatetime | None, Query(description="Only enrollments made at this time or later.")] = None,
) -> Funnel:
    """How many wait before each step, what became of its messages, and how many enrollments failed there."""
    return await context.engine.enrollments.funnel(context.workspace, id, since=since)


@router.post("/v1/sequences/{id:uuid}/steps", status_code=201, openapi_extra=takes(GivenStep))
async def add_step(context: Definer, id: UUID, given: Given) -> Step:
    """Add a step to the draft; without `stepOrder` it comes last."""
    return await context.engine.sequences.add_step(context.caller, id, given)


@router.patch("/v1/sequences/{id:uuid}/steps/{stepId:uuid}", openapi_extra=takes(ChangedStep))
async def update_step(context: Definer, id: UUID, step_id: StepId, given: Given) -> Step:
    """Change a step in the draft; what is published stays as it is until the draft is published."""
    return await context.engine.sequences.update_step(context.caller, id, step_id, given)


@router.delete("/v1/sequences/{id:uuid}/steps/{stepId:uuid}", status_code=204)
async def delete_step(context: Definer, id: UUID, step_id: StepId) -> None:
    """Remove a step from the draft; published versions keep it."""
    await context.engine.sequences.delete_step(context.caller, id, step_id)
