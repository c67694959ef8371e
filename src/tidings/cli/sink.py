"""`tidings sink`."""

import asyncio
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.options import AsJson
from tidings.cli.output import print_json_line, print_line
from tidings.cli.running import run

if TYPE_CHECKING:
    from tidings.sink.arrivals import Arrival
    from tidings.sink.running import RunningSink

app = typer.Typer()

Port = Annotated[int, typer.Option(min=0, max=65535, help="Port for mail; 0 takes a free one.")]
HttpPort = Annotated[int, typer.Option(min=0, max=65535, help="Port for vendors' calls and for GET /messages.")]
Refuse = Annotated[str, typer.Option(metavar="SHARE", help="Recipients that are refused for good.")]
Defer = Annotated[str, typer.Option(metavar="SHARE", help="Calls for the others that are put off.")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="The same seed refuses the same recipients.", show_default="by chance")
]
Latency = Annotated[int, typer.Option(min=0, max=60_000, metavar="MS", help="Milliseconds before each answer.")]


@app.command()
def sink(
    port: Port = 2525,
    http_port: HttpPort = 8026,
    refuse: Refuse = "0%",
    defer: Defer = "0%",
    seed: Seed = None,
    latency: Latency = 0,
    as_json: AsJson = False,
) -> None:
    """Take mail and vendors' calls, show them, and send nothing on: for trying things without an account.

    It answers as mailbox providers and vendors do, also with refusals like theirs. Ctrl-C ends it.
    """
    from tidings.sink.chance import read_share
    from tidings.sink.running import running_sink

    shares = {"refuse": read_share("--refuse", refuse), "defer": read_share("--defer", defer)}
    drawn = secrets.randbelow(1_000_000) if seed is None else seed

    async def work() -> None:
        pause = timedelta(milliseconds=latency)
        async with running_sink(**shares, seed=drawn, latency=pause, smtp_port=port, http_port=http_port) as running:
            await _show(running, drawn, as_json=as_json)

    run(work)


async def _show(running: "RunningSink", seed: int, *, as_json: bool) -> None:
    """Show what arrives until somebody ends it: as JSON lines, live in a terminal, else line by line."""
    stopped = _until_stopped()
    if as_json:
        print_json_line({"smtpUrl": running.smtp_url, "baseUrl": running.base_url, "seed": seed})
        running.arrivals.told.append(lambda arrival: print_json_line(arrival.summary))
        await stopped()
        return
    _print_settings(running, seed)
    if sys.stdout.isatty():
        from tidings.cli.sink_screen import watch_arrivals

        await watch_arrivals(running.arrivals, stopped)
        return
    running.arrivals.told.append(_print_arrival)
    await stopped()


def _print_settings(running: "RunningSink", seed: int) -> None:
    """Print lines to paste into a shell, each below what it is for."""
    print_line("# mail:")
    print_line(f"export TIDINGS_SMTP_URL='{running.smtp_url}'")
    print_line("# a vendor's calls (tidings connections kinds), with any credential:")
    print_line("tidings workspaces set --allow-private 127.0.0.1")
    print_line(f"tidings connections add trial resend --set baseUrl={running.base_url}")
    print_line(f"# what arrived, with the seed {seed}:")
    print_line(f"curl {running.base_url}/messages")


def _print_arrival(arrival: "Arrival") -> None:
    to = ", ".join(arrival.recipients)
    print_line(f"{arrival.at:%H:%M:%S}  {arrival.answer:8}  {arrival.via}  {to}  {arrival.subject}  {arrival.said}")
    sys.stdout.flush()


def _until_stopped() -> Callable[[], Awaitable[object]]:
    stop = asyncio.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # where loops take no signals, Ctrl-C cancels the command
            asyncio.get_running_loop().add_signal_handler(sign, stop.set)
    return stop.wait
