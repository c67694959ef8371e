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
# What a key begins with may be where its owner's id begins, its time and its bucket: then a copy's begins there, too.
ALIKE = """
select coalesce(min((select count(*) from generate_series(1, 8) as bytes
                      where substr(idempotency_key, 1, bytes) = substr(uuid_send(owner), 1, bytes))), 0)
  from (select idempotency_key, coalesce(execution_id, run_id, event_id) as owner from {}) as keys
"""
TIME_BYTES, PLACE_BYTES = 6, 8
OF_THEIR_OWN = {
    # The bucket of an external id that is an id is the one inside it.
    ("contacts", "external_id"): "pg_temp.later(t.id, n * {step})::text",
    ("suppressed_addresses", "hash"): "substr(t.hash, 1, 2) || substr(sha256(t.hash || int8send(n)), 3)",
    **{
        (table, column): f"substr(sha256(t.{column} || int8send(n)), 1, 16)"
        for table, column in (("executions", "key_hash"), ("executions", "workspace_key_hash"), ("events", "key_hash"))
    },
}
NEW_TEXT = "encode(substr(sha256(convert_to({}, 'UTF8') || int8send(n)), 1, 16), 'hex')"
"""A key of 32 digits, anywhere in an index: callers choose theirs, and most are random."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Which copies of a row to make: numbers `first` to `last`, each so many milliseconds after the one before."""

    first: int
    last: int
    step: int = 1


async def copy_rows(sql: Sql, table: str, copies: Copies, *, of: str | None = None) -> None:
    """Add copies of the rows of a table, or of those of another with the same columns, in the order of their ids."""
    columns = [(row["name"], row["type"]) for row in await sql.fetch(COLUMNS, table)]
    alike = await sql.fetchval(ALIKE.format(of or table)) if table == "outbox" else 0
    await sql.execute(LATER_ID)
    await sql.execute(_insert(table, of or table, columns, copies, alike), timeout=3600)


def _insert(table: str, of: str, columns: Sequence[tuple[str, str]], copies: Copies, alike: int) -> str:
    names = ", ".join(name for name, _ in columns)
    values = ", ".join(_copied(table, name, kind, copies.step, alike) for name, kind in columns)
    numbers = f"generate_series({copies.first}::bigint, {copies.last}::bigint)"
    return f"insert into {table} ({names}) select {values} from {numbers} n cross join {of} t order by n"


def _copied(table: str, name: str, kind: str, step: int, alike: int) -> str:
    """What a copy has in a column."""
    column, later = f"t.{name}", f"n * {step}"
    if own := OF_THEIR_OWN.get((table, name)):
        return own.format(step=step)
    if name == "idempotency_key":
        return _new_key(later, alike) if kind == "bytea" else NEW_TEXT.format(column)
    if kind == "uuid" and name not in SHARED:
        return f"pg_temp.later({column}, {later})"
    if kind == "timestamp with time zone":
        return f"{column} + n * interval '{step} milliseconds'"
    return column


def _new_key(later: str, alike: int) -> str:
    """A hash of its own, after as much of the owner's id as the keys have."""
    fresh = "sha256(t.idempotency_key || int8send(n))"
    if alike < TIME_BYTES:
        return fresh
    owner = f"uuid_send(pg_temp.later(coalesce(t.execution_id, t.run_id, t.event_id), {later}))"
    place = (
        f"substr({owner}, 1, {TIME_BYTES}) || substr(t.idempotency_key, {TIME_BYTES + 1}, {PLACE_BYTES - TIME_BYTES})"
    )
    return f"{place} || substr({fresh}, {PLACE_BYTES + 1})"
