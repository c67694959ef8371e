"""`tidings campaigns`: say what, to whom and when; try it out; deploy it."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.answers import deleted
from tidings.cli.command import command
from tidings.cli.given import Json, read_data, with_audience
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, Read, Where, named
from tidings.cli.output import print_content, print_fields, print_line, print_not_ready, table
from tidings.cli.previews import Open, any_failed, open_page, print_previews

if TYPE_CHECKING:
    from tidings.resources.campaigns import Previews
    from tidings.views.campaigns import AudienceCount
    from tidings.views.campaigns import Campaign as ShownCampaign
    from tidings.views.runs import StartedRun

app = typer.Typer()

Campaign = Annotated[
    UUID | str,
    typer.Argument(metavar="CAMPAIGN", help="The campaign's id, or its name if no other has it."),
    Read(named),
]
Given = Annotated[
    Json,
    typer.Option("--data", metavar="JSON", help="The fields as a JSON object, @file.json, or @- for standard input."),
    Read(read_data),
]
ForContact = Annotated[
    str | None,
    typer.Option(
        "--contact",
        help="The contact: its id or external id; without one, the first of the audience.",
        show_default=False,
    ),
]


def _row(campaign: "ShownCampaign") -> dict[str, object]:
    return {
        "id": campaign.id,
        "name": campaign.name,
        "channel": campaign.channel,
        "audience": campaign.in_words,
        "rate": campaign.rate,
        "not ready": ", ".join(campaign.not_ready),
        "version": campaign.version,
        "updated": campaign.updated_at,
    }


def _print(campaign: "ShownCampaign") -> None:
    print_line(f"{campaign.name}  {campaign.channel} · version {campaign.version} · {campaign.id}", style="bold")
    _print_content(campaign.content)
    hour = None if campaign.send_hour is None else f"{campaign.send_hour}:00"
    shown = {
        "audience": campaign.in_words,
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
    """Print its content: the parts of a message, or one post after the other."""
    posts = content.get("posts")
    for one in posts if isinstance(posts, list) else [content]:
        print_content(one, indent=2)


@command(app, "list", shows=table("campaigns", _row, empty="there is no campaign"))
async def list_campaigns(at: InWorkspace, listed: Listed) -> "list[ShownCampaign]":
    """List campaigns, newest first."""
    return (await at.engine.campaigns.list(at.workspace, limit=listed.limit, created=listed.created)).items


@command(app, shows=_print)
async def show(at: InWorkspace, campaign: Campaign) -> "ShownCampaign":
    """Show a campaign."""
    return await at.find(at.engine.campaigns, campaign)


@command(app, shows=_print)
async def create(at: Acting, data: Given, where: Where = None) -> "ShownCampaign":
    """Make a campaign: name, channel, content, audience; nothing is sent before it is deployed."""
    return await at.engine.campaigns.create(at.by, with_audience(data, where))


@command(app, shows=_print)
async def update(at: Acting, campaign: Campaign, data: Given, where: Where = None) -> "ShownCampaign":
    """Change what is given; runs under way keep what they were deployed with."""
    found = await at.find(at.engine.campaigns, campaign)
    return await at.engine.campaigns.update(at.by, found.id, with_audience(data, where))


def _say_deleted(campaign: "ShownCampaign") -> None:
    print_line(f"{campaign.id} is deleted")


@command(app, shows=_say_deleted, answers=deleted, asks=lambda campaign: f"Delete campaign {campaign}?")
async def delete(at: Acting, campaign: Campaign) -> "ShownCampaign":
    """Remove a campaign; its runs go on and stay."""
    found = await at.find(at.engine.campaigns, campaign)
    await at.engine.campaigns.delete(at.by, found.id)
    return found


def _print_count(counted: "AudienceCount") -> None:
    for name in ("matching", "reachable", "without_address", "refused"):
        print_line(f"{name.replace('_', ' '):16}{getattr(counted, name):,}")
    for lack in counted.missing:
        print_line(str(lack), style="yellow")


@command(app, shows=_print_count)
async def count(at: InWorkspace, campaign: Campaign) -> "AudienceCount":
    """Say how many a deploy would reach at this moment, and how many not."""
    return await at.engine.campaigns.count(at.workspace, (await at.find(at.engine.campaigns, campaign)).id)


@command(app, shows=print_previews, fails=any_failed)
async def preview(at: InWorkspace, campaign: Campaign, contact: ForContact = None, open_it: Open = False) -> "Previews":
    """Show what a contact would get; exits 1 if it cannot be rendered for them."""
    found = await at.find(at.engine.campaigns, campaign)
    shown = await at.engine.campaigns.preview(at.workspace, found.id, contact)
    if open_it:
        open_page(shown, found.name)
    return shown


def _say_tested(run: "StartedRun") -> None:
    print_line(f"{run.id}  is the test's run")


@command(app, "test", shows=_say_tested)
async def send_test(
    at: Acting,
    campaign: Campaign,
    to: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where to send it.")],
    contact: ForContact = None,
) -> "StartedRun":
    """Send a campaign to an address of your own, with a contact's data."""
    found = await at.find(at.engine.campaigns, campaign)
    return await at.engine.campaigns.test(at.by, found.id, to, contact)


def _say_deployed(run: "StartedRun") -> None:
    words = f"is deployed; follow it with 'tidings runs watch {run.id}'"
    if run.completed_at:
        words = f"is deployed, {run.status_text}"
    if run.duplicate:
        words = f"had been deployed before{': ' + run.note if run.note else ''}"
    print_line(f"{run.id}  {words}")


@command(app, shows=_say_deployed)
async def deploy(
    at: Acting,
    campaign: Campaign,
    begin: Annotated[
        datetime | None, typer.Option("--at", help="When to begin, in UTC; now unless given.", show_default=False)
    ] = None,
    key: Annotated[str | None, typer.Option(help="The same key again gives the same run.", show_default=False)] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show the run live until it has ended.")] = False,
) -> "StartedRun":
    """Start a run. Without a key, a campaign that has not changed since is deployed once for the same time."""
    from datetime import UTC

    from tidings.cli.run_watch import watch_run
    from tidings.resources.runs import started_run

    scheduled_for = begin if begin is None or begin.tzinfo else begin.replace(tzinfo=UTC)
    found = await at.find(at.engine.campaigns, campaign)
    started = await at.engine.campaigns.deploy(at.by, found.id, scheduled_for=scheduled_for, idempotency_key=key)
    if watch and not at.as_json:
        return started_run(await watch_run(at.engine, at.workspace, started.id), duplicate=started.duplicate)
    return started
