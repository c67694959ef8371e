"""`tidings campaigns`: say what, to whom and when; try it out; deploy it."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, Yes, caller, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.cli.trigger import read_data
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.campaigns import AudienceCount, Campaign
    from tidings.views.runs import StartedRun

app = typer.Typer(help="Campaigns: what is said, to whom, when and how fast.", no_args_is_help=True)

Reference = Annotated[
    str, typer.Argument(metavar="CAMPAIGN", help="The campaign's id, or its name if no other has it.")
]
Given = Annotated[
    str,
    typer.Option("--data", metavar="JSON", help="The fields as a JSON object, @file.json, or @- for standard input."),
]
ForContact = Annotated[
    str | None,
    typer.Option(
        "--contact",
        help="The contact: its id or external id; without one, the first of the audience.",
        show_default=False,
    ),
]


@app.command("list")
def list_campaigns(
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List campaigns, newest first."""
    from tidings.cli.output import print_json, print_table

    created = created_in(created_after, created_before)
    room = Workspace(tenant, workspace)
    page = on_database(database_url, data_dir, lambda engine: engine.campaigns.list(room, limit=limit, created=created))
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

    async def work(engine: "Engine") -> "Campaign":
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

    async def work(engine: "Engine") -> "AudienceCount":
        return await engine.campaigns.count(room, (await _find(engine, room, campaign)).id)

    counted = on_database(database_url, data_dir, work)
    if as_json:
        print_json(counted)
        return
    for name in ("matching", "reachable", "without_address", "refused"):
        print_line(f"{name.replace('_', ' '):16}{getattr(counted, name):,}")
    for lack in counted.missing:
        print_line(str(lack), style="yellow")


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
    from tidings.cli.output import print_content, print_json, print_line
    from tidings.resources.campaigns import Previews

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> Previews:
        return await engine.campaigns.preview(room, (await _find(engine, room, campaign)).id, contact)

    found = on_database(database_url, data_dir, work)
    if as_json:
        print_json(found)
    for one in () if as_json else found:
        print_line(f"to: {', '.join(one.recipients) or '–'}")
        print_content(one.content)
        for name, reason in (("skipped", one.skipped), ("error", one.error)):
            if reason:
                print_line(f"{name}: {reason}", style="yellow")
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

    async def work(engine: "Engine") -> "StartedRun":
        found = await _find(engine, by.workspace, campaign)
        return await engine.campaigns.test(by, found.id, to, contact)

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

    async def work(engine: "Engine") -> "StartedRun":
        found = await _find(engine, by.workspace, campaign)
        started = await engine.campaigns.deploy(by, found.id, scheduled_for=scheduled_for, idempotency_key=key)
        if watch and not as_json:
            await watch_run(engine, by.workspace, started.id)
        return started

    run = on_database(database_url, data_dir, work)
    words = "is deployed; follow it with 'tidings runs watch'"
    if run.duplicate:
        words = f"had been deployed before{': ' + run.note if run.note else ''}"
    _print_run(run, words, as_json=as_json)


async def find_campaign(engine: "Engine", room: Workspace, campaign: str) -> UUID:
    """The id of a campaign that is named by its name or id; the runs of one that was deleted are found by its id."""
    named = reference(campaign)
    return named if isinstance(named, UUID) else (await engine.campaigns.find(room, named)).id


async def _find(engine: "Engine", room: Workspace, campaign: str) -> "Campaign":
    named = reference(campaign)
    return await (engine.campaigns.get(room, named) if isinstance(named, UUID) else engine.campaigns.find(room, named))


def _row(campaign: "Campaign") -> dict[str, object]:
    from tidings.cli.output import in_words

    return {
        "id": campaign.id,
        "name": campaign.name,
        "channel": campaign.channel,
        "audience": in_words(campaign.audience or ""),
        "segment": campaign.segment_name,
        "rate": campaign.rate,
        "not ready": ", ".join(campaign.not_ready),
        "version": campaign.version,
        "updated": campaign.updated_at,
    }


def _print(campaign: "Campaign", *, as_json: bool) -> None:
    from tidings.cli.output import print_fields, print_json, print_line, print_not_ready

    if as_json:
        print_json(campaign)
        return
    print_line(f"{campaign.name}  {campaign.channel} · version {campaign.version} · {campaign.id}", style="bold")
    _print_content(campaign.content)
    hour = None if campaign.send_hour is None else f"{campaign.send_hour}:00"
    shown = {
        "audience": campaign.audience,
        "data": campaign.data,
        "send hour": hour,
        "time zone": campaign.time_zone,
        "rate": f"{campaign.rate:,} a minute" if campaign.rate else None,
        "may be late": campaign.max_lateness,
        "created": campaign.created_at,
        "updated": campaign.updated_at,
    }
    print_fields(shown)
    print_not_ready(campaign.not_ready)


def _print_content(content: Mapping[str, object]) -> None:
    """What it says: the parts of a message, or one post after the other."""
    from tidings.cli.output import print_content

    posts = content.get("posts")
    for one in posts if isinstance(posts, list) else [content]:
        print_content(one, indent=2)


def _print_run(run: "StartedRun", words: str, *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json(run)
    else:
        print_line(f"{run.id}  {words}")
