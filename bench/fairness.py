"""What one tenant's flood, hanging functions or expensive templates cost nine others, beside the same without them.

Ten tenants share one worker process. Nine start something small each second; the tenth is silent at first, then has far
more than can be done at once. The time is from the trigger to the provider's call. The tenth's own rate is taken alone
and beside the nine: a tenant that is alone gets everything.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.app import ARRIVALS, messages
from bench.bench import Bench
from bench.database import Fresh
from bench.fair_work import CAMPAIGN_EVERY_SECONDS, FLOOD, NINE, FairWork, tenth
from bench.function_server import FunctionServer
from bench.report import Result
from bench.workers import Workers
from tidings.engine import Workspace

LOOK_SECONDS = 0.05
BEGIN_SECONDS = 60
LONGEST_GAP_SECONDS = 0.5
"""A flood that was not called for in so long is over."""
ALONE_SHARE = 0.5
"""How long the tenth has the worker to itself, in parts of the time that the nine share it."""
WEIGHTS = {"heavy": 3, "light": 1}
LEARN_SECONDS = 2.5
"""How long a worker may take to hear of a weight."""
LAST_COUNTED = 0.9
"""The part of the heavier backlog after which nothing is counted: both must have enough waiting."""


@dataclass(frozen=True, slots=True)
class Flood:
    """What the tenth does while the nine do something: what its workflow is, how often, in how many workspaces."""

    nine: str
    workflow: str
    title: str
    count: int | None = None  # as many as the settings say
    spread: int = 1

    @property
    def has_rate(self) -> bool:
        """Whether it can be done at all, and so has a rate of its own."""
        return self.nine == self.workflow


FLOODS = (
    Flood("message", "message", "has {:,} due"),
    Flood("message", "message", "has {:,} due in a hundred workspaces", spread=100),
    Flood("quick", "hang", "has {:,} calls that hang", 300),
    Flood("liquid", "loops", "has {:,} templates at the CPU limit", 200),
    Flood("campaign", "campaign", "has one to {:,}"),
)
TITLES = {
    "message": "nine tenants' messages",
    "quick": "nine tenants' function calls",
    "liquid": "nine tenants' Liquid messages",
    "campaign": "nine tenants' small campaigns",
}


class Arrivals:
    """When each label was called for, as the file says that worker and functions append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at: dict[str, float] = {}
        self._read = 0

    def look(self) -> None:
        """Read what is new."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode().splitlines():
            label, at = line.split()
            self.at.setdefault(label.partition("@")[0], float(at))

    def times_of(self, tenant: str) -> list[float]:
        """When a tenant's calls came, as its labels begin."""
        self.look()
        return sorted(at for label, at in self.at.items() if label.startswith(f"{tenant}-"))


@dataclass(frozen=True, slots=True)
class Waits:
    """How long the nine waited, in seconds; what had not come was counted with what it had waited by then."""

    seconds: Sequence[float]
    late: int

    def share(self, part: float) -> float:
        """So many of them waited no longer."""
        return sorted(self.seconds)[min(int(len(self.seconds) * part), len(self.seconds) - 1)]

    def note(self) -> str:
        """The middle, nearly the longest and the longest."""
        p50, p99, most = (_shown(self.share(part)) for part in (0.5, 0.99, 1))
        late = f", {self.late} of them had not come by then" if self.late else ""
        return f"p50 {p50}, p99 {p99}, max {most} of {len(self.seconds)}{late}"

    def seen(self) -> Mapping[str, object]:
        """The same as numbers."""
        parts = {"p50_ms": 0.5, "p99_ms": 0.99, "max_ms": 1.0}
        return {name: self.share(part) * 1000 for name, part in parts.items()} | {
            "count": len(self.seconds),
            "late": self.late,
            "load_average": os.getloadavg()[0],
        }


def _shown(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


@dataclass(frozen=True, slots=True)
class Ten:
    """A database with one worker, and what the ten tenants do there."""

    bench: Bench
    fresh: Fresh
    workers: Workers
    arrivals: Arrivals
    work: FairWork

    async def prepare_nine(self, workflow: str) -> None:
        """Define what the nine do, and have each do it once: the first time costs a process more."""
        await self.work.define(workflow, NINE)
        called: dict[str, float] = {}
        for workspace in NINE:
            labels = await self.work.start_one(workflow, workspace, f"first-{workspace.tenant}")
            called |= dict.fromkeys(labels, time.monotonic())
        await self._wait_for(called)

    async def run_nine(self, workflow: str, prefix: str) -> Waits:
        """Have each of the nine start something again and again, evenly spread; wait for all of it."""
        seconds = self.bench.settings.fair_seconds
        every = CAMPAIGN_EVERY_SECONDS if workflow == "campaign" else 1
        called: dict[str, float] = {}

        async def start(number: int) -> None:
            label, began = f"{prefix}-{number}", time.monotonic()
            labels = await self.work.start_one(workflow, NINE[number % len(NINE)], label)
            called.update(dict.fromkeys(labels, began))

        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number in range(max(1, round(len(NINE) * seconds / every))):
                await asyncio.sleep(began + number * every / len(NINE) - time.monotonic())
                tasks.create_task(start(number))
        return await self._wait_for(called)

    async def _wait_for(self, called: Mapping[str, float]) -> Waits:
        until = time.monotonic() + self.bench.settings.fair_patience
        while time.monotonic() < until:
            self.arrivals.look()
            if called.keys() <= self.arrivals.at.keys():
                break
            await asyncio.sleep(LOOK_SECONDS)
        now, at = time.monotonic(), self.arrivals.at
        return Waits([at.get(label, now) - began for label, began in called.items()], len(called.keys() - at.keys()))

    async def start_flood(self, flood: Flood, count: int) -> None:
        """Store the tenth's work under the eyes of a frozen worker, let it go, and wait until it has begun."""
        await self.fresh.until_done()
        self.workers.freeze()
        workspaces = tenth(flood.spread)
        await self.work.define(flood.workflow, workspaces)
        await self.work.start_flood(flood.workflow, workspaces, count)
        await self.fresh.settle()
        self.workers.thaw()
        if flood.workflow == "loops":
            await asyncio.sleep(1)  # nobody is called for what cannot be rendered
        else:
            await self.until_arrived(FLOOD, 1)

    async def until_arrived(self, tenant: str, count: int) -> None:
        """Wait until so many calls were for a tenant."""
        async with asyncio.timeout(BEGIN_SECONDS):
            while len(self.arrivals.times_of(tenant)) < count:
                await asyncio.sleep(LOOK_SECONDS)

    def rate_of_flood(self, since: float, until: float) -> float:
        """The tenth's calls a second, for as long as it had something to do."""
        times = [at for at in self.arrivals.times_of(FLOOD) if since <= at <= until]
        return len(times) / (times[-1] - since) if times and times[-1] > since else 0.0


@asynccontextmanager
async def ten_tenants(bench: Bench) -> AsyncIterator[Ten]:
    """Open all of it; at the end the worker is killed, since it may have work for minutes."""
    with tempfile.TemporaryDirectory(prefix="tidings-bench-") as directory:
        arrivals = Path(directory) / "arrivals"
        arrivals.touch()
        environ = {ARRIVALS: str(arrivals), "TIDINGS_ALLOW_PRIVATE_ADDRESSES": "true"}
        async with (
            Fresh(bench.dsn, app=messages()) as fresh,
            Workers(fresh, 1, app="bench.app:recording_slow", environ=environ) as workers,
            FunctionServer(arrivals) as server,
        ):
            try:
                yield Ten(bench, fresh, workers, Arrivals(arrivals), FairWork(fresh, server))
            finally:
                workers.kill()


async def measure_fairness(bench: Bench) -> AsyncIterator[Result]:
    """Each kind of work with the tenth silent, then beside each flood; then what weights do."""
    silent: dict[str, Waits] = {}
    for flood in FLOODS:
        async with ten_tenants(bench) as ten:
            await ten.prepare_nine(flood.nine)
            if flood.nine not in silent:
                bench.step(f"fairness: {TITLES[flood.nine]}, the tenth silent", None)
                silent[flood.nine] = waits = await ten.run_nine(flood.nine, "silent")
                yield _row(f"{TITLES[flood.nine]}, the tenth silent", waits)
            yield await _measure_flood(ten, flood, silent[flood.nine])
    async with ten_tenants(bench) as ten:
        yield await _measure_weights(ten)


async def _measure_flood(ten: Ten, flood: Flood, silent: Waits) -> Result:
    settings = ten.bench.settings
    count = flood.count or settings.fair_items
    title = f"{TITLES[flood.nine]}, the tenth {flood.title.format(count)}"
    ten.bench.step(f"fairness: {title}", None)
    await ten.start_flood(flood, count)
    began = time.monotonic()
    if flood.has_rate:
        await asyncio.sleep(settings.fair_seconds * ALONE_SHARE)
    joined = time.monotonic()
    waits = await ten.run_nine(flood.nine, "beside")
    times = waits.share(0.99) / silent.share(0.99)
    row = _row(title, waits)
    row = replace(
        row, note=f"{row.note}\np99 is {times:,.1f} times that beside silence", seen={**row.seen, "of_silent": times}
    )
    return _with_rates(ten, row, began, joined) if flood.has_rate else row


def _row(title: str, waits: Waits) -> Result:
    return Result("fairness", title, 1, note=waits.note(), seen=waits.seen())


def _with_rates(ten: Ten, row: Result, began: float, joined: float) -> Result:
    """Add what the flood itself got: alone, and beside the nine."""
    alone = ten.rate_of_flood(began, joined)
    ended = min(time.monotonic(), joined + ten.bench.settings.fair_seconds)
    beside = ten.rate_of_flood(joined, ended)
    note = f"the tenth: {alone:,.0f}/s alone, {beside:,.0f}/s beside the nine"
    if (silence := ended - ten.arrivals.times_of(FLOOD)[-1]) > LONGEST_GAP_SECONDS:
        note += f"\nit was over {silence:.1f} s before the nine were: ask for more --fair-items"
    return replace(row, note=f"{row.note}\n{note}", seen={**row.seen, "alone_rate": alone, "beside_rate": beside})


async def _measure_weights(ten: Ten) -> Result:
    """Two backlogs, and weights that are set once both are there: what each got while both were waiting."""
    title = "weights 3 and 1, a backlog of each"
    if not await ten.fresh.sql.fetchval("select to_regclass('tenants')"):
        return Result("fairness", title, note="skipped: this version keeps no weights")
    count = ten.bench.settings.fair_items // 2
    ten.bench.step(f"fairness: {title}", None)
    await ten.fresh.until_done()
    ten.workers.freeze()
    for tenant in WEIGHTS:
        await ten.work.define("message", [Workspace(tenant)])
        await ten.work.start_backlog("message", Workspace(tenant), tenant, count)
    await _set_weights(ten, WEIGHTS)
    await ten.fresh.settle()
    ten.workers.thaw()
    await asyncio.sleep(LEARN_SECONDS)
    began, before = time.monotonic(), _sent(ten, WEIGHTS)
    await ten.until_arrived("heavy", int(count * LAST_COUNTED))
    seconds, after = time.monotonic() - began, _sent(ten, WEIGHTS)
    got = {tenant: after[tenant] - before[tenant] for tenant in WEIGHTS}
    ratio = got["heavy"] / max(got["light"], 1)
    note = f"{got['heavy']:,} and {got['light']:,} sent while both waited: {ratio:.2f} to 1"
    if not got["heavy"]:
        note = "both were done before the worker could know: ask for more --fair-items"
    return Result("fairness", title, 1, sum(got.values()), seconds, note=note, seen=got | {"ratio": ratio})


def _sent(ten: Ten, tenants: Iterable[str]) -> dict[str, int]:
    return {tenant: len(ten.arrivals.times_of(tenant)) for tenant in tenants}


async def _set_weights(ten: Ten, weights: Mapping[str, int]) -> None:
    statement = "insert into tenants (tenant_id, weight, updated_at) values ($1, $2, now())"
    await ten.fresh.sql.executemany(statement, weights.items())
