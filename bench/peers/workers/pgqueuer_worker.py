"""PgQueuer: asyncpg and uvloop, a connection of its own for the manager, large batches for short jobs."""

import json

import asyncpg
import uvloop
from message_log import DATABASE_URL, open_pool, payloads, print_remaining, print_seconds, run_verb, send_message
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

DEQUEUE_BATCH = 100
CONCURRENT_TASKS = 200
HANDLER_CONNECTIONS = 20
ENQUEUE_BATCH = 1000


async def enqueue() -> None:
    queries = Queries(AsyncpgDriver(await asyncpg.connect(DATABASE_URL)))
    await queries.install()
    await queries.optimize_autovacuum()
    await print_seconds(enqueue_all(queries))


async def enqueue_all(queries: Queries) -> None:
    waiting = [json.dumps(payload).encode() for payload in payloads()]
    for first in range(0, len(waiting), ENQUEUE_BATCH):
        batch = waiting[first : first + ENQUEUE_BATCH]
        await queries.enqueue(["send"] * len(batch), batch, [0] * len(batch))


async def work() -> None:
    pool = await open_pool(HANDLER_CONNECTIONS)
    pgq = PgQueuer.from_asyncpg_connection(await asyncpg.connect(DATABASE_URL))

    @pgq.entrypoint("send")
    async def send(job: Job) -> None:
        await send_message(pool, **json.loads(job.payload))

    await pgq.run(batch_size=DEQUEUE_BATCH, max_concurrent_tasks=CONCURRENT_TASKS)


async def remaining() -> None:
    # A job leaves the table when it completes.
    await print_remaining("select count(*) from pgqueuer")


if __name__ == "__main__":
    uvloop.run(run_verb({"enqueue": enqueue, "work": work, "remaining": remaining}))
