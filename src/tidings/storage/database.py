"""Access to PostgreSQL: a pool, transactions, and errors sorted into "try again" and "never"."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

import asyncpg

from tidings.domain.errors import StorageUnavailable
from tidings.log import log
from tidings.storage.acting import EVERYONE, ActingFor, acting_for, read_row_security, say_acting_for
from tidings.storage.address import checked_address, malformed, without_password
from tidings.storage.arrays import decode_json, encode_json, set_array_codecs
from tidings.storage.outage import BRIEF_SECONDS, Outage, is_hurried
from tidings.storage.planner import PLANNER_SETTINGS, PlansAnew
from tidings.storage.statements import Statement

Result = TypeVar("Result")
Row = asyncpg.Record

# Judged by SQLSTATE alone: connections, shutdowns, full resources, lost races, a transaction that was left idle, and
# what a cluster reports as internal.
_QUOTING_CLASSES = ("22", "23")
"""A value that does not fit, and a row that breaks a constraint."""
_TRANSIENT_CLASSES = ("08", "25P03", "25P04", "53", "57P", "40001", "40P01", "55P03", "25006", "XX000", "CIINF")
_LONGEST_BACKOFF_SECONDS = 2.0
TRANSACTION_SECONDS = 20
"""The longest a transaction of the kernel may take: none needs a second, but a frozen worker's would last for ever."""

_in_transaction: ContextVar[bool] = ContextVar("in_transaction", default=False)


class TransientFailure(StorageUnavailable):
    """The statement had no effect, or that is unknown; work that is safe to repeat is tried again."""

    code = "storage_transient"


class OutOfReach(TransientFailure):
    """The database is known to be out of reach, and the caller is in a hurry."""

    code = "storage_unavailable"


def assert_no_transaction() -> None:
    """Guard every provider call: no network inside a transaction (rule 15)."""
    if _in_transaction.get():
        raise AssertionError("a provider was about to be called inside a transaction")


class _Connection(PlansAnew):
    _acts_for = EVERYONE
    _is_forced = False

    def get_reset_query(self) -> str:
        return ""  # for whom a session acts is set before each use, and a reset is a round trip

    async def learn_row_security(self) -> None:
        """Ask once for each connection whether the database forces row security."""
        self._is_forced = await read_row_security(self)

    async def act(self, whom: ActingFor) -> None:
        """Before each use, where row security is forced: say for whom this session acts, unless it does already."""
        if self._is_forced and whom != self._acts_for:
            await say_acting_for(self, whom)
            self._acts_for = whom


class Tx:
    """A connection lent out for one piece of work."""

    def __init__(self, connection: "asyncpg.pool.PoolConnectionProxy[Row]") -> None:
        self._connection = connection

    async def fetch(self, statement: Statement, **values: object) -> Sequence[Row]:
        """Run one named statement and return its rows."""
        return await self.fetch_ordered(statement, statement.arguments(values))

    async def fetch_ordered(self, statement: Statement, arguments: Sequence[object]) -> Sequence[Row]:
        """Run one statement with the values of $1, $2, … in their order, and return its rows."""
        with _sorted_errors():
            try:
                return await self._connection.fetch(statement.text, *arguments)
            except (TypeError, AttributeError) as error:
                # The driver loses its state when the server ends a session in a query; wrong values are DataError.
                self._connection.terminate()
                raise TransientFailure(f"the driver lost its place: {_one_line(error)}") from error

    async def fetch_one(self, statement: Statement, **values: object) -> Row | None:
        """Run one named statement and return its only row."""
        rows = await self.fetch(statement, **values)
        return rows[0] if rows else None

    async def run_script(self, script: str) -> None:
        """Run a migration: several statements without parameters, as long as they take."""
        with _sorted_errors():
            await self._connection.execute(script, timeout=24 * 3600)


class Database:
    """One PostgreSQL database and its pool of connections."""

    def __init__(self, pool: "asyncpg.Pool[Row]", dsn: str) -> None:
        self._pool = pool
        self.dsn = dsn
        self._outage = Outage(lambda: _can_connect(dsn))

    @classmethod
    async def open(cls, dsn: str, *, connections: int = 10, statement_timeout_seconds: float = 30) -> "Database":
        """Connect, or raise an error that says why not in one line."""
        dsn = checked_address(dsn)
        try:
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=connections,
                connection_class=_Connection,
                command_timeout=statement_timeout_seconds,
                statement_cache_size=256,
                server_settings=SESSION_SETTINGS,
                init=_prepare_session,
                setup=_forget_old_plans,
            )
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            raise StorageUnavailable(
                f"cannot connect to {without_password(dsn)}: {_one_line(error)}; "
                "check DATABASE_URL and that the server runs"
            ) from error
        except (ValueError, LookupError):
            # The driver's error quotes what it cannot read, so it is not passed on.
            raise malformed("cannot be read") from None
        return cls(pool, dsn)

    def autocommit(self) -> AbstractAsyncContextManager[Tx]:
        """Lend a connection on which each statement commits alone."""
        return _Autocommit(self)

    @asynccontextmanager
    async def transaction(self, *, snapshot: bool = False, may_be_long: bool = False) -> AsyncIterator[Tx]:
        """Lend a connection for one transaction; `snapshot` makes all its reads see one moment, however long."""
        isolation: Literal["repeatable_read", "read_committed"] = "repeatable_read" if snapshot else "read_committed"
        token = _in_transaction.set(True)
        try:
            with _sorted_errors():
                async with self._connection() as connection, connection.transaction(isolation=isolation):
                    if (snapshot or may_be_long) and _bounds_transactions(connection):
                        await connection.execute("set local transaction_timeout = 0")
                    yield Tx(connection)
        finally:
            _in_transaction.reset(token)

    @asynccontextmanager
    async def _connection(self) -> "AsyncIterator[asyncpg.pool.PoolConnectionProxy[Row]]":
        """Lend a connection for a block."""
        connection = await self.lend()
        try:
            yield connection
        finally:
            await self.take_back(connection)

    async def lend(self) -> "asyncpg.pool.PoolConnectionProxy[Row]":
        """Lend a connection until it is taken back; while none can be made, a caller in a hurry is refused at once."""
        if is_hurried() and await self._outage.is_known():
            raise OutOfReach("the database cannot be reached")
        try:
            connection = await self._pool.acquire()
        except (OSError, TimeoutError, asyncpg.CannotConnectNowError):
            self._outage.begin()
            raise
        try:
            await _act(connection)
        except BaseException:
            await self.take_back(connection)
            raise
        return connection

    async def take_back(self, connection: "asyncpg.pool.PoolConnectionProxy[Row]") -> None:
        """Have a connection lent to others."""
        await self._pool.release(connection)

    async def persist(self, work: Callable[[Tx], Awaitable[Result]], *, alone: bool = False) -> Result:
        """Run `work` in a transaction (or `alone`, one statement) until its commit is known.

        The work must be safe to repeat: after an unknown commit it runs again with the same values. For a caller in a
        hurry it is repeated only for a moment.
        """
        delay, started = 0.01, time.monotonic()
        while True:
            try:
                async with self.autocommit() if alone else self.transaction() as tx:
                    return await work(tx)
            except OutOfReach:
                raise
            except TransientFailure as failure:
                if self._pool.is_closing() or (is_hurried() and time.monotonic() - started >= BRIEF_SECONDS):
                    raise
                if isinstance(failure.__cause__, TimeoutError):
                    # The network path may be gone silently: the other connections would each time out, too.
                    await self._pool.expire_connections()
                    self._outage.begin()
                log.warning("storage_retry", reason=str(failure), delay_seconds=delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LONGEST_BACKOFF_SECONDS)

    async def renew(self) -> None:
        """Use only connections that are made from now on."""
        await self._pool.expire_connections()

    async def close(self) -> None:
        """Close every connection, waiting shortly for those in use."""
        await self._outage.close()
        try:
            async with asyncio.timeout(5):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()


class _Autocommit:
    """A connection lent for a block; a class, since two generators cost as much as the statement itself."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def __aenter__(self) -> Tx:
        with _sorted_errors():
            self._connection = await self._database.lend()
        return Tx(self._connection)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with _sorted_errors():
            await self._database.take_back(self._connection)
        _sorted_errors().__exit__(kind, error, trace)


SESSION_SETTINGS = {
    "search_path": "tidings, public",
    "application_name": "tidings",
    "tidings.acts_for": EVERYONE.acts_for,
    "timezone": "UTC",
    # A process frozen inside a transaction would keep its rows locked, and every claim would skip them, until it wakes.
    "idle_in_transaction_session_timeout": "10s",
    **PLANNER_SETTINGS,
    # Without it the driver's query for array types is slow on a Citus cluster; elsewhere nothing reads this name.
    "citus.override_table_visibility": "off",
}


async def _can_connect(dsn: str) -> bool:
    """Whether the server can be reached; one that refuses us for a reason of its own can."""
    try:
        connection = await asyncpg.connect(dsn)
    except asyncpg.CannotConnectNowError:
        return False
    except asyncpg.PostgresError:
        return True
    except (OSError, TimeoutError, asyncpg.InterfaceError):
        return False
    await connection.close()
    return True


async def _prepare_session(connection: Any) -> None:
    await set_codecs(connection)
    await connection.learn_row_security()
    if _bounds_transactions(connection):
        await connection.execute(f"set transaction_timeout = '{TRANSACTION_SECONDS}s'")


def _bounds_transactions(connection: Any) -> bool:
    """Whether the server can end a transaction of a process frozen half-way through a statement: from 17 on.

    To an older one such a session is not idle, so it keeps its locks until the process wakes or dies.
    """
    return bool(connection.get_server_version().major >= 17)


async def set_codecs(connection: Any) -> None:
    """Use binary jsonb through msgspec, and arrays a column at a time."""
    set_array_codecs(connection)
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", format="binary", encoder=encode_json, decoder=decode_json
    )


async def _act(connection: Any) -> None:
    await connection.act(acting_for())


async def _forget_old_plans(connection: Any) -> None:
    await connection.forget_old_plans()


class _sorted_errors:  # noqa: N801 – reads as what it does
    """Turns the driver's errors into ours."""

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, asyncpg.PostgresError):
            if (error.sqlstate or "").startswith(_QUOTING_CLASSES):
                error.detail = None  # it names the row and the value, and a log line must name nobody
            if (error.sqlstate or "").startswith(_TRANSIENT_CLASSES):
                raise TransientFailure(_one_line(error)) from error
            if isinstance(error, asyncpg.InsufficientPrivilegeError):
                raise StorageUnavailable(
                    f"the database refuses: {_one_line(error)}; give its role the right, or use the owner's"
                ) from error
        elif isinstance(error, OSError | TimeoutError | asyncpg.InterfaceError | asyncpg.InternalClientError):
            # The driver raises the last one when the server has ended the session but the connection is not yet closed.
            raise TransientFailure(_one_line(error)) from error


def _one_line(error: BaseException) -> str:
    return " ".join((str(error) or type(error).__name__).split())
