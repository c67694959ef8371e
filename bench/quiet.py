"""What a worker costs while nothing is due: CPU time, and queries a minute."""

import asyncio
import time
from collections.abc import AsyncIterator

from bench.bench import Bench
from bench.database import Fresh, connect
from bench.proc import cpu_seconds, resident_bytes
from bench.report import Result
from bench.workers import Workers
from tidings.embedded import TemporaryServer

COUNTING = {"shared_preload_libraries": "pg_stat_statements"}
QUERIES = """
select coalesce(sum(s.calls), 0)::bigint from pg_stat_statements s join pg_database d on d.oid = s.dbid
 where d.datname = $1
"""


async def measure_quiet(bench: Bench) -> AsyncIterator[Result]:
    """Watch one worker on an empty queue, on a server of its own that counts what it is asked.

    The server of the other measurements does not count: it would cost them something. Transactions, which every server
    counts, are too few to tell from autovacuum's.
    """
    seconds = bench.settings.quiet_seconds
    bench.step("an idle worker: starting", None)
    async with TemporaryServer(settings=COUNTING) as server:
        outside = await connect(server.dsn)
        await outside.execute("create extension pg_stat_statements schema public")
        async with Fresh(server.dsn) as fresh, Workers(fresh, 1) as workers:
            before = await outside.fetchval(QUERIES, fresh.name), cpu_seconds(workers.pids)
            await _watch(bench, seconds)
            after = await outside.fetchval(QUERIES, fresh.name), cpu_seconds(workers.pids)
            memory = resident_bytes(workers.pids)
        await outside.close()
    queries, cpu = (late - early for late, early in zip(after, before, strict=True))
    yield _result(seconds, queries * 60 / seconds, cpu, memory)


async def _watch(bench: Bench, seconds: float) -> None:
    tell = bench.step("an idle worker", int(seconds))
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        tell(int(passed))
        await asyncio.sleep(min(0.5, seconds - passed))


def _result(seconds: float, queries_per_minute: float, cpu: float, memory: int) -> Result:
    return Result(
        "idle",
        f"an idle worker, {seconds:g} s",
        processes=1,
        note=f"{cpu / seconds:.2%} of a core, {queries_per_minute:.0f} queries a minute, {memory / 1e6:.0f} MB",
        seen={
            "seconds": seconds,
            "cpu_seconds": cpu,
            "queries_per_minute": queries_per_minute,
            "resident_bytes": memory,
        },
    )
