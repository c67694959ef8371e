"""Procrastinate: asynchronous tasks, 30 sub-workers on a pool of one connection more, jobs deferred in batches."""

import logging

import uvloop
from message_log import DATABASE_URL, open_pool, payloads, print_remaining, print_seconds, run_verb, send_message
from procrastinate import App, JobContext, PsycopgConnector

CONCURRENCY = 30
HANDLER_CONNECTIONS = 10
DEFER_BATCH = 1000

app = App(connector=PsycopgConnector(conninfo=DATABASE_URL, min_size=CONCURRENCY + 1, max_size=CONCURRENCY + 1))


@app.task(name="send", queue="messages", pass_context=True)
async def send(context: JobContext, key: str, email: str, name: str) -> None:
    await send_message(context.additional_context["pool"], key, email, name)


async def enqueue() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await print_seconds(defer_all())


async def defer_all() -> None:
    waiting = list(payloads())
    for first in range(0, len(waiting), DEFER_BATCH):
        await send.batch_defer_async(*waiting[first : first + DEFER_BATCH])


async def work() -> None:
    pool = await open_pool(HANDLER_CONNECTIONS)
    async with app.open_async():
        await app.run_worker_async(queues=["messages"], concurrency=CONCURRENCY, additional_context={"pool": pool})


async def remaining() -> None:
    await print_remaining("select count(*) from procrastinate_jobs where status <> 'succeeded'")


if __name__ == "__main__":
    logging.disable(logging.INFO)  # two lines for each job are not what is measured
    uvloop.run(run_verb({"enqueue": enqueue, "work": work, "remaining": remaining}))
