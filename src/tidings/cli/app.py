"""The commands, put together."""

from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli import (
    campaigns,
    contacts,
    db,
    dead_letters,
    enrollments,
    events,
    executions,
    functions,
    keys,
    outbox,
    providers,
    rules,
    runs,
    secrets,
    segments,
    sequences,
    serve,
    simulate,
    trigger,
    verify,
    worker,
    workers,
    workflows,
    workspaces,
)
from tidings.cli.options import AsJson
from tidings.cli.running import config_from
from tidings.extras import require_extra
from tidings.version import __version__

if TYPE_CHECKING:
    from tidings.demo.summary import Summary

app = typer.Typer(
    name="tidings",
    help="A durable engine for messages to people: each message once, through every crash, with proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.registered_commands += [*trigger.app.registered_commands, *verify.app.registered_commands]  # of no group
app.add_typer(db.app, name="db")
app.add_typer(workflows.app, name="workflows")
app.add_typer(executions.app, name="executions")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(contacts.app, name="contacts")
app.add_typer(sequences.app, name="sequences")
app.add_typer(rules.app, name="rules")
app.add_typer(events.app, name="events")
app.add_typer(enrollments.app, name="enrollments")
app.add_typer(simulate.app, name="simulate")
app.add_typer(campaigns.app, name="campaigns")
app.add_typer(segments.app, name="segments")
app.add_typer(runs.app, name="runs")
app.add_typer(outbox.app, name="outbox")
app.add_typer(providers.app, name="providers")
app.add_typer(workers.app, name="workers")
app.add_typer(functions.app, name="functions")
app.add_typer(keys.app, name="keys")
app.add_typer(workspaces.app, name="workspaces")
app.add_typer(workspaces.tenants, name="tenants")
app.add_typer(secrets.app, name="secrets")
app.command("worker")(worker.worker)
app.command("serve")(serve.serve)
app.command("up")(serve.up)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of `tidings` itself."""


@app.command()
def demo(
    people: Annotated[int, typer.Option(min=100, max=100_000, help="How many people the campaign writes to.")] = 4_000,
    as_json: AsJson = False,
) -> None:
    """Send to some thousands, kill a worker half-way, and prove that nobody was written to twice or left out."""
    from tidings.demo import run_demo

    require_extra("demo")
    raise typer.Exit(run_demo(people, write=_print_summary if as_json else None, pg_bin=config_from().pg_bin))


def _print_summary(summary: "Summary") -> None:
    from tidings.cli.answers import camel, with_fields
    from tidings.cli.output import print_json

    ledgers: dict[str, object] = {
        name: {"planned": ledger.planned, "parts": {camel(part): count for part, count in ledger.parts.items()}}
        for name, ledger in (("campaign", summary.campaign), ("workflow", summary.workflow))
    }
    print_json(with_fields(summary, agrees=summary.agrees, **ledgers))
