"""`tidings db`: the tables and where they are."""

from typing import Annotated

import typer

from tidings.cli.opened import Actor, Yes, with_engine
from tidings.cli.options import AsJson, DatabaseUrl, DataDir, config_from, run

app = typer.Typer(help="The database: its tables and where it is.", no_args_is_help=True)


@app.command()
def migrate(
    shards: Annotated[
        int | None, typer.Option(help="Shards of a new database; a power of two.  [default: 4]", show_default=False)
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Bring the tables up to date; safe when several processes do it at once.

    Starts the embedded server if it does not run, and leaves it running: `tidings db stop` ends it.
    """
    from tidings.cli.output import print_json, print_line
    from tidings.wiring import migrate_database

    config = config_from(shards=shards, database_url=database_url, data_dir=data_dir)
    applied = run(lambda: migrate_database(config))
    if as_json:
        print_json({"applied": applied})
    else:
        print_line(f"applied {', '.join(applied)}" if applied else "the tables are up to date")


@app.command()
def status(database_url: DatabaseUrl = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show where the database is and which migrations it has; exits 1 when some are missing."""
    from tidings.cli.output import print_json, print_line
    from tidings.wiring import database_status

    config = config_from(database_url=database_url, data_dir=data_dir)
    found = run(lambda: database_status(config))
    if as_json:
        print_json(found)
    else:
        print_line(f"url      {found.url}")
        print_line(f"applied  {', '.join(found.applied) or '–'}")
        print_line(f"pending  {', '.join(found.pending) or '–'}")
    raise typer.Exit(1 if found.pending else 0)


@app.command()
def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove everything Tidings owns in the database, then make the tables anew. Asks first."""
    from tidings.cli.output import print_json, print_line
    from tidings.wiring import reset_database, shown_database_url

    config = config_from(database_url=database_url, data_dir=data_dir)
    if not yes:
        where = run(lambda: shown_database_url(config))
        typer.confirm(f"Remove every workflow, run and message record in {where}?", abort=True, err=True)
    run(lambda: reset_database(config))
    if as_json:
        print_json({"reset": True})
    else:
        print_line("the tables are new and empty")


@app.command("forget-secrets")
def forget_secrets(
    yes: Yes = False,
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove the stored secrets that TIDINGS_SECRET_KEY does not open: the key that sealed them is lost. Asks first.

    Their functions stay and are called without a secret until they are given a new one.
    """
    from tidings.cli.output import errors, print_json, print_line, printable

    config = config_from(database_url=database_url, data_dir=data_dir)
    if not yes:
        found = with_engine(config, lambda engine: engine.functions.unopened())
        for one in found:
            errors.print(printable(str(one)), markup=False, highlight=False, soft_wrap=True)
        if found:
            whose = f"these {len(found)} functions" if len(found) > 1 else "this function"
            typer.confirm(f"Remove the stored secret of {whose}?", abort=True, err=True)
    gone = with_engine(config, lambda engine: engine.functions.forget_unopened(actor))
    if as_json:
        print_json(
            [
                {"tenant": one.workspace.tenant, "workspace": one.workspace.name, "function": one.function}
                for one in gone
            ]
        )
        return
    for one in gone:
        print_line(f"removed the secret of {one}")
    if not gone:
        print_line("every stored secret can be opened; none was removed")


@app.command()
def url(database_url: DatabaseUrl = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Print the database's address, password included, for psql and the like; the embedded server must run."""
    from tidings.cli.output import print_json
    from tidings.wiring import running_database_url as find

    config = config_from(database_url=database_url, data_dir=data_dir)
    found = run(lambda: find(config))
    if as_json:
        print_json({"url": found})
    else:
        typer.echo(found)


@app.command()
def stop(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Stop the embedded server, unless `tidings up` keeps it running."""
    from tidings.cli.output import print_json, print_line
    from tidings.wiring import stop_embedded

    config = config_from(data_dir=data_dir)
    stopped = run(lambda: stop_embedded(config))
    if as_json:
        print_json({"stopped": stopped})
    else:
        print_line("stopped" if stopped else "it was not running")
