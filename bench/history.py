"""A database with so many finished messages in it: some thousand by the kernel, and copies of their rows by SQL.

The kernel starts and sends the models; every tenth is for a contact. Their rows are set aside and the tables emptied,
so that copies of all times before them can be written in the order of time, as a year of work would have done.
`tests/bench/test_growth.py` compares a copy with what the kernel wrote, column by column.

Pages are filled as the kernel fills them. It fills them with rows as they begin, which are shorter than they end;
copies of their ends, filled as far, would leave room for one more beginning on every eighth page, and what is sent
afterwards would go there, each to a page of its own.
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
OPTIONS = "select array_to_string(reloptions, ', ') from pg_class where oid = $1::text::regclass"
FILLFACTOR = """
select greatest(10, ceil(100 * (select reltuples / relpages from pg_class where oid = $1::text::regclass)
                * (select avg(pg_column_size(t) + 8) from {} t) / current_setting('block_size')::integer))::integer
"""
"""How full pages are that hold as many rows as the kernel has put there, with their line pointers and alignment."""


async def make_history(fresh: Fresh, messages: int, tell: Tell = lambda _: None) -> None:
    """Fill an empty database with so many finished messages, or a few more: whole copies of all models."""
    await send_models(fresh)
    await fresh.sql.execute("vacuum analyze")
    full = {table: await fresh.sql.fetchval(FILLFACTOR.format(table), table) for table in TABLES}
    for table in TABLES:
        await fresh.sql.execute(f"create table public.model_{table} as table {table}")
    await fresh.sql.execute(f"truncate {', '.join(TABLES)}, queue, execution_log, attempts, audit_log")
    copies = -(-messages // MODELS)
    done = dict.fromkeys(TABLES, 0)

    def told(table: str, count: int) -> None:
        done[table] = count
        tell(min(done.values()) * MODELS)

    await asyncio.gather(*(_fill(fresh, table, full[table], copies, told) for table in TABLES))
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


async def _fill(fresh: Fresh, table: str, full: int, copies: int, told: Callable[[str, int], None]) -> None:
    """Write a table's copies, oldest first, over a connection of its own."""
    sql = await connect(fresh.dsn)
    await sql.execute("set synchronous_commit = off")
    usual = await sql.fetchval(OPTIONS, table)
    await sql.execute(f"alter table {table} set (fillfactor = {full})")
    try:
        for first in range(-copies, 0, AT_ONCE):
            last = min(first + AT_ONCE, 0) - 1
            await copy_rows(sql, table, Copies(first, last, STEP), of=f"public.model_{table}")
            told(table, copies + last + 1)
    finally:
        await sql.execute(f"alter table {table} set ({usual})")
        await sql.close()
