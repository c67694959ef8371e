"""An opened engine for one command, and on whose behalf the command acts."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from tidings.cli.options import config_from, run
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.names import problem_of_name

if TYPE_CHECKING:
    from tidings.engine import Engine

Result = TypeVar("Result")


def _named(parameter: typer.CallbackParam, given: str) -> str:
    if wrong := problem_of_name(given):
        raise InputInvalid(f"--{parameter.name}: {wrong}")
    return given


Tenant = Annotated[str, typer.Option(help="The tenant.", callback=_named)]
WorkspaceName = Annotated[str, typer.Option("--workspace", help="The tenant's workspace.", callback=_named)]
Actor = Annotated[str, typer.Option(help="Who does it, for the audit log.", envvar="USER")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")]
WorkflowReference = Annotated[str, typer.Argument(metavar="WORKFLOW", help="The workflow's name or id.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def with_engine(config: Config, work: Callable[["Engine"], Awaitable[Result]], app: str | None = None) -> Result:
    """Do something on an engine that is opened for it; the database must run, and its tables be up to date."""

    async def do() -> Result:
        from tidings.wiring import load_app, open_engine, running_database_url

        engine = await open_engine(
            config, load_app(app) if app else None, may_migrate=False, find_url=running_database_url
        )
        try:
            return await work(engine)
        finally:
            await engine.close()

    return run(do)


def on_database(
    database_url: str | None,
    data_dir: Path | None,
    work: Callable[["Engine"], Awaitable[Result]],
    app: str | None = None,
) -> Result:
    """Do something on the engine of the database that the flags, the environment or tidings.toml name."""
    return with_engine(config_from(database_url=database_url, data_dir=data_dir), work, app)


def caller(tenant: str, workspace: str, actor: str) -> Caller:
    """Who acts, and where."""
    return Caller(Workspace(tenant, workspace), actor)


def reference(text: str) -> UUID | str:
    """What was given to name a workflow: its id, or else its name."""
    try:
        return UUID(text)
    except ValueError:
        return text
