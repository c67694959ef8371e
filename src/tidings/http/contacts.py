"""/v1/contacts: the people to write to, one by one, by the thousand, and by the file."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.people.contact_file import ContactFile, FileFormat, read_columns
from tidings.domain.people.filter_expression import LONGEST, read_where
from tidings.http.access import ContactKeeper, ContactReader, RequestContext, WorkReader, api_of
from tidings.http.answers import JSON, answer
from tidings.http.bodies import body_of, read_listed, read_object
from tidings.http.contact_requests import GivenContact, GivenContacts, GivenErasure
from tidings.http.edge import give_time
from tidings.http.errors import BodyMalformed
from tidings.http.openapi import ContactPath, CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.view_schemas import reference
from tidings.resources.contact_import import BATCH_BYTES
from tidings.resources.contacts import MOST_CONTACTS, ContactFilter, Import
from tidings.views.contacts import Contact, ContactOutcome, ErasedAddress, Imported, UpsertedContact
from tidings.views.exports import ContactExport
from tidings.views.pages import Everything, Page
from tidings.views.stories import StoryLine

router = resource_router("Contacts")
THE_CONTACT = {JSON: {"schema": reference(Contact)}}
Word = Annotated[str | None, Query(max_length=500)]
IMPORT_BYTES = 2 * BATCH_BYTES
NDJSON = ("ndjson", "jsonl", "json-lines", "jsonlines")
_CSV_EXAMPLE = "externalId,email,name,tags,Plan\ncrm-1815,ada@example.com,Ada Lovelace,vip,pro\n"
_NDJSON_EXAMPLE = '{"externalId": "crm-1815", "email": "ada@example.com", "attributes": {"plan": "pro"}}\n'
IMPORT_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {"schema": {"type": "string", "examples": [_CSV_EXAMPLE]}},
            "application/x-ndjson": {"schema": {"type": "string", "examples": [_NDJSON_EXAMPLE]}},
        },
    }
}


async def given_contact(request: Request) -> dict[str, Any]:
    """Return the body as it is: the domain reads it and reports every problem with its place."""
    return await read_object(request)


async def given_contacts(request: Request) -> list[Any]:
    """Return the list in the body."""
    body = await read_listed(request, "contacts")
    problems = [Problem(name, "is not a field here; use contacts") for name in body if name != "contacts"]
    found = body.get("contacts")
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_CONTACTS:
        problems.append(Problem("contacts", f"must be a list of 1 to {MOST_CONTACTS:,} contacts"))
    if problems or not isinstance(found, list):
        raise FieldsInvalid(problems)
    return found


@router.post(
    "/v1/contacts",
    status_code=201,
    responses={200: {"description": "There was one with this external id.", "content": THE_CONTACT}},
    openapi_extra=takes(GivenContact),
)
async def create_contact(
    context: ContactKeeper, given: Annotated[dict[str, Any], Depends(given_contact)]
) -> Contact | Response:
    """Make a contact, or bring the one with this `externalId` to what is given: then the answer is 200."""
    made, change = await context.engine.contacts.create(context.caller, given)
    status = 201 if change is ContactOutcome.CREATED else 200
    return answer(made, status, {"Location": f"/v1/contacts/{made.id}"})


def asked_for(
    company: Word = None,
    tag: Word = None,
    status: Word = None,
    text: Annotated[str | None, Query(max_length=500, description="A part of what they are known by.")] = None,
    external_id: Annotated[str | None, Query(max_length=500, alias="externalId")] = None,
    where: Annotated[
        str | None,
        Query(max_length=LONGEST, description="A filter as in an audience: JSON, or `plan = pro and has email`."),
    ] = None,
) -> ContactFilter:
    """Return the filter of a list."""
    asked = None if where is None else read_where(where, "where")
    return ContactFilter(company=company, tag=tag, status=status, text=text, external_id=external_id, where=asked)


@router.get("/v1/contacts")
async def list_contacts(
    context: ContactReader,
    created: CreatedIn,
    where: Annotated[ContactFilter, Depends(asked_for)],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Contact]:
    """The contacts of the workspace, newest first; whatever is asked for must hold."""
    return await context.engine.contacts.list(context.workspace, where, limit=limit, created=created, cursor=cursor)


@router.post("/v1/contacts/bulk", openapi_extra=takes(GivenContacts))
async def upsert_contacts(
    context: ContactKeeper, given: Annotated[list[Any], Depends(given_contacts)]
) -> Everything[UpsertedContact]:
    """Bring up to 10,000 contacts to what is given, by `externalId`; nothing is stored if one is wrong."""
    return Everything(await context.engine.contacts.upsert_many(context.caller, given))


@router.post("/v1/contacts/import", openapi_extra=IMPORT_BODY)
async def import_contacts(
    context: ContactKeeper,
    request: Request,
    columns: Annotated[
        list[str] | None,
        Query(
            alias="map", max_length=500, description="`column=field`, as in `Plan=attributes.plan`; may be repeated."
        ),
    ] = None,
    dry_run: Annotated[bool, Query(alias="dryRun", description="Only say what would be stored.")] = False,
) -> Imported:
    """Store a file of any size: CSV with a header, or a JSON object on each line.

    Every line that is right is stored, and every other is counted and told with its reason. The same file again makes
    nobody twice: a line is known by its `externalId`, or else by its e-mail address or phone number. A dry run checks
    every line, stores nothing, and answers the same.
    """
    file = ContactFile(_format(request), read_columns(columns or []))
    api_of(request).bodies.hold(request.scope, IMPORT_BYTES)
    return await context.engine.contacts.import_file(context.caller, file, _pieces(request), Import(dry_run=dry_run))


@router.post("/v1/contacts/erase", openapi_extra=takes(GivenErasure))
async def erase_address(
    context: ContactKeeper, body: Annotated[GivenErasure, Depends(body_of(GivenErasure))]
) -> ErasedAddress:
    """Erase what is stored about an address that is no contact's; ask again with `nextCursor` until it is null.

    No index finds an address inside data, so a call looks through a part of the workspace; `progress` says how far it
    is. An address that is a contact's is refused (409): delete the contact first.
    """
    return await context.engine.contacts.erase_address(
        context.caller, body.address, dry_run=body.dry_run, cursor=body.cursor
    )


@router.get("/v1/contacts/{id:path}/export")
async def export_contact(request: Request, context: ContactKeeper, id: ContactPath) -> ContactExport | Response:
    """Everything about one person as one document, however much it is."""
    pieces = await context.engine.contacts.export(context.caller, id)
    headers = {
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
        "Content-Disposition": 'attachment; filename="contact.json"',
    }
    return StreamingResponse(_timed(request, context, pieces), media_type=JSON, headers=headers)


async def _timed(request: Request, context: RequestContext, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield pieces; each restarts the deadline, and a key that is revoked meanwhile reads no further."""
    async for piece in pieces:
        if await context.is_over():
            raise ConnectionAbortedError("the key was revoked while it read")
        give_time(request.scope)
        yield piece


@router.get("/v1/contacts/{id:path}/story")
async def tell_story(
    context: WorkReader, created: CreatedIn, id: ContactPath, limit: Limit = 50, cursor: Cursor = None
) -> Page[StoryLine]:
    """What happened to a contact over all products, newest first, with why or why not.

    Messages, enrollments, executions, and changes of the contact: consent, suppressions, its erasure. Each stands at
    the time when it began, with its outcome and when it ended. A deleted contact is found by its id.
    """
    return await context.engine.contacts.story(context.workspace, id, limit=limit, created=created, cursor=cursor)


@router.get("/v1/contacts/{id:path}")
async def get_contact(context: ContactReader, id: ContactPath) -> Contact:
    """One contact."""
    return await context.engine.contacts.get(context.workspace, id)


@router.patch("/v1/contacts/{id:path}", openapi_extra=takes(GivenContact))
async def update_contact(
    context: ContactKeeper, id: ContactPath, given: Annotated[dict[str, Any], Depends(given_contact)]
) -> Contact:
    """Change what is given; `externalId` never changes."""
    return await context.engine.contacts.update(context.caller, id, given)


@router.delete("/v1/contacts/{id:path}", status_code=204)
async def delete_contact(context: ContactKeeper, id: ContactPath) -> None:
    """Erase everything about a person; what was sent to them still counts."""
    await context.engine.contacts.delete(context.caller, id)


def _format(request: Request) -> FileFormat:
    kind = request.headers.get("content-type", "text/csv").partition(";")[0].strip().lower()
    if any(one in kind for one in NDJSON):
        return FileFormat.NDJSON
    if kind == "application/json":
        raise FieldsInvalid([Problem("Content-Type", "is application/json; use text/csv or application/x-ndjson")])
    return FileFormat.CSV


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """Yield the body as it arrives; each piece restarts the deadline."""
    try:
        async for piece in request.stream():
            give_time(request.scope)
            yield piece
    except ClientDisconnect as error:
        raise BodyMalformed("the connection ended before the file did; send it again, nobody is made twice") from error
