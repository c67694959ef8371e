"""A real PostgreSQL for every test: one server for the run, and a database for each test that holds nothing yet."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
import structlog

from tests.databases import APP_URL, IS_FORCED, OWNER_URL, TEMPLATE, Databases, create, drop, watch, with_database
from tests.leftovers import RUN, Run, server_directory
from tests.warm import Warm
from tidings import embedded
from tidings.domain.connections.vendors import Vendors
from tidings.domain.flow.item import Channel
from tidings.engine import Engine
from tidings.kernel.kernel import Kernel, Limits
from tidings.kernel.readiness import declare_routes
from tidings.kernel.render.renderer import Renderer
from tidings.providers.catalogue import Catalogue
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.storage.migrate import migrate, read_shard_count

# Where Python is told to keep no bytecode, each of the hundreds of processes that tests start compiles Tidings anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

SHARING = (
    *(
        "cli",
        "client",
        "http",
        "kernel",
        "model",
        "resources",
        "providers",
        "requirements",
        "security",
        "simulation",
        "worker",
    ),
    *(
        "test_contract.py",
        "test_database.py",
        "test_event_function.py",
        "test_functions.py",
        "test_isolation.py",
        "test_row_security.py",
        "test_statements.py",
        "test_trigger_function.py",
    ),
)
"""The folders and files whose tests take a database again; the others look at plans, sizes and tables."""


LOG_LINES = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)

run_key = pytest.StashKey[Run]()
left_key = pytest.StashKey[list[Path]]()


class ManualClock:
    """The time as a test sets it."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    async def now(self) -> datetime:
        return self.time

    def carried(self) -> datetime:
        return self.time

    def advance(self, **parts: float) -> None:
        self.time += timedelta(**parts)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-postgres", action="store_true", help="leave out what asks for a database")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--without-postgres"):
        asks = {item: "server" in getattr(item, "fixturenames", ()) for item in items}
        config.hook.pytest_deselected(items=[item for item in items if asks[item]])
        items[:] = [item for item in items if not asks[item]]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two for each core: half of the suite's time is waiting, for leases, restarts, silence and the other processes."""
    return 2 * (os.cpu_count() or 1)


def pytest_configure(config: pytest.Config) -> None:
    """Worker processes find what the process that starts them has made, and no time goes into painted tracebacks."""
    structlog.configure(processors=[structlog.processors.add_log_level, LOG_LINES])
    if RUN not in os.environ:
        config.stash[run_key] = run = Run()
        run.use()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run that leaves servers or files behind has failed, whatever its tests say."""
    config = session.config
    if (run := config.stash.get(run_key, None)) and hasattr(config, "_tmp_path_factory"):
        config.stash[left_key] = run.wait_for_leftovers([config._tmp_path_factory.getbasetemp()])
        if config.stash[left_key] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for path in config.stash.get(left_key, []):
        terminalreporter.write_line(f"LEFT BEHIND {path}", red=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    if run := config.stash.get(run_key, None):
        run.end()


@pytest.fixture(scope="session")
def server() -> str:
    """The address of a running server with a migrated template database: one for all processes of the run."""
    return asyncio.run(_start(server_directory(Path(os.environ[RUN]))))


async def _start(data_dir: Path) -> str:
    # Tests kill processes, not machines: without fsync the same tests run several times as fast.
    bin_dir = os.environ.get("TIDINGS_PG_BIN")
    owner = await embedded.ensure_running(
        data_dir,
        bin_dir=Path(bin_dir) if bin_dir else None,
        settings={"fsync": "off", "max_connections": "300"},
    )
    dsn = embedded.url_of(data_dir, owner, embedded.SUPERUSER)
    os.environ[OWNER_URL], os.environ[APP_URL] = owner, embedded.app_url(data_dir, owner)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("select pg_advisory_lock(1)")
        if not await connection.fetchval("select 1 from pg_database where datname = $1", TEMPLATE):
            await connection.execute(f"create database {TEMPLATE} owner {embedded.OWNER}")
            db = await Database.open(with_database(owner, TEMPLATE))
            await migrate(db, forced=IS_FORCED)
            await db.close()
            await watch(dsn)
    finally:
        await connection.close()
    return dsn


@pytest.fixture(scope="session")
def databases(server: str) -> Iterator[Databases]:
    """The databases that this process takes again."""
    databases = Databases(server)
    yield databases
    databases.close()


@pytest.fixture(scope="session")
def forked() -> Iterator[Warm]:
    """Where this process forks commands from."""
    warm = Warm()
    yield warm
    warm.close()


@pytest.fixture
async def dsn(server: str, databases: Databases, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The address of a database with every table and no rows, as a worker or the API would connect to it."""
    if request.path.parent.name in SHARING or request.path.name in SHARING:
        name = await databases.take()
        yield with_database(os.environ[APP_URL], name)
        await databases.give_back(name)
    else:
        name = await create(server)
        yield with_database(os.environ[APP_URL], name)
        await drop(server, name)


def as_role(dsn: str, role_url: str) -> str:
    """The address of the same database for another role, whose address on the run's server is known."""
    return with_database(os.environ[role_url], dsn.rpartition("/")[2])


@pytest.fixture
def owner_dsn(dsn: str) -> str:
    """The address of the same database for the role that owns its tables."""
    return as_role(dsn, OWNER_URL)


@pytest.fixture
async def db(dsn: str) -> AsyncIterator[Database]:
    db = await Database.open(dsn)
    yield db
    await db.close()


@pytest.fixture
async def sql(server: str, dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection of the test's own, as superuser, to look behind the engine."""
    url = with_database(server, dsn.rpartition("/")[2])
    connection = await asyncpg.connect(url, server_settings={"search_path": "tidings, public", "timezone": "UTC"})
    yield connection
    await connection.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
async def engine(db: Database, clock: ManualClock, provider: FakeProvider) -> AsyncIterator[Engine]:
    engine = await make_engine(db, clock, provider)
    yield engine
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()


async def make_engine(db: Database, clock: ManualClock, provider: FakeProvider, limits: Limits | None = None) -> Engine:
    """An engine as a second worker would be: its own state, the same database."""
    kernel = Kernel(
        db=db,
        clock=clock,
        shards=await read_shard_count(db),
        providers={provider.name: provider},
        routes=dict.fromkeys(Channel, provider.name),
        renderer=Renderer(),
        limits=limits or Limits(),
        vendors=Vendors(Catalogue(), call_deadline=timedelta(seconds=10)),
    )
    await declare_routes(kernel)
    return Engine(kernel)
