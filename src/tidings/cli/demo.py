"""`tidings demo`."""

from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.options import AsJson
from tidings.cli.running import config_from
from tidings.extras import require_extra

if TYPE_CHECKING:
    from tidings.demo.summary import Summary

app = typer.Typer()


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
