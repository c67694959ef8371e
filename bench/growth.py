"""What history costs: the same work on databases with more and more finished messages in them.

At each size, after a vacuum and a checkpoint: one by one triggers, items through a worker, and what people ask for.
The first turn shows the pages that a checkpoint makes PostgreSQL log whole. Then much more is sent, as between two
checkpoints, so that the turns after it are in the middle of a cycle; no checkpoint and no autovacuum begins meanwhile.
Of several turns the one with the least CPU counts: a busy machine only adds to it. `history.py` says how the messages
come about; each size is a database of its own.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from bench.bench import Bench
from bench.contacts import BY, WORKSPACE, line
from bench.database import STORE_AT_ONCE, Fresh, Sql, person
from bench.growth_aims import AFTER_CHECKPOINT, MID_CYCLE, judge
from bench.growth_plot import draw
from bench.history import make_history
from bench.importing import HEADER
from bench.meter import Meter
from bench.report import Result
from bench.settings import RESULTS
from bench.workers import Workers
from tidings.domain.people.contact_file import ContactFile, FileFormat
from tidings.engine import Trigger

CALLERS = 10
TURNS = 4
"""The first right after a checkpoint, the others in the middle of a cycle."""
SIZE = """
select sum(pg_total_relation_size(t::regclass))::bigint from unnest(array['executions', 'outbox']) as t
"""
# For as long as it is measured: neither may begin in the middle of a turn.
UNDISTURBED = {"checkpoint_timeout": "1d", "max_wal_size": "64GB", "autovacuum": "off"}


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn's work of a kind on one database."""

    fresh: Fresh
    workers: Workers
    number: int
    chosen: Sequence[UUID] = ()
    """What is read or erased; found before the clock starts."""

    async def trigger(self, count: int) -> int:
        """Start executions, each with a call of its own."""
        left = iter(range(count))

        async def caller() -> None:
            for number in left:
                await self.fresh.engine.trigger("one", person(number), uuid4().hex)

        await asyncio.gather(*(caller() for _ in range(CALLERS)))
        return count

    async def send(self, count: int) -> int:
        """Have the worker send what was started."""
        self.workers.thaw()
        await self.fresh.until_done()
        self.workers.freeze()
        return count

    async def get(self, count: int) -> int:
        """Read executions, each by its id."""
        for number in range(count):
            await self.fresh.engine.executions.get(WORKSPACE, self.chosen[number % len(self.chosen)])
        return count

    async def list_pages(self, count: int) -> int:
        """Read first pages: executions, and what was sent."""
        pages = max(count // 20, 2)
        for _ in range(pages // 2):
            await self.fresh.engine.executions.list(WORKSPACE)
            await self.fresh.engine.outbox.list(WORKSPACE)
        return pages

    async def import_contacts(self, count: int) -> int:
        """Import as many new contacts from a file."""
        first = 10_000_000 + self.number * count

        async def pieces() -> AsyncIterator[bytes]:
            yield HEADER
            yield b"".join(line(number) for number in range(first, first + count))

        await self.fresh.engine.contacts.import_file(BY, ContactFile(FileFormat.CSV), pieces())
        return count

    async def erase(self, count: int) -> int:
        """Delete contacts with all that is about them."""
        for id in self.chosen[: count // 20]:
            await self.fresh.engine.contacts.delete(BY, id)
        return count // 20

    async def some(self, table: str, where: str, count: int) -> Sequence[UUID]:
        """Ids from all over a table."""
        rows = await self.fresh.sql.fetchval("select reltuples from pg_class where oid = $1::text::regclass", table)
        share = min(100, 400 * count / max(rows, 1))
        found = await self.fresh.sql.fetch(
            f"select id from {table} tablesample bernoulli ({share:.6f}) where {where} limit $1", count
        )
        return [row["id"] for row in found]


Work = Callable[[Turn, int], Awaitable[int]]
KINDS: Mapping[str, Work] = {
    "trigger": Turn.trigger,
    "item": Turn.send,
    "GET": Turn.get,
    "page of a list": Turn.list_pages,
    "imported contact": Turn.import_contacts,
    "erased contact": Turn.erase,
}
CHOSEN = {"GET": ("executions", "true"), "erased contact": ("contacts", "deleted_at is null")}
"""The table from which ids are chosen, and which of its rows."""


async def measure_growth(bench: Bench) -> AsyncIterator[Result]:
    """Every size in turn, then what they come to beside the aims, and the curve."""
    seen: list[Result] = []
    for millions in bench.settings.millions:
        results = await _measure_size(bench, millions)
        seen += results
        for result in results:
            yield result
    for verdict in judge(seen):
        yield verdict
    (RESULTS / "growth.svg").write_text(draw(seen))


async def _measure_size(bench: Bench, millions: float) -> list[Result]:
    messages = round(millions * 1e6)
    async with Fresh(bench.dsn) as fresh:
        if messages:
            await make_history(fresh, messages, bench.step(f"{messages:,} messages: writing them", messages))
        size = await fresh.sql.fetchval(SIZE)
        bench.step(f"{messages:,} messages: measuring", None)
        async with Workers(fresh, 1) as workers, _undisturbed(fresh.sql):
            workers.freeze()
            await fresh.settle()
            turns = [await _measure_turn(bench, Turn(fresh, workers, 0))]
            await _go_on(Turn(fresh, workers, 0), bench.settings.growth_between)
            turns += [await _measure_turn(bench, Turn(fresh, workers, number)) for number in range(1, TURNS)]
    moments = {AFTER_CHECKPOINT: turns[:1], MID_CYCLE: turns[1:]}
    each = size / messages if messages else None
    return [_told(turns, kind, when, millions, each) for kind in KINDS for when, turns in moments.items()]


def _told(turns: Sequence[Mapping[str, Result]], kind: str, when: str, millions: float, each: float | None) -> Result:
    """The turn with the least CPU, with what it was about."""
    best = min((turn[kind] for turn in turns), key=lambda one: one.postgres_us or 0)
    note = f"{each:,.0f} bytes a message on disk" if each and kind == "item" else ""
    about = {"millions": millions, "kind": kind, "when": when, "bytes": each}
    return replace(best, what=f"{kind}, {millions:g} million, {when}", note=note, seen=about)


async def _go_on(turn: Turn, count: int) -> None:
    """Start and send so many more."""
    for first in range(0, count, STORE_AT_ONCE):
        some = range(first, min(first + STORE_AT_ONCE, count))
        await turn.fresh.engine.trigger_many("one", [Trigger(uuid4().hex, person(number)) for number in some])
    await turn.send(count)


async def _measure_turn(bench: Bench, turn: Turn) -> dict[str, Result]:
    return {kind: await _measure(bench, turn, kind, work) for kind, work in KINDS.items()}


async def _measure(bench: Bench, turn: Turn, kind: str, work: Work) -> Result:
    count = bench.settings.growth_items
    if kind in CHOSEN:
        turn = replace(turn, chosen=await turn.some(*CHOSEN[kind], count))
    if kind == "item":  # beside what was triggered one by one
        await turn.fresh.engine.trigger_many("one", [Trigger(uuid4().hex, person(n)) for n in range(count)])
        count += count
    meter = Meter(turn.fresh.sql, bench.postmaster, [os.getpid(), *turn.workers.pids])
    before, began = await meter.read(), time.monotonic()
    done = await work(turn, count)
    seconds, cost = time.monotonic() - began, await meter.read() - before
    return Result("growth", kind, 1, done, seconds, **cost.for_each(done))


@asynccontextmanager
async def _undisturbed(sql: Sql) -> AsyncIterator[None]:
    for name, value in UNDISTURBED.items():
        await sql.execute(f"alter system set {name} = '{value}'")
    await sql.execute("select pg_reload_conf()")
    try:
        yield
    finally:
        for name in UNDISTURBED:
            await sql.execute(f"alter system reset {name}")
        await sql.execute("select pg_reload_conf()")
