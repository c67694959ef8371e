"""`tidings worker` and `tidings up`."""

from typing import Annotated

import typer

from tidings.cli.options import DatabaseUrl, DataDir, config_from, run
from tidings.config import Config, variable

Processes = Annotated[int | None, typer.Option(help="Worker processes.  [default: 1]", show_default=False)]
Batch = Annotated[int | None, typer.Option(help="Executions claimed at once.  [default: 100]", show_default=False)]
Lanes = Annotated[
    str | None,
    typer.Option(help="Lanes to work on: transactional,sequences,campaigns,runs.  [default: all]", show_default=False),
]
AppReference = Annotated[
    str | None,
    typer.Option("--app", help="A host application's providers, as module:name.", show_default=False),
]


def worker(
    processes: Processes = None,
    batch: Batch = None,
    lanes: Lanes = None,
    app: AppReference = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Move what is due until stopped.

    The first SIGTERM or Ctrl-C finishes what is in the air and leaves nothing in doubt; the second leaves at once.
    """
    config = config_from(processes=processes, batch=batch, lanes=lanes, database_url=database_url, data_dir=data_dir)
    raise typer.Exit(run(lambda: _work(config, app)))


def up(processes: Processes = None, database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """Start the embedded PostgreSQL if need be, bring its tables up to date, and work until stopped."""
    config = config_from(processes=processes, database_url=database_url, data_dir=data_dir)
    raise typer.Exit(run(lambda: _work(config, None)))


async def _work(config: Config, app: str | None) -> int:
    from tidings.wiring import load_app, open_engine
    from tidings.worker.loop import Worker
    from tidings.worker.main import run_processes, run_worker
    from tidings.worker.processes import Processes

    engine = await open_engine(config, load_app(app) if app else None)
    if config.processes > 1:
        await engine.close()  # it has checked the settings and the tables; the children open their own
        return await run_processes(Processes(_arguments(config, app), _environment(config), config.processes))
    worker = Worker(engine, lanes=config.lanes, batch=config.batch, poll_seconds=config.poll_seconds)
    return await run_worker(engine, worker)


def _environment(config: Config) -> dict[str, str]:
    """The database's address goes where `ps` does not show its password."""
    return {variable("database_url"): config.database_url} if config.database_url else {}


def _arguments(config: Config, app: str | None) -> list[str]:
    """What a child must be told; the rest it reads from the environment and tidings.toml like its parent."""
    lanes = ",".join(lane.name.lower() for lane in config.lanes)
    arguments = ["--batch", str(config.batch), "--lanes", lanes]
    if config.data_dir:
        arguments += ["--data-dir", str(config.data_dir)]
    return arguments + (["--app", app] if app else [])
