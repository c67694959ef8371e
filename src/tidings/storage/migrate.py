"""Bring a database to this code's tables, and refuse one that it must not use.

Migrations are numbered SQL files, of which the first is schema.sql until 0.1.0; those that are missing commit together
with their checksums, under one advisory lock, so several processes may start at once.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from tidings.domain.errors import ConfigInvalid, SchemaMismatch, StorageUnavailable, StorageUnsafe
from tidings.storage.clock import database_time
from tidings.storage.database import Database, TransientFailure, Tx
from tidings.storage.rights import Rights, read_rights, set_rights
from tidings.storage.statements import load

_SQL = load("migrate")
OLDEST_SERVER = 140000
DEFAULT_SHARDS = 4
MOST_TRIES = 5
INITIAL = "0001_initial.sql"
SHARD_CHOICES = tuple(2**power for power in range(13))


@dataclass(frozen=True, slots=True)
class Migration:
    """One step, as this code has it."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> bytes:
        """The checksum that proves that an applied migration is this one."""
        return sha256(self.text.encode()).digest()


@dataclass(frozen=True, slots=True)
class SchemaState:
    """Which migrations a database has, and which it lacks."""

    applied: tuple[str, ...]
    pending: tuple[Migration, ...]


def migrations() -> Sequence[Migration]:
    """Every migration of this code, in order.

    Until 0.1.0 freezes the first as a file of its own, it is schema.sql, so that the tables are written only once.
    """
    storage = files("tidings.storage")
    numbered = {file.name: file for file in storage.joinpath("migrations").iterdir() if file.name.endswith(".sql")}
    every = {INITIAL: storage.joinpath("schema.sql")} | numbered
    return [Migration(int(name[:4]), name.removesuffix(".sql"), every[name].read_text()) for name in sorted(every)]


async def migrate(db: Database, *, shards: int = DEFAULT_SHARDS, forced: bool = False) -> Sequence[str]:
    """Apply the missing migrations, and give roles their rights; return the names of those applied.

    `forced` forces row security from now on; without it what the database has stays.
    """
    if shards not in SHARD_CHOICES:
        raise ConfigInvalid(f"{shards} shards: use a power of two from 1 to 4096")
    if await is_complete(db, forced=forced):
        return []  # every process asks when it starts, and would block others with locks for nothing
    for _ in range(MOST_TRIES - 1):
        with suppress(TransientFailure):  # running workers may hold locks that it needs; nothing was changed
            return await _migrate(db, shards, forced)
    return await _migrate(db, shards, forced)


async def is_complete(db: Database, *, forced: bool = False) -> bool:
    """Whether nothing is left to migrate, and every role has its rights as far as ours may give them."""
    if (await schema_state(db)).pending:
        return False
    rights = await rights_of(db)
    return rights is not None and (rights.are_complete(forced=forced) or not rights.is_owner)


async def rights_of(db: Database) -> Rights | None:
    """What our role may do; None where there are no tables."""
    async with db.autocommit() as tx:
        return await read_rights(tx)


async def _migrate(db: Database, shards: int, forced: bool) -> list[str]:
    applied: list[str] = []
    async with db.transaction(may_be_long=True) as tx:
        await tx.run_script(_SQL["lock_migrations"].text)  # as long as another's migration takes
        await _is_initialised(tx)
        await tx.fetch(_SQL["create_schema"])
        await tx.fetch(_SQL["create_migrations"])
        await tx.fetch(_SQL["set_shard_count"], shards=str(shards))
        await tx.fetch(_SQL["create_shard_count"])
        for migration in (await _compare(tx)).pending:
            await tx.run_script(migration.text)
            await tx.fetch(
                _SQL["record_migration"],
                number=migration.number,
                name=migration.name,
                checksum=migration.checksum,
                now=await database_time(tx),
            )
            applied.append(migration.name)
        rights = await read_rights(tx)
        await set_rights(tx, forced=forced or (rights is not None and rights.is_forced))
    return applied


async def schema_state(db: Database) -> SchemaState:
    """Compare a database with this code; changes nothing."""
    async with db.transaction(may_be_long=True) as tx:
        if not await _is_initialised(tx):
            return SchemaState((), tuple(migrations()))
        return await _compare(tx)


async def require_current(db: Database) -> None:
    """Refuse a database whose tables are not this code's."""
    state = await schema_state(db)
    if state.pending:
        names = ", ".join(migration.name for migration in state.pending)
        missing = f"the database lacks {names}" if state.applied else "the database has no tables of Tidings yet"
        raise SchemaMismatch(f"{missing}; run 'tidings db migrate'")


async def require_safe(db: Database, *, allow_unsafe: bool = False) -> None:
    """Refuse a server that is too old, or that may forget what it acknowledged."""
    async with db.autocommit() as tx:
        row = await tx.fetch_one(_SQL["read_safety"])
    if row is None:
        raise AssertionError("a select without from has one row")
    if row["version"] < OLDEST_SERVER:
        raise StorageUnavailable(f"PostgreSQL {row['version_name']} is too old; Tidings needs 14 or newer")
    off = [name for name in ("fsync", "synchronous_commit", "full_page_writes") if row[name] == "off"]
    if off and not allow_unsafe:
        raise StorageUnsafe(
            f"PostgreSQL runs with {' and '.join(f'{name}=off' for name in off)}: it may forget what it acknowledged, "
            "and people would be written to twice; turn it on, or set TIDINGS_ALLOW_UNSAFE_STORAGE=true to go ahead"
        )


async def read_shard_count(db: Database) -> int:
    """How many shards this database was initialised with."""
    async with db.autocommit() as tx:
        row = await tx.fetch_one(_SQL["read_shard_count"])
    return row["shards"] if row else 0


async def require_rights(db: Database, *, forced: bool = False) -> None:
    """Refuse a role from which row-level security hides rows: a worker would see no work, and no error either."""
    rights = await rights_of(db)
    if rights is not None:
        rights.require_usable(forced=forced)


async def change_row_security(db: Database, *, forced: bool) -> None:
    """Force row security on our own roles, or lift it; our role owns the tables."""
    async with db.transaction(may_be_long=True) as tx:
        await tx.run_script(_SQL["lock_migrations"].text)
        await set_rights(tx, forced=forced)


async def reset(db: Database) -> None:
    """Remove everything Tidings owns in this database."""
    async with db.transaction(may_be_long=True) as tx:
        await tx.fetch(_SQL["lock_migrations"])
        await _is_initialised(tx)
        await tx.fetch(_SQL["drop_schema"])


async def _is_initialised(tx: Tx) -> bool:
    """Whether Tidings made the schema of its name; refuse one that somebody else made."""
    row = await tx.fetch_one(_SQL["find_schema"])
    if row is None:
        raise AssertionError("a select from one row has one row")
    if row["another_s"]:
        raise SchemaMismatch(
            f"the database has a schema tidings that Tidings did not make: it holds {row['another_s']}; "
            "use another database, or rename that schema"
        )
    return bool(row["initialised"])


async def _compare(tx: Tx) -> SchemaState:
    rows = {row["number"]: row for row in await tx.fetch(_SQL["applied_migrations"])}
    known = {migration.number: migration for migration in migrations()}
    if 1 in rows and rows[1]["checksum"] != known[1].checksum:
        # The first migration never changes from 0.1.0 on, so an older version made this database.
        raise SchemaMismatch(
            "the database was made by a Tidings before 0.1.0, and its tables cannot be brought up to date; use a new "
            "database, or remove everything in this one with 'tidings db reset', and import your data anew"
        )
    newer = [row["name"] for number, row in rows.items() if number not in known]
    if newer:
        raise SchemaMismatch(
            f"the database has {', '.join(newer)}, which this Tidings does not know; install a newer Tidings"
        )
    for number, row in rows.items():
        if row["checksum"] != known[number].checksum:
            raise SchemaMismatch(
                f"migration {row['name']} in the database differs from this code's; install the Tidings that made it"
            )
    pending = tuple(migration for number, migration in known.items() if number not in rows)
    return SchemaState(tuple(row["name"] for row in rows.values()), pending)
