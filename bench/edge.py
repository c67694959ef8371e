"""The way in over HTTP: what one request costs the API's process and PostgreSQL, this tree and another in turns.

    python -m bench.run --only edge --beside /path/of/another/checkout

Each tree serves its own database of the same server with its own code; ten callers ask, each one thing at a time.
Beside them, for triggers alone, fastify with BullMQ, which answers before anything is on disk.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

from bench.api import KEY, Api
from bench.bench import Bench
from bench.database import WORKFLOWS, Sql, connect, person, run_on_server
from bench.http_load import Asked, HttpLoad, ids_of
from bench.meter import Cost, Meter
from bench.peers.http_peer import HttpPeer, http_peer
from bench.peers.installing import CannotInstall
from bench.proc import cpu_seconds
from bench.report import Result
from bench.settings import ROOT
from bench.workers import python

BULK = 1_000
WARM_UP = 200
ENDED = 500
WORK_SECONDS = 60
RULE = {
    "trigger": "quote_sent",
    "channel": "email",
    "audience": "lead",
    "steps": [{"template": {"subject": "Your quote {{ quote.number }}", "body": "Good day {{ lead.name }}."}}],
}


class Served:
    """One tree, answering on a database of its own."""

    sql: Sql

    def __init__(self, name: str, root: Path, server: str) -> None:
        self.name, self._root, self._server = name, root, server
        self._database = f"bench_{uuid4().hex[:8]}"
        self._dsn = urlunsplit(urlsplit(server)._replace(path=f"/{self._database}"))
        self._environ = {"DATABASE_URL": self._dsn, "TIDINGS_PRINT": "1", "PYTHONPATH": str(root / "src")}
        self._api = Api(self._dsn, 1, self._environ, root)
        self.waiting: list[str] = []
        self.ended: list[str] = []

    async def __aenter__(self) -> Self:
        await run_on_server(self._server, f"create database {self._database}")
        await self._api.__aenter__()
        self.load = HttpLoad(self._api.url, KEY)
        self.sql = await connect(self._dsn)
        await self.load.ask([Asked("POST", "/v1/workflows", {"name": "one", **WORKFLOWS["one"]}, 201)])
        await self.load.ask([Asked("POST", "/v1/rules", RULE, 201)])
        self.ended = ids_of(await self.load.ask([trigger("ended", number) for number in range(ENDED)]))
        await self._work()
        self.waiting = ids_of(await self.load.ask([trigger("waiting", number) for number in range(ENDED)]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._api.__aexit__(kind, error, trace)
        await self.sql.close()
        await run_on_server(self._server, f"drop database {self._database} with (force)")

    @property
    def pid(self) -> int:
        """The process of the API."""
        return self._api.process.pid

    async def settle(self) -> None:
        """Leave nothing to clean or write from before."""
        await self.sql.execute("vacuum analyze")
        await self.sql.execute("checkpoint")

    async def _work(self) -> None:
        """Have a worker of the same tree end what was started, then leave."""
        worker = await python(["-m", "tidings", "worker"], self._environ, cwd=self._root)
        try:
            async with asyncio.timeout(WORK_SECONDS):
                while await self.sql.fetchval("select exists (select from queue)"):
                    await asyncio.sleep(0.1)
        finally:
            worker.send_signal(signal.SIGTERM)
            await worker.wait()


def trigger(prefix: str, number: int) -> Asked:
    """One trigger with a key of its own."""
    return Asked("POST", "/v1/triggers", _trigger(prefix, number), 201)


def _trigger(prefix: str, number: int) -> dict[str, object]:
    return {"workflow": "one", "idempotencyKey": f"{prefix}-{number}", "data": person(number)}


def _triggers(_: Served, prefix: str, count: int) -> list[Asked]:
    return [trigger(prefix, number) for number in range(count)]


def bulk(prefix: str, count: int) -> list[Asked]:
    """So many triggers, a thousand at once."""
    return [
        Asked("POST", "/v1/triggers/bulk", {"triggers": [_trigger(prefix, one) for one in range(first, first + BULK)]})
        for first in range(0, count, BULK)
    ]


def _bulk(_: Served, prefix: str, count: int) -> list[Asked]:
    return bulk(prefix, count)


def _waiting(served: Served, _: str, count: int) -> list[Asked]:
    return [Asked("GET", f"/v1/executions/{served.waiting[number % ENDED]}") for number in range(count)]


def _ended(served: Served, _: str, count: int) -> list[Asked]:
    return [Asked("GET", f"/v1/executions/{served.ended[number % ENDED]}") for number in range(count)]


def _contacts(_: Served, prefix: str, count: int) -> list[Asked]:
    return [Asked("POST", "/v1/contacts", _contact(f"{prefix}-{number}"), 201) for number in range(count)]


def _contact(name: str) -> dict[str, object]:
    return {
        "externalId": name,
        "email": f"{name}@example.com",
        "name": f"P {name}",
        "tags": ["vip"],
        "attributes": {"plan": "pro"},
    }


def _events(_: Served, prefix: str, count: int) -> list[Asked]:
    variables = {"quote": {"number": "Q-17"}}
    return [
        Asked(
            "POST",
            "/v1/events",
            {
                "trigger": "quote_sent",
                "idempotencyKey": f"{prefix}-{number}",
                "lead": person(number),
                "variables": variables,
            },
            201,
        )
        for number in range(count)
    ]


@dataclass(frozen=True, slots=True)
class Operation:
    """What is asked, and how many items one measurement has of it."""

    title: str
    requests: Callable[[Served, str, int], list[Asked]]
    factor: int = 1
    callers: int = 10


TRIGGERS = Operation("POST /v1/triggers", _triggers)
BULK_TRIGGERS = Operation(f"POST /v1/triggers/bulk, {BULK:,} at once, for each", _bulk, factor=10, callers=2)
OPERATIONS = (
    TRIGGERS,
    Operation("GET /v1/executions/{id} of one that waits", _waiting),
    Operation("GET /v1/executions/{id} of one that has ended", _ended),
    Operation("POST /v1/contacts", _contacts),
    Operation("POST /v1/events", _events),
    BULK_TRIGGERS,
)


@dataclass(frozen=True, slots=True)
class Round:
    """What one stretch of requests took."""

    seconds: float
    cost: Cost


@dataclass(slots=True)
class Rounds:
    """All rounds of one operation on one tree, or on the peer."""

    what: str
    items: int
    seen: list[Round] = field(default_factory=list)

    def result(self, note: str = "") -> Result:
        """The median of each figure, and every round's in the note."""
        each = [one.cost.for_each(self.items) for one in self.seen]
        spread = " ".join(f"{one['python_us']:.0f}/{one['postgres_us']:.0f}" for one in each)
        return Result(
            "edge",
            self.what,
            1,
            self.items,
            median(one.seconds for one in self.seen),
            python_us=median(one["python_us"] for one in each),
            postgres_us=median(one["postgres_us"] for one in each),
            wal_bytes=median(one["wal_bytes"] for one in each),
            note=f"{spread}{note}",
            seen={"rounds": each, "rates": [self.items / one.seconds for one in self.seen]},
        )


async def measure_edge(bench: Bench) -> AsyncIterator[Result]:
    """Every operation, each round on one tree after the other, and the peer where it does the same."""
    settings = bench.settings
    trees = {"beside": Path(settings.beside)} if settings.beside else {}
    async with AsyncExitStack() as stack:
        served = [
            await stack.enter_async_context(Served(name, root, bench.dsn))
            for name, root in {**trees, "this": ROOT}.items()
        ]
        try:
            peer: HttpPeer | None = await stack.enter_async_context(http_peer(KEY))
        except CannotInstall as error:
            peer = None
            yield Result("edge", "fastify + BullMQ", note=f"not measured: {error}")
        for operation in OPERATIONS:
            with_peer = peer if operation in (TRIGGERS, BULK_TRIGGERS) else None
            for rounds in await _measure(bench, operation, served, with_peer):
                yield rounds


async def _measure(bench: Bench, operation: Operation, trees: Sequence[Served], peer: HttpPeer | None) -> list[Result]:
    count = bench.settings.requests * operation.factor
    rounds = {one.name: Rounds(_title(operation, one, trees), count) for one in trees}
    of_peer = Rounds(f"{operation.title}: fastify {peer.fastify} + BullMQ {peer.bullmq}", count) if peer else None
    for number in range(bench.settings.rounds):
        tell = bench.step(f"{operation.title}, round {number + 1}", len(trees))
        for done, served in enumerate(trees):
            rounds[served.name].seen.append(await _round(bench, operation, served, number, count))
            tell(done + 1)
        if peer and of_peer:
            of_peer.seen.append(await _peer_round(operation, peer, number, count))
    results = [one.result() for one in rounds.values()]
    if of_peer:
        theirs = of_peer.result(" (node and Redis; the answer comes before the disk)")
        results = [_beside(one, theirs) for one in results] + [theirs]
    return results


def _title(operation: Operation, served: Served, trees: Sequence[Served]) -> str:
    return operation.title if len(trees) == 1 else f"{operation.title}: {served.name}"


def _beside(ours: Result, theirs: Result) -> Result:
    """Ours with the peer's rate as the ceiling."""
    return replace(ours, of_ceiling=(ours.rate or 0) / (theirs.rate or 1))


async def _round(bench: Bench, operation: Operation, served: Served, number: int, count: int) -> Round:
    requests = operation.requests(served, f"k{number}-{uuid4().hex[:6]}", count)
    await served.load.ask(operation.requests(served, f"w{number}-{uuid4().hex[:6]}", WARM_UP * operation.factor))
    await served.settle()
    meter = Meter(served.sql, bench.postmaster, [served.pid])
    before, began = await meter.read(), time.monotonic()
    await served.load.ask(requests, operation.callers)
    seconds = time.monotonic() - began
    return Round(seconds, await meter.read() - before)


async def _peer_round(operation: Operation, peer: HttpPeer, number: int, count: int) -> Round:
    make = bulk if operation is BULK_TRIGGERS else lambda prefix, many: [trigger(prefix, one) for one in range(many)]
    load = HttpLoad(peer.url, KEY)
    await load.ask(make(f"w{number}", WARM_UP * operation.factor))
    requests = make(f"k{number}-{os.getpid()}", count)
    before, began = _peer_cost(peer), time.monotonic()
    await load.ask(requests, operation.callers)
    return Round(time.monotonic() - began, _peer_cost(peer) - before)


def _peer_cost(peer: HttpPeer) -> Cost:
    """Its node where we have Python, and its Redis where we have PostgreSQL."""
    return Cost(cpu_seconds([peer.node_pid]), cpu_seconds([peer.redis_pid]), 0)
