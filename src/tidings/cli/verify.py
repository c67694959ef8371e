"""`tidings verify`: check the promises on a live database."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from tidings.cli.command import command
from tidings.cli.opened import Opened
from tidings.cli.output import print_line, print_table

if TYPE_CHECKING:
    from tidings.engine import Check

app = typer.Typer()


def _offences(checks: "Sequence[Check]") -> int:
    return sum(len(check.offences) for check in checks)


def _print(checks: "Sequence[Check]") -> None:
    rows = [
        {"check": check.name, "promise": check.promise, "broken by": len(check.offences) or "none"} for check in checks
    ]
    print_table("promises", rows, empty="")
    for check in checks:
        for offence in check.offences:
            print_line(f"{check.name}: {offence.id} {offence.problem}", style="red")
    if offences := _offences(checks):
        print_line(f"{offences} rows break a promise", style="bold red")
    else:
        print_line("every promise holds", style="green")


def _answer(checks: "Sequence[Check]") -> dict[str, object]:
    return {"holds": _offences(checks) == 0, "checks": checks}


@command(app, shows=_print, answers=_answer, fails=lambda checks: _offences(checks) > 0)
async def verify(at: Opened) -> "Sequence[Check]":
    """Check the promises 1 to 4 on the live database; names every row that breaks one, and exits 1 if any does."""
    return await at.engine.verify()
