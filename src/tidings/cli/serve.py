"""`tidings serve` and `tidings up`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.options import AppReference, DatabaseUrl, DataDir
from tidings.cli.output import print_line, print_not_ready
from tidings.cli.running import config_from, run_service
from tidings.cli.worker import Print, ProcessCount, worker_processes
from tidings.config import Config, LogFormat
from tidings.domain.channels import MESSAGE_CHANNELS, Channel
from tidings.extras import require_extra

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.http.server import ApiServer
    from tidings.simulation import Simulator
    from tidings.worker.main import WorkerPart

app = typer.Typer()

Host = Annotated[str | None, typer.Option(help="Address to listen on.  [default: 127.0.0.1]", show_default=False)]
Port = Annotated[int | None, typer.Option(help="Port to listen on.  [default: 8080]", show_default=False)]
TlsCert = Annotated[
    Path | None, typer.Option(help="Certificate and its chain, in PEM; with it the API speaks TLS.", show_default=False)
]
TlsKey = Annotated[Path | None, typer.Option(help="The certificate's key, in PEM.", show_default=False)]
ForwardedAllowIps = Annotated[
    str | None,
    typer.Option(help="Addresses of proxies whose X-Forwarded-For and -Proto are believed, with commas between."),
]


@app.command()
def serve(
    host: Host = None,
    port: Port = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    forwarded_allow_ips: ForwardedAllowIps = None,
    app: AppReference = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Answer the HTTP API until stopped; workers run elsewhere.

    With --app, events fall back on what the application registers; workers need the same one to call it.

    The first SIGTERM or Ctrl-C answers what is in the air; the second leaves at once.
    """
    require_extra("server")
    config = config_from(
        host=host,
        port=port,
        tls_cert=tls_cert,
        tls_key=tls_key,
        forwarded_allow_ips=forwarded_allow_ips,
        database_url=database_url,
        data_dir=data_dir,
    )
    raise typer.Exit(run_service(config, lambda: _serve(config, app)))


@app.command()
def up(
    host: Host = None,
    port: Port = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    forwarded_allow_ips: ForwardedAllowIps = None,
    processes: ProcessCount = None,
    app: AppReference = None,
    print_: Print = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Start everything: the embedded PostgreSQL if need be, the HTTP API, and workers.

    PostgreSQL is started again whenever it is gone, and ends with the last process that uses it, unless it ran before.

    The first SIGTERM or Ctrl-C finishes what is in the air and leaves nothing in doubt; the second leaves at once.
    """
    require_extra("server")
    config = config_from(
        host=host,
        port=port,
        tls_cert=tls_cert,
        tls_key=tls_key,
        forwarded_allow_ips=forwarded_allow_ips,
        processes=processes,
        print=print_,
        database_url=database_url,
        data_dir=data_dir,
    )
    raise typer.Exit(run_service(config, lambda: _up(config, app)))


async def _serve(config: Config, app: str | None) -> int:
    from tidings.wiring import in_foreground, load_app, open_engine
    from tidings.worker.main import run_together

    loaded = load_app(app) if app else None
    async with in_foreground(config) as find_url:
        engine = await open_engine(config, loaded, is_service=True, find_url=find_url)
        return await run_together(engine, *await _open_api(engine, config))


async def _up(config: Config, app: str | None) -> int:
    from tidings.wiring import in_foreground, load_app, open_engine
    from tidings.worker.loop import Worker
    from tidings.worker.main import run_together

    loaded = load_app(app) if app else None
    async with in_foreground(config, supervise=True) as find_url:
        engine = await open_engine(config, loaded, for_worker=True, is_service=True, find_url=find_url)
        answering = await _open_api(engine, config)
        await _print_first_link(engine, config, answering[0])
        workers: WorkerPart
        if config.processes > 1:
            workers = worker_processes(config, app)
        else:
            workers = Worker(engine, lanes=config.lanes, batch=config.batch, poll_seconds=config.poll_seconds)
        return await run_together(engine, *answering, workers)


async def _open_api(engine: "Engine", config: Config) -> "tuple[ApiServer, Simulator]":
    """Listen, and print the address and the key; problems are reported before anything runs."""
    from tidings.http.server import ApiServer
    from tidings.simulation import Simulator
    from tidings.wiring import line_to_export

    simulator = Simulator(pg_bin=config.pg_bin)
    try:
        api = ApiServer(engine, config, simulator)
        made = await engine.access.ensure_admin_key(config.admin_key)
    except BaseException:
        await engine.close()
        raise
    print_line(f"Tidings answers at {api.url} (try {api.url}/docs)")
    if made:
        print_line(f"The operator's key, shown this once: {made}")
    if line := line_to_export(config, Path.cwd()):
        print_line(f"Commands in another terminal find this database after: {line}")
    await _print_channels(engine)
    return api, simulator


async def _print_first_link(engine: "Engine", config: Config, api: "ApiServer") -> None:
    """Print the link by which the first person signs in, as long as nobody has a password.

    Not where log lines are JSON: what is printed there is collected, and read by others.
    """
    if config.log_format is LogFormat.JSON:
        return
    if found := await engine.users.first_link():
        print_line(f"page: {config.public_url or api.url}/welcome#{found.token}")
        print_line("The link signs you in as the operator, once and within the hour; the next start prints another.")


async def _print_channels(engine: "Engine") -> None:
    """Print what becomes of a message over each channel."""
    shown = await engine.providers.details()
    routes = {channel: one for one in shown for channel in one.channels if channel is not Channel.FUNCTION}
    sent = [f"{channel} over {one.name}" for channel, one in routes.items() if not one.printing]
    printed = [channel for channel, one in routes.items() if one.printing]
    missing = [channel for channel in MESSAGE_CHANNELS if channel not in routes]
    if sent:
        print_line(f"Sent: {', '.join(sent)}")
    if printed:
        print_line(f"Printed, not sent: {', '.join(printed)}")
    print_not_ready(missing)
