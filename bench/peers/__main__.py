"""Measure the peers by themselves and print the table."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.peers import PeerResult, measure_peers
from bench.peers.catalogue import CATALOGUE
from bench.peers.measuring import RESULTS
from tidings.embedded import SUPERUSER, TemporaryServer, url_of

console = Console()


async def main(names: Sequence[str]) -> None:
    """Measure the named peers, or all of them, with one process and with as many as there are cores."""
    unknown = set(names) - {peer.key for peer in CATALOGUE}
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(peer.key for peer in CATALOGUE)}")
    cores = os.cpu_count() or 1
    processes = sorted({1, cores})
    load = os.getloadavg()[0]
    if working := asyncio.current_task():
        # Whoever kills this must not leave a server and its workers behind.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    async with TemporaryServer() as server:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("installing", total=None)
            superuser = url_of(server.data_dir, server.dsn, SUPERUSER)
            results = await measure_peers(
                superuser, processes, lambda step: progress.update(task, description=step), names
            )
    show(results)
    if load > cores / 2:
        console.print(f"[yellow]the load was {load:.1f} on {cores} cores before the start: others worked here too[/]")
    write(results, load)


def show(results: Sequence[PeerResult]) -> None:
    table = Table(title="one message: log row, null send, mark, completion; fsync on", title_justify="left")
    for column in ("peer", "version", "processes", "items", "items/s", "enqueued/s"):
        table.add_column(column, justify="left" if column in {"peer", "version"} else "right")
    table.add_column("how", overflow="fold")
    for result in results:
        table.add_row(result.name, result.version, str(result.processes), *_figures(result))
    console.print(table)


def _figures(result: PeerResult) -> tuple[str, str, str, str]:
    if result.skipped is not None:
        return "", "skipped", "", f"[yellow]skipped: {result.skipped}[/]"
    if result.error is not None:
        return "", "error", "", f"[red]error: {result.error}[/]"
    enqueued = f"{result.enqueue_rate:,.0f}" if result.enqueue_rate else ""
    return f"{result.items:,}", f"{result.rate:,.0f}", enqueued, result.note


def write(results: Sequence[PeerResult], load: float) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"peers-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    rows = [asdict(result) | {"rate": result.rate} for result in results]
    path.write_text(json.dumps({"load_before": load, "results": rows}, indent=2))
    console.print(f"written to {path.relative_to(RESULTS.parent.parent)}")


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1:]))
    except asyncio.CancelledError:
        raise SystemExit("stopped before the end") from None
