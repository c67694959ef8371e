"""Copies of rows that the kernel wrote, as many as a measurement or a test of large tables needs.

What the kernel leaves of a message is made once by the kernel and then repeated by SQL, some hundred thousand rows in a
second. The columns come from the catalogue and every value from the row itself, so that nothing here says what a row is
like. A copy differs from it in what must differ: each id and each time is moved by some milliseconds, whatever must be
unique has the copy's number in it, and what refers to a row refers to the copy of that row. Definitions (workflows,
campaigns and the like) are shared by all copies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import asyncpg

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
COLUMNS = """
select attname::text as name, format_type(atttypid, null) as type
  from pg_attribute
 where attrelid = $1::text::regclass and attnum > 0 and not attisdropped and attgenerated = ''
 order by attnum
"""
# An id keeps its bucket, and with it its shard.
LATER_ID = """
create or replace function pg_temp.later(id uuid, milliseconds bigint) returns uuid
    language sql immutable strict
    return (lpad(to_hex(('x' || left(translate(id::text, '-', ''), 12))::bit(48)::bigint + milliseconds), 12, '0')
            || substr(translate(id::text, '-', ''), 13))::uuid
"""
SHARED = {"workflow_id", "version_id", "campaign_id"}
"""Ids of definitions."""
NEW_KEY = "sha256({} || int8send(n))"
"""A hash that nothing is read from."""
OF_THEIR_OWN = {
    # The bucket of an external id that is an id is the one inside it.
    ("contacts", "external_id"): "pg_temp.later(t.id, n * {step})::text",
    ("suppressed_addresses", "hash"): "substr(t.hash, 1, 2) || substr(sha256(t.hash || int8send(n)), 3)",
}
BY_NAME = {
    # As long as it was, where there is room for a number in front.
    "idempotency_key": {
        "text": "lpad(to_hex(n), 8, '0') || case when length({0}) > 8 then substr({0}, 9) else {0} end",
        "bytea": NEW_KEY,
    }
}


@dataclass(frozen=True, slots=True)
class Copies:
    """Which copies of a row to make: numbers `first` to `last`, each so many milliseconds after the one before."""

    first: int
    last: int
    step: int = 1


async def copy_rows(sql: Sql, table: str, copies: Copies, *, of: str = "true") -> None:
    """Add copies of those rows of a table for which `of` holds, in the order of their ids."""
    columns = [(row["name"], row["type"]) for row in await sql.fetch(COLUMNS, table)]
    await sql.execute(LATER_ID)
    await sql.execute(insert(table, columns, copies, of))


def insert(table: str, columns: Sequence[tuple[str, str]], copies: Copies, of: str) -> str:
    """The statement that makes copies."""
    names = ", ".join(name for name, _ in columns)
    values = ", ".join(copied(table, name, kind, copies.step) for name, kind in columns)
    return (
        f"insert into {table} ({names}) select {values} from generate_series({copies.first}, {copies.last}) n"
        f" cross join (select * from {table} where {of}) t order by n"
    )


def copied(table: str, name: str, kind: str, step: int) -> str:
    """What a copy has in a column."""
    column = f"t.{name}"
    if own := OF_THEIR_OWN.get((table, name)) or BY_NAME.get(name, {}).get(kind):
        return own.format(column, step=step)
    if kind == "uuid" and name not in SHARED:
        return f"pg_temp.later({column}, n * {step})"
    if kind == "timestamp with time zone":
        return f"{column} + n * interval '{step} milliseconds'"
    return column
