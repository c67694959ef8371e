"""Temporary databases: created with every table, and dropped again. Reached from testing/scratch.py.

A name cannot be a parameter of `create database`, so these few statements are built here, from names made here.
"""

import secrets
from datetime import datetime
from hashlib import sha256
from urllib.parse import urlsplit, urlunsplit

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.storage.database import Database, Tx
from tidings.storage.migrate import migrate, migrations
from tidings.storage.statements import load

_SQL = load("scratch")
PREFIX = "tidings_scratch"


async def make_scratch_database(server: str, *, shards: int) -> str:
    """Create a database with every table on a server, and return its address.

    The first one leaves a template behind, of which all others are copies: migrating takes ten times as long.
    """
    name = f"{PREFIX}_{secrets.token_hex(8)}"
    db = await Database.open(server, connections=1)
    try:
        async with db.autocommit() as tx:
            await tx.fetch(_SQL["lock_scratch"])
            template = await _ensure_template(tx, server, shards)
            await tx.run_script(f"create database {name} template {template}")
    finally:
        await db.close()
    return _with_database(server, name)


async def drop_scratch_database(server: str, url: str) -> None:
    """Drop a database that was made here, even while it has connections."""
    name = urlsplit(url).path.removeprefix("/")
    if not name.startswith(f"{PREFIX}_"):
        raise AssertionError(f"{name} was not made to be dropped")
    db = await Database.open(server, connections=1)
    try:
        async with db.autocommit() as tx:
            await tx.run_script(f"drop database if exists {name} with (force)")
    finally:
        await db.close()


async def next_run_due(tx: Tx, *, shard: Shard, soon: datetime) -> datetime | None:
    """When a run has something to do next; one that would only look again is not due before `soon`."""
    row = await tx.fetch_one(_SQL["next_run_due"], shard=shard, lane=Lane.RUNS, soon=soon)
    return row["due_at"] if row else None


async def _ensure_template(tx: Tx, server: str, shards: int) -> str:
    """Create the template of this code's tables if need be; under another name first: no half-made one is copied."""
    name = f"{PREFIX}_template_{tables_of(shards)}"
    if await tx.fetch_one(_SQL["find_database"], name=name):
        return name
    draft = f"{PREFIX}_draft_{secrets.token_hex(8)}"
    await tx.run_script(f"create database {draft}")
    db = await Database.open(_with_database(server, draft), connections=1)
    try:
        await migrate(db, shards=shards)
    finally:
        await db.close()
    await tx.run_script(f"alter database {draft} rename to {name}")
    return name


def tables_of(shards: int) -> str:
    """A name for the tables of this code with so many shards: another version has another template."""
    every = b"".join(one.checksum for one in migrations())
    return sha256(every + str(shards).encode()).hexdigest()[:16]


def _with_database(server: str, name: str) -> str:
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
