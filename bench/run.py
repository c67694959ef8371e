"""Items a second through the whole kernel, as a share of raw SQL that writes the same rows in the same batches.

    make bench                       the table
    BENCH_ITEMS=50000 make bench     more items

Everything is measured in one run on one server with fsync on, so that the ratio holds whatever the machine. Results
are also written to bench/results/ as JSON.
"""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import Process
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.app import app
from tidings.config import Config
from tidings.domain.item import Channel
from tidings.embedded import TemporaryServer
from tidings.engine import Deployment, Engine, Recipient, Trigger
from tidings.wiring import open_engine

ITEMS = int(os.environ.get("BENCH_ITEMS", "20000"))
BATCH = 100
SHARDS = 4
ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
console = Console()

WORKFLOW = {
    "entryNodeId": "hello",
    "nodes": [
        {
            "id": "hello",
            "type": "email",
            "to": "{{ email }}",
            "subject": "Hello {{ name }}",
            "body": "Good to see you, {{ name }}.",
        }
    ],
    "edges": [],
}


@dataclass(frozen=True)
class Result:
    name: str
    processes: int
    items: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.items / self.seconds


async def main() -> None:
    results: list[Result] = []
    async with TemporaryServer() as server:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("measuring", total=6)
            for processes in (1, 2):
                for measure in (raw_executions, kernel_executions, kernel_campaign):
                    progress.update(task, description=f"{measure.__name__}, {processes} process(es)")
                    results.append(await measure(server.dsn, processes))
                    progress.advance(task)
    show(results)
    write(results)


async def raw_executions(dsn: str, processes: int) -> Result:
    """The ceiling."""
    async with Fresh(dsn) as fresh:
        await fresh.start_executions()
        environ = os.environ | {"DATABASE_URL": fresh.dsn, "SHARDS": str(SHARDS), "CONNECTIONS": "4"}
        started = time.perf_counter()
        children = [await _python(["-m", "bench.raw"], environ) for _ in range(processes)]
        await asyncio.gather(*(child.wait() for child in children))
        seconds = await fresh.seconds_sending() or time.perf_counter() - started
        return Result("raw SQL, one-node executions", processes, ITEMS, seconds)


async def kernel_executions(dsn: str, processes: int) -> Result:
    """Executions with one send node."""
    async with Fresh(dsn) as fresh:
        await fresh.start_executions()
        return Result("kernel, one-node executions", processes, ITEMS, await fresh.work(processes))


async def kernel_campaign(dsn: str, processes: int) -> Result:
    """A campaign run, deployed by the workers too."""
    async with Fresh(dsn) as fresh:
        people = [Recipient(f"p{number}@example.com", {"name": f"P{number}"}) for number in range(ITEMS)]
        content = {"subject": "Hello {{ name }}", "body": "Good to see you, {{ name }}."}
        await fresh.engine.deploy(Deployment(uuid4(), "run", Channel.EMAIL, content, people))
        return Result("kernel, campaign run (deploy and send)", processes, ITEMS, await fresh.work(processes))


class Fresh:
    """A new database with an engine to start work with."""

    engine: Engine

    def __init__(self, server: str) -> None:
        self._server = server
        self._name = f"bench_{uuid4().hex[:8]}"
        self.dsn = urlunsplit(urlsplit(server)._replace(path=f"/{self._name}"))

    async def __aenter__(self) -> "Fresh":
        await self._admin(f"create database {self._name}")
        self.engine = await open_engine(Config(database_url=self.dsn, shards=SHARDS), app)
        await self.engine.define("bench", WORKFLOW)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.close()
        await self._admin(f"drop database {self._name} with (force)")

    async def start_executions(self) -> None:
        for first in range(0, ITEMS, 5000):
            last = min(first + 5000, ITEMS)
            triggers = [
                Trigger(f"k{number}", {"email": f"p{number}@example.com", "name": f"P{number}"})
                for number in range(first, last)
            ]
            await self.engine.trigger_many("bench", triggers)
        await self._query("vacuum analyze")

    async def work(self, processes: int) -> float:
        """Run worker processes until everything is sent; give the seconds between the first mark and the last fact."""
        environ = os.environ | {"DATABASE_URL": self.dsn, "TIDINGS_LOG_FORMAT": "json"}
        arguments = ["-m", "tidings", "worker", "--app", "bench.app:app", "--batch", str(BATCH)]
        workers = [await _python(arguments, environ) for _ in range(processes)]
        try:
            await self._until_done()
        finally:
            for worker in workers:
                worker.terminate()
            await asyncio.gather(*(worker.wait() for worker in workers))
        return await self.seconds_sending()

    async def seconds_sending(self) -> float:
        seconds = "extract(epoch from max(finalized_at) - min(created_at))::float8"
        return float(await self._query(f"select {seconds} from tidings.outbox"))

    async def _until_done(self) -> None:
        deadline = time.monotonic() + 300
        while await self._query("select exists (select 1 from tidings.queue)"):
            if time.monotonic() > deadline:
                raise SystemExit("the workers did not finish within five minutes; see bench/results/workers.log")
            await asyncio.sleep(0.1)

    async def _query(self, statement: str) -> Any:
        connection = await asyncpg.connect(self.dsn)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    async def _admin(self, statement: str) -> None:
        connection = await asyncpg.connect(self._server)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


async def _python(arguments: list[str], environ: dict[str, str]) -> Process:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "workers.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable, *arguments, env=environ, cwd=ROOT, stdout=log, stderr=log
        )


def show(results: list[Result]) -> None:
    ceilings = {result.processes: result.rate for result in results if result.name.startswith("raw")}
    table = Table(title=f"{ITEMS:,} items, batches of {BATCH}, fsync on", title_justify="left")
    for column in ("what", "processes", "items/s", "of the raw-SQL ceiling"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for result in results:
        share = f"{result.rate / ceilings[result.processes]:.0%}"
        table.add_row(result.name, str(result.processes), f"{result.rate:,.0f}", share)
    console.print(table)


def write(results: list[Result]) -> None:
    path = RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    path.write_text(json.dumps([asdict(result) | {"rate": result.rate} for result in results], indent=2))
    console.print(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    asyncio.run(main())
