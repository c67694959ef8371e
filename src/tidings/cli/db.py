"""`tidings db`: the tables and where they are."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.command import command
from tidings.cli.opened import Called, Configured, Operating
from tidings.cli.options import DatabaseUrl, DataDir, Yes
from tidings.cli.output import print_aside, print_line
from tidings.cli.running import config_from
from tidings.config import RowSecurity

if TYPE_CHECKING:
    from tidings.administration import DatabaseStatus, Rights
    from tidings.resources.functions import SealedSecret

app = typer.Typer()


def _print_applied(applied: Sequence[str]) -> None:
    print_line(f"applied {', '.join(applied)}" if applied else "the tables are up to date")


@command(app, shows=_print_applied, answers=lambda applied: {"applied": applied})
async def migrate(
    _: Called,
    shards: Annotated[
        int | None, typer.Option(help="Shards of a new database; a power of two.  [default: 4]", show_default=False)
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> Sequence[str]:
    """Bring the tables up to date; safe when several processes do it at once.

    Starts the embedded server if it does not run, and leaves it running: `tidings db stop` ends it.
    """
    from tidings.administration import migrate_database

    return await migrate_database(config_from(shards=shards, database_url=database_url, data_dir=data_dir))


def _print_status(found: "DatabaseStatus") -> None:
    print_line(f"url      {found.url}")
    print_line(f"applied  {', '.join(found.applied) or '–'}")
    print_line(f"pending  {', '.join(found.pending) or '–'}")
    if found.rights:
        print_line(f"role     {found.rights.role}: {_said_of_role(found.rights)}")
        print_line(f"roles    {_said_of_others(found.rights)}")
        print_line(f"rows     row security is {'forced' if found.rights.is_forced else 'off'}")


def _said_of_role(rights: "Rights") -> str:
    own = "owns the tables" if rights.is_owner else f"works with rows, and changes no table of {rights.owner}'s"
    more = {
        "a superuser, whom nothing holds": rights.is_superuser,
        "with BYPASSRLS, whom no policy holds": rights.bypasses_row_security and not rights.is_superuser,
        "may make roles": rights.makes_roles and not rights.is_superuser,
    }
    return ", ".join([own, *(said for said, holds in more.items() if holds)])


def _said_of_others(rights: "Rights") -> str:
    """Say which of the roles there are, and what is missing that the next 'tidings db migrate' would mend."""
    missing = "no, one role does everything"
    logs_in = "" if rights.app_may_log_in else " (nobody logs in as it)"
    app = (logs_in if rights.app_has_rights else " without rights: migrate") if rights.has_app else missing
    reader = ("" if rights.reader_has_rights else " without rights: migrate") if rights.has_reader else "no"
    return f"tidings_app {app.strip() or 'yes'}, tidings_reader {reader.strip() or 'yes'}"


def _answer_status(found: "DatabaseStatus") -> object:
    from tidings.cli.answers import camel

    rights = (
        {camel(name): getattr(found.rights, name) for name in found.rights.__struct_fields__} if found.rights else None
    )
    return {"url": found.url, "applied": found.applied, "pending": found.pending, "rights": rights}


@command(app, shows=_print_status, answers=_answer_status, fails=lambda found: bool(found.pending))
async def status(at: Configured) -> "DatabaseStatus":
    """Show where the database is, its migrations, roles and row security; exits 1 when migrations are missing."""
    from tidings.administration import database_status

    return await database_status(at.config)


def _say_new(_: None) -> None:
    print_line("the tables are new and empty")


@command(app, shows=_say_new, answers=lambda _: {"reset": True})
async def reset(at: Configured, yes: Yes = False) -> None:
    """Remove everything Tidings owns in the database, then make the tables anew. Asks first."""
    from tidings.administration import reset_database, shown_database_url

    if not yes:
        where = await shown_database_url(at.config)
        typer.confirm(f"Remove every workflow, run and message record in {where}?", abort=True, err=True)
    await reset_database(at.config)


def _print_forgotten(gone: "Sequence[SealedSecret]") -> None:
    for one in gone:
        print_line(f"removed the secret of {one}")
    if not gone:
        print_line("every stored secret can be opened; none was removed")


def _answer_forgotten(gone: "Sequence[SealedSecret]") -> object:
    return [{"tenant": one.workspace.tenant, "workspace": one.workspace.name, "function": one.function} for one in gone]


@command(app, "forget-secrets", shows=_print_forgotten, answers=_answer_forgotten)
async def forget_secrets(at: Operating, yes: Yes = False) -> "Sequence[SealedSecret]":
    """Remove the stored secrets that TIDINGS_SECRET_KEY does not open: the key that sealed them is lost. Asks first.

    Their functions stay and are called without a secret until they are given a new one.
    """
    found = [] if yes else await at.engine.functions.unopened()
    for one in found:
        print_aside(str(one))
    if found:
        whose = f"these {len(found)} functions" if len(found) > 1 else "this function"
        typer.confirm(f"Remove the stored secret of {whose}?", abort=True, err=True)
    return await at.engine.functions.forget_unopened(at.by.actor)


class DatabaseRole(StrEnum):
    """Who connects."""

    APP = "app"
    OWNER = "owner"
    SUPERUSER = "superuser"


@command(app, shows=typer.echo, answers=lambda found: {"url": found})
async def url(
    at: Configured,
    role: Annotated[
        DatabaseRole,
        typer.Option(
            help="Who connects: app works with rows, owner changes tables, superuser is the embedded server's."
        ),
    ] = DatabaseRole.APP,
) -> str:
    """Print the database's address, password included, for psql and the like; the embedded server must run."""
    from tidings.administration import url_for_role

    return await url_for_role(at.config, role.value)


@command(app, "row-security", shows=typer.echo, answers=lambda found: {"rowSecurity": found})
async def row_security(
    at: Configured, wanted: Annotated[RowSecurity, typer.Argument(metavar="off|force", show_default=False)]
) -> str:
    """Have the database itself keep each request to the rows of its workspace, or lift that; as the tables' owner.

    Start every process anew afterwards: a connection learns it when it is made.
    """
    from tidings.administration import set_row_security

    await set_row_security(at.config, wanted)
    return wanted


def _say_stopped(stopped: bool) -> None:
    print_line("stopped" if stopped else "it was not running")


@command(app, shows=_say_stopped, answers=lambda stopped: {"stopped": stopped})
async def stop(_: Called, data_dir: DataDir = None) -> bool:
    """Stop the embedded server, unless `tidings up` keeps it running."""
    from tidings.administration import stop_embedded

    return await stop_embedded(config_from(data_dir=data_dir))
