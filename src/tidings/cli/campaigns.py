"""`tidings campaigns`: say what, to whom and when; try it out; deploy it."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, Yes, caller, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.cli.trigger import read_data
from tidings.domain.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.products.campaigns import ShownCampaign
    from tidings.products.runs import ShownRun

app = typer.Typer(help="Campaigns: what is said, to whom, when and how fast.", no_args_is_help=True)

Reference = Annotated[
    str, typer.Argument(metavar="CAMPAIGN", help="The campaign's id, or its name if no other has it.")
]
Given = Annotated[
    str,
    typer.Option("--data", metavar="JSON", help="The fields as a JSON object, @file.json, or @- for standard input."),
]
ForContact = Annotated[
    UUID | None,
    typer.Option("--contact", help="The contact; without one, the first of the audience.", show_default=False),
]


@app.command("list")
def list_campaigns(
    limit: Limit = 50,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List campaigns, newest first."""
    from tidings.cli.output import print_json, print_table

    room = Workspace(tenant, workspace)
    page = on_database(database_url, data_dir, lambda engine: engine.campaigns.list(room, limit=limit))
    if as_json:
        print_json(page.items)
    else:
        print_table("campaigns", [_row(one) for one in page.items], empty="there is no campaign")


@app.command()
def show(
    campaign: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a campaign."""
    room = Workspace(tenant, workspace)
    _print(on_database(database_url, data_dir, lambda engine: _find(engine, room, campaign)), as_json=as_json)


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
    """Make a campaign: name, channel, content, audience; nothing is sent before it is deployed."""
    given, by = read_data(data), caller(tenant, workspace, actor)
    _print(on_database(database_url, data_dir, lambda engine: engine.campaigns.create(by, given)), as_json=as_json)


@app.command()
def update(
    campaign: Reference,
    data: Given,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Change what is given; runs under way keep what they were deployed with."""
    given, by = read_data(data), caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "ShownCampaign":
        found = await _find(engine, by.workspace, campaign)
        return await engine.campaigns.update(by, found.id, given)

    _print(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def delete(
    campaign: Reference,
    yes: Yes = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove a campaign; its runs go on and stay."""
    from tidings.cli.output import print_json, print_line

    if not yes:
        typer.confirm(f"Delete campaign {campaign}?", abort=True)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> UUID:
        found = await _find(engine, by.workspace, campaign)
        await engine.campaigns.delete(by, found.id)
        return found.id

    gone = on_database(database_url, data_dir, work)
    if as_json:
        print_json({"id": gone, "deleted": True})
    else:
        print_line(f"{gone} is deleted")


@app.command()
def count(
    campaign: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Say how many a deploy would reach at this moment, and how many not."""
    from tidings.cli.output import print_json, print_line

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> object:
        return await engine.campaigns.count(room, (await _find(engine, room, campaign)).id)

    counted = on_database(database_url, data_dir, work)
    if as_json:
        print_json(counted)
        return
    for name in ("matching", "reachable", "without_address", "refused"):
        print_line(f"{name.replace('_', ' '):16}{getattr(counted, name):,}")


@app.command()
def preview(
    campaign: Reference,
    contact: ForContact = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what a contact would get; exits 1 if it cannot be rendered for them."""
    from tidings.cli.output import print_json, print_line
    from tidings.products.campaigns import Previews

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> Previews:
        return await engine.campaigns.preview(room, (await _find(engine, room, campaign)).id, contact)

    found = on_database(database_url, data_dir, work)
    if as_json:
        print_json(found)
    for one in () if as_json else found:
        print_line(f"to       {', '.join(one.recipients) or '–'}")
        for name, text in one.content.items():
            print_line(f"{name:9}{text}")
        for name, reason in (("skipped", one.skipped), ("error", one.error)):
            if reason:
                print_line(f"{name:9}{reason}", style="yellow")
    raise typer.Exit(1 if any(one.error for one in found) else 0)


@app.command("test")
def send_test(
    campaign: Reference,
    to: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where to send it.")],
    contact: ForContact = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Send a campaign to an address of your own, with a contact's data."""
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "ShownRun":
        found = await _find(engine, by.workspace, campaign)
        started = await engine.campaigns.test(by, found.id, to, contact)
        return await engine.runs.get(by.workspace, started.id)

    _print_run(on_database(database_url, data_dir, work), "is the test's run", as_json=as_json)


@app.command()
def deploy(
    campaign: Reference,
    at: Annotated[
        datetime | None, typer.Option("--at", help="When to begin, in UTC; now unless given.", show_default=False)
    ] = None,
    key: Annotated[str | None, typer.Option(help="The same key again gives the same run.", show_default=False)] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show the run live until it has ended.")] = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Start a run. Without a key, a campaign that has not changed since is deployed once for the same time."""
    from datetime import UTC

    from tidings.cli.run_watch import watch_run

    by = caller(tenant, workspace, actor)
    scheduled_for = at if at is None or at.tzinfo else at.replace(tzinfo=UTC)

    async def work(engine: "Engine") -> "tuple[ShownRun, bool]":
        found = await _find(engine, by.workspace, campaign)
        started = await engine.campaigns.deploy(by, found.id, scheduled_for=scheduled_for, idempotency_key=key)
        if watch and not as_json:
            await watch_run(engine, by.workspace, started.id)
        return await engine.runs.get(by.workspace, started.id), started.duplicate

    run, duplicate = on_database(database_url, data_dir, work)
    words = "is deployed; follow it with 'tidings runs watch'"
    if duplicate:
        words = f"had been deployed before{': ' + run.repeat_note if run.repeat_note else ''}"
    _print_run(run, words, as_json=as_json, duplicate=duplicate)


async def _find(engine: "Engine", room: Workspace, campaign: str) -> "ShownCampaign":
    named = reference(campaign)
    return await (engine.campaigns.get(room, named) if isinstance(named, UUID) else engine.campaigns.find(room, named))


def _row(campaign: "ShownCampaign") -> dict[str, object]:
    from json import dumps

    return {
        "id": campaign.id,
        "name": campaign.name,
        "channel": campaign.channel,
        "audience": dumps(campaign.audience) if campaign.audience else "",
        "rate": campaign.rate,
        "not ready": ", ".join(campaign.not_ready),
        "version": campaign.version,
        "updated": campaign.updated_at,
    }


def _print(campaign: "ShownCampaign", *, as_json: bool) -> None:
    from dataclasses import asdict

    from tidings.cli.output import print_json, print_line, print_not_ready

    if as_json:
        print_json(campaign)
        return
    print_line(str(campaign.id))
    for name, value in asdict(campaign).items():
        if name not in ("id", "not_ready") and value not in (None, {}, []):
            print_line(f"{name.replace('_', ' '):14}{value}")
    print_not_ready(campaign.not_ready)


def _print_run(run: "ShownRun", words: str, *, as_json: bool, duplicate: bool = False) -> None:
    from dataclasses import asdict

    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json({**asdict(run), "duplicate": duplicate, "note": run.repeat_note if duplicate else None})
    else:
        print_line(f"{run.id}  {words}")
