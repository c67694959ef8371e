"""/v1/sequences: write a series of messages step by step, publish it, pause it."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Path, Query, Request, Response

from tidings.domain.errors import Problem
from tidings.domain.sequences.form import SequenceStatus, settings_in, steps_in
from tidings.http.access import Definer, DefinitionReader
from tidings.http.bodies import body_of, read_object
from tidings.http.edge import give_time
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.sequence_shapes import (
    ChangedSequence,
    ChangedStep,
    GivenSequence,
    GivenStep,
    PublishedVersion,
    Sequence,
    Step,
    choice_in,
    show,
    show_step,
    show_version,
    status_in,
)
from tidings.http.shapes import Everything, List
from tidings.resources.sequences import Published, Sequences

router = resource_router("Sequences")


async def given_step(request: Request) -> dict[str, Any]:
    """The body as it is: the domain reads it and tells every problem with its place."""
    return await read_object(request)


Given = Annotated[dict[str, Any], Depends(given_step)]
StepId = Annotated[UUID, Path(alias="stepId")]


def problems_of_draft(raw: Mapping[str, Any]) -> Iterable[Problem]:
    """What is wrong with the steps in a body whose other fields are wrong too."""
    steps = raw.get("steps")
    sound = [one for one in steps if isinstance(one, Mapping)] if isinstance(steps, list) else []
    return Sequences.validate({}, sound) if sound == steps else ()


@router.post("/v1/sequences", status_code=201, openapi_extra=takes(GivenSequence))
async def create_sequence(
    context: Definer,
    body: Annotated[GivenSequence, Depends(body_of(GivenSequence, look=problems_of_draft))],
    response: Response,
) -> Sequence:
    """Make a sequence: a draft that nobody can be enrolled into until it is published."""
    made = await context.engine.sequences.create(context.caller, body.name, body.settings(), body.steps)
    response.headers["Location"] = f"/v1/sequences/{made.id}"
    return show(made)


@router.get("/v1/sequences")
async def list_sequences(
    context: DefinitionReader,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    name: Annotated[str | None, Query(max_length=200)] = None,
    status: SequenceStatus | None = None,
) -> List[Sequence]:
    """The sequences of the workspace, newest first."""
    page = await context.engine.sequences.list(
        context.workspace, name=name, status=status, limit=limit, created=created, cursor=cursor
    )
    return List(data=[show(one) for one in page.items], next_cursor=page.next_cursor)


@router.get("/v1/sequences/{id:uuid}")
async def get_sequence(
    context: DefinitionReader,
    id: UUID,
    in_flight: Annotated[
        bool, Query(alias="inFlight", description="Count who is on the way; without, the answer is faster.")
    ] = True,
) -> Sequence:
    """One sequence: its draft, what is published, and who is on the way to which step."""
    return show(await context.engine.sequences.get(context.workspace, id, in_flight=in_flight))


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
    changed = await context.engine.sequences.update(
        context.caller,
        id,
        name=body.name,
        settings=body.settings(),
        status=status_in(body),
        in_flight=choice_in(body),
        on_progress=lambda _: give_time(request.scope),
    )
    return show(changed)


@router.delete("/v1/sequences/{id:uuid}", status_code=204)
async def delete_sequence(context: Definer, id: UUID) -> None:
    """Delete a sequence; refused while somebody is on the way through it."""
    await context.engine.sequences.delete(context.caller, id)


@router.get("/v1/sequences/{id:uuid}/versions")
async def list_sequence_versions(context: DefinitionReader, id: UUID) -> Everything[PublishedVersion]:
    """Everything that was ever published, newest first."""
    found = await context.engine.sequences.versions(context.workspace, id)
    versions = [
        Published(one.number, settings_in(one.definition), steps_in(one.definition), one.created_at) for one in found
    ]
    return Everything(data=[show_version(one, id) for one in versions])


@router.post("/v1/sequences/{id:uuid}/steps", status_code=201, openapi_extra=takes(GivenStep))
async def add_step(context: Definer, id: UUID, given: Given) -> Step:
    """Write a step into the draft; without `stepOrder` it comes last."""
    return show_step(await context.engine.sequences.add_step(context.caller, id, given), id)


@router.patch("/v1/sequences/{id:uuid}/steps/{stepId:uuid}", openapi_extra=takes(ChangedStep))
async def update_step(context: Definer, id: UUID, step_id: StepId, given: Given) -> Step:
    """Change a step in the draft; what is published stays as it is until the draft is published."""
    return show_step(await context.engine.sequences.update_step(context.caller, id, step_id, given), id)


@router.delete("/v1/sequences/{id:uuid}/steps/{stepId:uuid}", status_code=204)
async def delete_step(context: Definer, id: UUID, step_id: StepId) -> None:
    """Take a step out of the draft; versions that were published keep it."""
    await context.engine.sequences.delete_step(context.caller, id, step_id)
