"""The peers: what each is, how it is configured, and which page of its documentation says so."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from bench.peers.installing import (
    PEERS,
    find_program,
    install_node,
    install_python,
    install_redis,
    pinned_version,
    redis_version,
)
from bench.peers.redis_server import TemporaryRedis


@dataclass(frozen=True, slots=True)
class Ready:
    """A peer that can run: the command that takes a verb, and what it needs in its environment."""

    command: list[str]
    environ: dict[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Peer:
    """One peer and what a reader must know to judge its figures."""

    key: str
    name: str
    version: str
    items: int
    note: str
    prepare: Callable[[], AbstractAsyncContextManager[Ready]]


def _python_peer(script: str) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    @asynccontextmanager
    async def prepare() -> AsyncIterator[Ready]:
        python = await install_python()
        yield Ready([str(python), str(PEERS / "workers" / script)], {})

    return prepare


@asynccontextmanager
async def _prepare_bullmq() -> AsyncIterator[Ready]:
    home = await install_node()
    command = await install_redis()
    version = await redis_version(command)
    async with TemporaryRedis(command) as redis:
        script = [find_program("node"), str(home / "peer.mjs")]
        yield Ready(script, {"REDIS_PORT": str(redis.port)}, f"; Redis {version}")


def _bullmq_version() -> str:
    version: str = json.loads((PEERS / "bullmq" / "package.json").read_text())["dependencies"]["bullmq"]
    return version


CATALOGUE = (
    # docs.bullmq.io: guide/workers/concurrency (50, and several processes), guide/going-to-production (AOF once a
    # second, noeviction), guide/workers/auto-removal-of-jobs (keep 1,000), guide/queues/adding-bulks;
    # node-postgres.com: features/queries (named statements), features/pooling.
    Peer(
        "bullmq",
        "BullMQ",
        _bullmq_version(),
        10_000,
        "concurrency 50, pg pool of 20, prepared statements, addBulk; Redis AOF everysec: a power failure may lose the "
        "last second of jobs and completions, PostgreSQL loses none",
        _prepare_bullmq,
    ),
    # procrastinate.readthedocs.io: howto/production/concurrency (30), discussions "Mind the size of your PostgreSQL
    # pool" (concurrency plus one for short jobs), howto/basics/batch_defer.
    Peer(
        "procrastinate",
        "Procrastinate",
        pinned_version("procrastinate"),
        5_000,
        "async tasks, concurrency 30, psycopg pool of 31, log rows by an asyncpg pool of 10, batch_defer; durable as "
        "PostgreSQL is",
        _python_peer("procrastinate_worker.py"),
    ),
    # pgqueuer.readthedocs.io: guides/performance-tuning (larger batches for short jobs, twice as many tasks, a
    # connection of its own for the manager, autovacuum settings, durable), comparisons/benchmarks (asyncpg, uvloop).
    Peer(
        "pgqueuer",
        "PgQueuer",
        pinned_version("pgqueuer"),
        10_000,
        "asyncpg, uvloop, batches of 100, 200 tasks, tuned autovacuum, log rows by an asyncpg pool of 20, batch "
        "enqueue; durable as PostgreSQL is, completions written in batches within 0.1 s",
        _python_peer("pgqueuer_worker.py"),
    ),
    # docs.dbos.dev: python/tutorials/queue-tutorial (worker concurrency, a distinct executor_id),
    # python/reference/queues (polling interval), python/tutorials/step-tutorial, python/reference/client.
    Peer(
        "dbos",
        "DBOS",
        pinned_version("dbos"),
        3_000,
        "queue with worker concurrency 100 polled each 50 ms, async workflows of two checkpointed steps, system pool "
        "of 20, log rows by an asyncpg pool of 20, enqueued in transactions of 1,000; durable as PostgreSQL is",
        _python_peer("dbos_worker.py"),
    ),
)
