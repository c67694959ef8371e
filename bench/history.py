"""A database with so many finished messages in it: some thousand by the kernel, and copies of their rows by SQL.

The kernel starts and sends the models; every tenth is for a contact. Their rows are set aside and the tables emptied,
so that copies of all times before them can be written in the order of time, as a year of work would have done.
`tests/bench/test_growth.py` compares a copy with what the kernel wrote, column by column.
"""

import asyncio
from collections.abc import Callable
from uuid import uuid4

from bench.contacts import BY
from bench.copies import Copies, copy_rows
from bench.database import Fresh, Tell, connect, person
from tidings.engine import Trigger

MODELS = 4_000
OF_CONTACTS = 10
"""One in so many models is for a contact."""
TABLES = ("executions", "outbox", "contacts")
STEP = 60_000
"""Milliseconds from one copy of a model to the next: longer than all models took."""
AT_ONCE = 10
"""Copies of every model in one statement."""


async def make_history(fresh: Fresh, messages: int, tell: Tell = lambda _: None) -> None:
    """Fill an empty database with so many finished messages, or a few more: whole copies of all models."""
    await send_models(fresh)
    for table in TABLES:
        await fresh.sql.execute(f"create table public.model_{table} as table {table}")
    await fresh.sql.execute(f"truncate {', '.join(TABLES)}, queue, execution_log, attempts, audit_log")
    copies = -(-messages // MODELS)
    done = dict.fromkeys(TABLES, 0)

    def told(table: str, count: int) -> None:
        done[table] = count
        tell(min(done.values()) * MODELS)

    await asyncio.gather(*(_fill(fresh, table, copies, told) for table in TABLES))
    for table in TABLES:
        await fresh.sql.execute(f"drop table public.model_{table}")


async def send_models(fresh: Fresh) -> None:
    """Have the kernel start and send the models."""
    people = [{"externalId": f"person-{n}", **person(n)} for n in range(MODELS // OF_CONTACTS)]
    await fresh.engine.contacts.upsert_many(BY, people)
    await fresh.engine.trigger_many("one", [_model(number) for number in range(MODELS)])
    await fresh.engine.work_everything()


def _model(number: int) -> Trigger:
    if number % OF_CONTACTS:
        return Trigger(uuid4().hex, person(number))
    return Trigger(uuid4().hex, person(number // OF_CONTACTS), f"person-{number // OF_CONTACTS}")


async def _fill(fresh: Fresh, table: str, copies: int, told: Callable[[str, int], None]) -> None:
    """Write a table's copies, oldest first, over a connection of its own."""
    sql = await connect(fresh.dsn)
    await sql.execute("set synchronous_commit = off")
    try:
        for first in range(-copies, 0, AT_ONCE):
            last = min(first + AT_ONCE, 0) - 1
            await copy_rows(sql, table, Copies(first, last, STEP), of=f"public.model_{table}")
            told(table, copies + last + 1)
    finally:
        await sql.close()
