"""DBOS: a queue of workflows of two steps, the reservation and the send with its mark.

A datasource transaction in place of each step would give exactly-once rows; the rows are idempotent by their key
already, and steps were about twice as fast in every pair that was measured.
"""

import asyncio
import os
import threading
import time

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig, EnqueueOptions
from message_log import (
    DATABASE_URL,
    FINISH,
    RESERVE,
    Message,
    compose,
    null_send,
    open_pool,
    payloads,
    print_remaining,
    run_verb,
)

NAME = "peer-bench"
VERSION = "1"
QUEUE = "messages"
# Each poll fills a worker up to its concurrency, so that together they set the ceiling: 100 each 50 ms is 2,000/s.
WORKER_CONCURRENCY = 100
POLLING_SECONDS = 0.05
CONNECTIONS = 20
ENQUEUE_BATCH = 1000
SQLALCHEMY_URL = DATABASE_URL.replace("postgresql://", "postgresql+psycopg://")

# Opened by the first step, because its connections belong to the event loop that DBOS runs workflows on.
_opening: list[asyncio.Task] = []


async def pool():
    if not _opening:
        _opening.append(asyncio.create_task(open_pool(CONNECTIONS)))
    return await _opening[0]


@DBOS.step()
async def reserve(message: Message) -> None:
    await (await pool()).execute(RESERVE, message.key, message.recipient, message.subject, message.body)


@DBOS.step()
async def deliver(message: Message) -> None:
    message_id = await null_send(message)
    await (await pool()).execute(FINISH, message.key, message_id)


@DBOS.workflow(name="send")
async def send(key: str, email: str, name: str) -> None:
    message = compose(key, email, name)
    await reserve(message)
    await deliver(message)


def launch() -> None:
    config: DBOSConfig = {
        "name": NAME,
        "application_version": VERSION,
        "executor_id": os.environ.get("WORKER", "enqueue"),
        "system_database_url": SQLALCHEMY_URL,
        "sys_db_pool_size": CONNECTIONS,
        "log_level": "WARNING",
    }
    DBOS(config=config)
    DBOS.launch()


def enqueue() -> None:
    # The launch makes the system tables; nothing is queued yet, so nothing is worked on before the workers start.
    launch()
    DBOS.destroy()
    client = DBOSClient(system_database_url=SQLALCHEMY_URL, application_name=NAME)
    client.register_queue(QUEUE, worker_concurrency=WORKER_CONCURRENCY, polling_interval_sec=POLLING_SECONDS)
    started = time.perf_counter()
    enqueue_all(client)
    print(time.perf_counter() - started)
    client.destroy()


def enqueue_all(client: DBOSClient) -> None:
    engine = sqlalchemy.create_engine(SQLALCHEMY_URL)
    options: EnqueueOptions = {"queue_name": QUEUE, "workflow_name": "send", "app_version": VERSION}
    waiting = list(payloads())
    for first in range(0, len(waiting), ENQUEUE_BATCH):
        with engine.begin() as connection:
            for payload in waiting[first : first + ENQUEUE_BATCH]:
                client.enqueue_in_transaction(connection, options, **payload)


def work() -> None:
    launch()
    threading.Event().wait()


def remaining() -> None:
    asyncio.run(print_remaining("select count(*) from dbos.workflow_status where status <> 'SUCCESS'"))


if __name__ == "__main__":
    run_verb({"enqueue": enqueue, "work": work, "remaining": remaining})
