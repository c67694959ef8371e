"""`tidings contacts`: the people to write to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, Yes, caller, on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.cli.trigger import read_data
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.contacts import Contact, ContactOutcome

app = typer.Typer(help="The people to write to.", no_args_is_help=True)
Reference = Annotated[str, typer.Argument(metavar="CONTACT", help="The contact's id or external id.")]
Given = Annotated[str, typer.Option(help="Its fields: a JSON object, @FILE, or @- for standard input.")]
Only = typer.Option(help="Only those of it.", show_default=False)


@app.command("list")
def list_contacts(
    company: Annotated[str | None, Only] = None,
    tag: Annotated[str | None, Only] = None,
    status: Annotated[str | None, Only] = None,
    text: Annotated[
        str | None, typer.Option(help="A part of the name, an address, the company …", show_default=False)
    ] = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List contacts, newest first."""
    from tidings.cli.output import print_json, print_table
    from tidings.resources.contacts import ContactFilter

    created = created_in(created_after, created_before)
    room = Workspace(tenant, workspace)
    where = ContactFilter(company=company, tag=tag, status=status, text=text)
    page = on_database(
        database_url, data_dir, lambda engine: engine.contacts.list(room, where, limit=limit, created=created)
    )
    if as_json:
        print_json(page.items)
    else:
        print_table("contacts", [_row(one) for one in page.items], empty="there is no such contact")


@app.command()
def show(
    contact: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show everything about a contact."""
    room = Workspace(tenant, workspace)
    _print(on_database(database_url, data_dir, lambda engine: engine.contacts.get(room, contact)), as_json=as_json)


@app.command()
def create(
    data: Given,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a contact, or bring the one with this externalId to what is given."""
    given, by = read_data(data), caller(tenant, workspace, actor)
    made, change = on_database(database_url, data_dir, lambda engine: engine.contacts.create(by, given))
    _print(made, change, as_json=as_json)


@app.command()
def update(
    contact: Reference,
    data: Given,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """ContactOutcome what is given of a contact; null clears a field."""
    given, by = read_data(data), caller(tenant, workspace, actor)
    changed = on_database(database_url, data_dir, lambda engine: engine.contacts.update(by, contact, given))
    _print(changed, as_json=as_json)


@app.command()
def delete(
    contact: Reference,
    yes: Yes = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Erase everything about a person; what was sent to them still counts."""
    from tidings.cli.output import print_json, print_line

    if not yes:
        typer.confirm(f"Erase {contact} for ever?", abort=True)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Contact":
        found = await engine.contacts.get(by.workspace, contact)
        await engine.contacts.delete(by, found.id)
        return found

    erased = on_database(database_url, data_dir, work)
    if as_json:
        print_json({"id": erased.id, "deleted": True})
    else:
        print_line(f"{erased.id} is erased")


@app.command("import")
def import_contacts(
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
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Store a file of contacts, safe to run again. Exits 1 if a line was rejected; the others are stored.

    Columns of a CSV file are known in any spelling (External ID, external_id, externalId); any other becomes an
    attribute in camelCase: Company Size is contact.attributes.companySize. Two that become the same are refused.
    """
    from tidings.cli.contact_import import print_report, run_import

    by = caller(tenant, workspace, actor)
    report, became = on_database(
        database_url, data_dir, lambda engine: run_import(engine, by, file, columns or [], ndjson, rejected)
    )
    print_report(report, became, rejected, as_json=as_json)
    raise typer.Exit(1 if report.rejected else 0)


def _row(contact: "Contact") -> dict[str, object]:
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


def _print(contact: "Contact", change: "ContactOutcome | None" = None, *, as_json: bool) -> None:
    from msgspec.structs import fields

    from tidings.cli.output import print_fields, print_json, print_line

    if as_json:
        print_json(contact, **({"change": change} if change else {}))
        return
    print_line(f"{contact.id}  {change or ''}".rstrip())
    shown = {field.name.replace("_", " "): getattr(contact, field.name) for field in fields(contact)}
    print_fields({name: value for name, value in shown.items() if name != "id"})
