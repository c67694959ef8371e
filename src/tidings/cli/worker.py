"""`tidings worker`."""

from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.options import AppReference, DatabaseUrl, DataDir
from tidings.cli.running import config_from, run_service
from tidings.config import Config, variable

if TYPE_CHECKING:
    from tidings.worker.processes import Processes

app = typer.Typer()

ProcessCount = Annotated[int | None, typer.Option(help="Worker processes.  [default: 1]", show_default=False)]
Batch = Annotated[int | None, typer.Option(help="Executions claimed at once.  [default: 100]", show_default=False)]
Lanes = Annotated[
    str | None,
    typer.Option(help="Lanes to work on: transactional,sequences,campaigns,runs.  [default: all]", show_default=False),
]
# The reading end of a pipe whose other end the parent process holds.
Lifeline = Annotated[int | None, typer.Option(hidden=True)]

Print = Annotated[
    bool | None,
    typer.Option(
        "--print",
        help="Print messages of channels without a provider instead of sending them.  [env: TIDINGS_PRINT]",
        show_default=False,
    ),
]


@app.command()
def worker(
    processes: ProcessCount = None,
    batch: Batch = None,
    lanes: Lanes = None,
    app: AppReference = None,
    print_: Print = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    lifeline: Lifeline = None,
) -> None:
    """Move what is due until stopped.

    The first SIGTERM or Ctrl-C finishes what is in the air and leaves nothing in doubt; the second leaves at once.
    """
    config = config_from(
        processes=processes, batch=batch, lanes=lanes, print=print_, database_url=database_url, data_dir=data_dir
    )
    raise typer.Exit(run_service(config, lambda: _work(config, app, lifeline)))


async def _work(config: Config, app: str | None, lifeline: int | None) -> int:
    from tidings.wiring import in_foreground, load_app, open_engine
    from tidings.worker.loop import Worker
    from tidings.worker.main import run_processes, run_together

    loaded = load_app(app) if app else None
    async with in_foreground(config) as find_url:
        engine = await open_engine(config, loaded, for_worker=True, is_service=True, find_url=find_url)
        if config.processes > 1:
            await engine.close()  # it has checked the settings and the tables; the children open their own
            return await run_processes(worker_processes(config, app))
        worker = Worker(engine, lanes=config.lanes, batch=config.batch, poll_seconds=config.poll_seconds)
        return await run_together(engine, worker, lifeline=lifeline)


def worker_processes(config: Config, app: str | None) -> "Processes":
    """Return the child processes of one command."""
    from tidings.worker.processes import Processes

    return Processes(_arguments(config, app), _environment(config), config.processes)


def _environment(config: Config) -> dict[str, str]:
    """Return the environment of a child: there, `ps` does not show the password in the database's address."""
    return {variable("database_url"): config.database_url} if config.database_url else {}


def _arguments(config: Config, app: str | None) -> list[str]:
    """Return the arguments of a child; it reads the rest from the environment and tidings.toml, as its parent does."""
    lanes = ",".join(lane.name.lower() for lane in config.lanes)
    arguments = ["--batch", str(config.batch), "--lanes", lanes]
    if config.data_dir:
        arguments += ["--data-dir", str(config.data_dir)]
    arguments += ["--print"] if config.print else []
    return arguments + (["--app", app] if app else [])
