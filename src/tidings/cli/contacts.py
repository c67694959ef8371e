"""`tidings contacts`: the people to write to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.answers import deleted, values_of, with_fields
from tidings.cli.command import already_shown, command
from tidings.cli.given import Json, read_data
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Contact, Listed, Only, Read, Where
from tidings.cli.output import print_fields, print_line, table

if TYPE_CHECKING:
    from tidings.cli.contact_import import ImportedFile
    from tidings.views.contacts import Contact as ShownContact
    from tidings.views.contacts import ContactOutcome, ErasedAddress
    from tidings.views.stories import StoryLine

app = typer.Typer()
Given = Annotated[
    Json,
    typer.Option(help="Its fields: a JSON object, @FILE, or @- for standard input."),
    Read(read_data),
]


def _row(contact: "ShownContact") -> dict[str, object]:
    return {
        "id": contact.id,
        "external id": contact.external_id,
        "name": contact.name,
        "email": contact.email,
        "phone": contact.phone,
        "company": contact.company,
        "status": contact.status,
        "tags": ", ".join(contact.tags),
        "suppressed": ", ".join(contact.suppressions),
    }


def _print(contact: "ShownContact") -> None:
    _print_changed((contact, None))


def _print_changed(done: "tuple[ShownContact, ContactOutcome | None]") -> None:
    contact, change = done
    print_line(f"{contact.id}  {change or ''}".rstrip())
    print_fields({name.replace("_", " "): value for name, value in values_of(contact).items() if name != "id"})


@command(app, "list", shows=table("contacts", _row, empty="there is no such contact"))
async def list_contacts(
    at: InWorkspace,
    *,
    company: Only = None,
    tag: Only = None,
    status: Only = None,
    text: Annotated[
        str | None, typer.Option(help="A part of the name, an address, the company …", show_default=False)
    ] = None,
    where: Where = None,
    listed: Listed,
) -> "list[ShownContact]":
    """List contacts, newest first."""
    from tidings.resources.contacts import ContactFilter

    asked = ContactFilter(company=company, tag=tag, status=status, text=text, where=where)
    return (await at.engine.contacts.list(at.workspace, asked, limit=listed.limit, created=listed.created)).items


@command(app, shows=_print)
async def show(at: InWorkspace, contact: Contact) -> "ShownContact":
    """Show everything about a contact."""
    return await at.engine.contacts.get(at.workspace, contact)


def _story_row(line: "StoryLine") -> dict[str, object]:
    return {
        "at": line.at,
        "what": f"{line.product or ''} {line.kind}".strip(),
        "name": line.name,
        "channel": line.channel,
        "outcome": "in doubt" if line.in_doubt else line.outcome,
        "ended": None if line.ended_at == line.at else line.ended_at,
        "words": line.words or ", ".join(line.fields) or None,
        "why": line.why,
        "by": line.actor,
        "id": line.id,
    }


@command(app, shows=table("story", _story_row, empty="nothing has happened to this contact"))
async def story(at: InWorkspace, contact: Contact, *, listed: Listed) -> "list[StoryLine]":
    """Tell what happened to a contact over all products, newest first; a deleted one is found by its id."""
    page = await at.engine.contacts.story(at.workspace, contact, limit=listed.limit, created=listed.created)
    return page.items


@command(app, shows=_print_changed, answers=lambda done: with_fields(done[0], change=done[1]))
async def create(at: Acting, data: Given) -> "tuple[ShownContact, ContactOutcome]":
    """Make a contact, or bring the one with this externalId to what is given."""
    return await at.engine.contacts.create(at.by, data)


@command(app, shows=_print)
async def update(at: Acting, contact: Contact, data: Given) -> "ShownContact":
    """Change what is given of a contact; null clears a field."""
    return await at.engine.contacts.update(at.by, contact, data)


def _say_erased(contact: "ShownContact") -> None:
    print_line(f"{contact.id} is erased")


@command(app, shows=_say_erased, answers=deleted, asks=lambda contact: f"Erase {contact} for ever?")
async def delete(at: Acting, contact: Contact) -> "ShownContact":
    """Erase everything about a person; what was sent to them still counts."""
    found = await at.engine.contacts.get(at.workspace, contact)
    await at.engine.contacts.delete(at.by, found.id)
    return found


def _say_address_erased(done: "ErasedAddress") -> None:
    print_line("would be erased:" if done.dry_run else "erased:")
    print_fields({name: getattr(done, name) for name in ("executions", "events", "items", "listed")})
    others = "would be replaced" if done.dry_run else "replaced"
    print_line(f"{others} in records about others: {done.mentions}")
    if done.open:
        print_line(f"left, since it is under way: {done.open}; run this again when it has ended", style="yellow")


@command(
    app,
    shows=_say_address_erased,
    asks=lambda address, dry_run: None if dry_run else f"Erase everything about {address} for ever?",
)
async def erase(
    at: Acting,
    address: Annotated[str, typer.Option(help="An e-mail address, a phone number or a push token.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
) -> "ErasedAddress":
    """Erase what is stored about somebody who is no contact, by address; reads the whole workspace once."""
    from tidings.cli.address_erasure import run_erasure

    return await run_erasure(at.engine, at.by, address, dry_run=dry_run)


@command(app, shows=already_shown)
async def export(
    at: Acting,
    contact: Contact,
    to: Annotated[
        Path | None, typer.Option("--to", help="The file to write; standard output unless given.", show_default=False)
    ] = None,
) -> None:
    """Write everything about a person as one JSON document."""
    from tidings.cli.contact_export import run_export

    await run_export(at.engine, at.by, contact, to)


def _print_imported(imported: "ImportedFile") -> None:
    from tidings.cli.contact_import import print_report

    print_report(imported)


@command(
    app,
    "import",
    shows=_print_imported,
    answers=lambda imported: imported.report,
    fails=lambda imported: imported.report.rejected > 0,
)
async def import_contacts(
    at: Acting,
    file: Annotated[Path, typer.Argument(help="A CSV file with a header, or .ndjson or .jsonl; - for standard input.")],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=FIELD",
            help="Which column is which field: 'Mail=email', 'Plan=attributes.plan'; 'Note=' leaves one out.",
            show_default=False,
        ),
    ] = None,
    ndjson: Annotated[
        bool, typer.Option("--ndjson", help="A JSON object on each line, whatever it is called.")
    ] = False,
    rejected: Annotated[
        Path | None,
        typer.Option(help="Write every rejected line's number and reason here, as CSV.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check every line and store nothing.")] = False,
) -> "ImportedFile":
    """Store a file of contacts, safe to run again. Exits 1 if a line was rejected; the others are stored.

    Columns of a CSV file are known in any spelling (External ID, external_id, externalId); any other becomes an
    attribute in camelCase: Company Size is contact.attributes.companySize. Two that become the same are refused.
    """
    from tidings.cli.contact_import import run_import

    return await run_import(at.engine, at.by, file, columns or [], ndjson, rejected, dry_run=dry_run)
