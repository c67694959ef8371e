"""`tidings verify`: check the promises on a live database."""

import typer

from tidings.cli.opened import on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir


def verify(database_url: DatabaseUrl = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check the promises 1 to 4 on the live database; names every row that breaks one, and exits 1 if any does."""
    from tidings.cli.output import print_json, print_line, print_table

    checks = on_database(database_url, data_dir, lambda engine: engine.verify())
    offences = sum(len(check.offences) for check in checks)
    if as_json:
        print_json({"holds": offences == 0, "checks": checks})
    else:
        print_table(
            "promises",
            [
                {"check": check.name, "promise": check.promise, "broken by": len(check.offences) or "none"}
                for check in checks
            ],
            empty="",
        )
        for check in checks:
            for offence in check.offences:
                print_line(f"{check.name}: {offence.id} {offence.problem}", style="red")
        if offences:
            print_line(f"{offences} rows break a promise", style="bold red")
        else:
            print_line("every promise holds", style="green")
    raise typer.Exit(1 if offences else 0)
