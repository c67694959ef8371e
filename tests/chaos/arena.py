"""The place where things are killed: a PostgreSQL, a ledger and real workers, all of this arena's own.

Only processes that the arena started are ever signalled, each by its id. Every wait has a condition and a deadline.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from uuid import uuid4

import asyncpg

from tests.chaos.app import CONCURRENCY, LedgerClient, make_app
from tests.chaos.audit import SELF_RESOLVING, Findings, Peaceful, audit, open_items, unsettled
from tests.chaos.book import Book, Intended, read_intended
from tests.chaos.history import offences, watch
from tests.chaos.processes import REPOSITORY, ApiProcess, WorkerProcess, start
from tests.chaos.troubles import Troubles
from tests.chaos.waiting import DEADLINE_SECONDS, FEED_SECONDS, MOST_FEEDINGS, Overdue, until
from tests.chaos.workload import Workload
from tidings.config import Config
from tidings.embedded.processes import children_of
from tidings.embedded.temporary import TemporaryServer
from tidings.engine import Engine, Trigger
from tidings.kernel.calls.slots import WINDOW_SECONDS
from tidings.wiring import open_engine

__all__ = ["REPOSITORY", "Arena", "Faults", "Overdue", "Timing", "WorkerProcess", "open_arena", "until"]

CALL_DELAY_SECONDS = 0.02
MOST_LOG_LINES = 100
SECRET_KEY = b64encode(b"chaos" * 6 + b"!!").decode()
WINDOW = round(2 * CONCURRENCY * (1 + WINDOW_SECONDS / CALL_DELAY_SECONDS))
"""At most what one process can have marked and not finalized: both lanes' slots, at the pace the ledger allows."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How patient workers are."""

    lease_seconds: float = 2.0
    call_seconds: float = 1.0
    poll_seconds: float = 0.2
    retry_seconds: float = 1.0  # between attempts, instead of the policies' own
    day_seconds: float = 0.5  # of a sequence's calendar


@dataclass(slots=True)
class Faults:
    """What was done to the arena so far."""

    kills: Counter[str] = field(default_factory=Counter)  # crash point, or how else → times
    postgres: int = 0
    freezes: int = 0
    terminations: int = 0
    hand_overs: int = 0  # everything paused, new workers, resumed


class Arena(Troubles):
    """One PostgreSQL, one ledger, some workers, and the list of what was intended."""

    def __init__(
        self,
        directory: Path,
        server: TemporaryServer,
        engine: Engine,
        ledger: LedgerClient,
        environ: Mapping[str, str],
        smtp: str,
    ) -> None:
        self.directory = directory
        self.server = server
        self.engine = engine
        self.book = Book(directory / "intended.jsonl")
        self.workload = Workload(engine, self.book)
        self.workers: list[WorkerProcess] = []
        self.apis: list[ApiProcess] = []
        self.faults = Faults()
        self.self_resolving = SELF_RESOLVING
        self._ledger = ledger
        self.troubles = Counter[str]()
        self._environ = dict(environ)
        self._smtp = smtp
        self._stack = AsyncExitStack()
        self._rendering: set[int] = set()

    @property
    def address(self) -> str:
        """Where the ledger answers HTTP."""
        return self._environ["CHAOS_LEDGER"]

    def use_vendors(self, look_every: timedelta) -> None:
        """Have workers that start from now on look vendors' records up so often; absence is proven by none of these."""
        self._environ["CHAOS_LOOK_SECONDS"] = str(look_every.total_seconds())
        self.self_resolving = frozenset({"keyed"})

    @property
    def file(self) -> Path:
        """The ledger's file."""
        return self.directory / "ledger.jsonl"

    async def start_worker(self, crash_at: str | None = None, **settings: str) -> WorkerProcess:
        """Start a worker, armed to die or freeze at a crash point if one is given."""
        log = self.directory / f"worker-{len(self.workers)}.log"
        environ = {**self._environ, **settings, **({"TIDINGS_CRASH_AT": crash_at} if crash_at else {})}
        worker = WorkerProcess(await start(log, environ, "worker"), log, crash_at)
        self.workers.append(worker)
        return worker

    async def start_workers(self, count: int, **settings: str) -> list[WorkerProcess]:
        """Start unarmed workers, and wait until they work."""
        workers = [await self.start_worker(**settings) for _ in range(count)]
        for worker in workers:
            await self._until_working(worker)
        return workers

    async def _until_working(self, worker: WorkerProcess) -> None:
        try:
            await until("a worker starts", lambda: worker.is_working() or worker.code is not None)
        except Overdue as error:
            raise Overdue(f"{error}:\n{worker.tail()}") from None
        if worker.code is not None:
            raise AssertionError(f"a worker ended with {worker.code} before it started:\n{worker.tail()}")

    async def start_api(self) -> ApiProcess:
        """Start `tidings serve` beside the workers."""
        api = ApiProcess(self.directory / "api.log", self._environ, f"tid_{uuid4().hex}")
        self._stack.push_async_callback(api.close)
        await api.start()
        self.apis.append(api)
        return api

    async def kill_api(self, api: ApiProcess) -> None:
        """kill -9 to the API, then start it again."""
        await api.kill()
        self.faults.kills["API kill -9"] += 1

    async def trigger_elsewhere(self, workflow: str, triggers: Sequence[Trigger], crash_at: str) -> int:
        """Trigger from a process that dies on the way; give how it ended."""
        wish = {"workflow": workflow, "triggers": [[one.idempotency_key, one.data] for one in triggers]}
        return await self.ask_elsewhere(wish, crash_at)

    async def ask_elsewhere(self, wish: Mapping[str, object], crash_at: str) -> int:
        """Have tests/chaos/client.py do something, and die on the way; give how it ended."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.chaos.client"),
            env={**self._environ, "TIDINGS_CRASH_AT": crash_at},
            cwd=REPOSITORY,
            stdin=PIPE,
        )
        await process.communicate(json.dumps(wish).encode())
        self.faults.kills[crash_at.partition(":")[0]] += 1
        return await process.wait()

    async def until_crashed(self, worker: WorkerProcess, seconds: float = DEADLINE_SECONDS) -> None:
        """Wait until an armed worker has killed itself."""
        if await worker.wait(seconds) != -signal.SIGKILL:
            raise AssertionError(f"{worker.crash_at}: ended with {worker.code}\n{worker.tail()}")
        self.faults.kills[str(worker.crash_at).partition(":")[0]] += 1

    async def crash_worker(self, crash_at: str, feed: Callable[[], Awaitable[None]]) -> None:
        """Have a worker die at a point, feeding it until it gets there: others hear of new work first."""
        victim = await self.start_worker(crash_at)
        await feed()
        await until(f"{crash_at} starts", lambda: victim.is_working() or victim.code is not None)
        for _ in range(MOST_FEEDINGS):
            with suppress(Overdue):
                return await self.until_crashed(victim, FEED_SECONDS)
            await feed()
        raise Overdue(f"{crash_at} was never reached:\n{victim.tail()}")

    async def until_frozen(self, worker: WorkerProcess) -> None:
        """Wait until a worker has stopped itself."""
        await until(f"{worker.crash_at} is reached", worker.is_frozen)
        self.faults.freezes += 1

    async def kill(self, worker: WorkerProcess, how: str = "at random") -> None:
        """kill -9."""
        self._rendering.update(children_of(worker.pid))
        if worker.send(signal.SIGKILL):
            self.faults.kills[how] += 1
        await worker.wait()

    def freeze(self, worker: WorkerProcess) -> None:
        """SIGSTOP."""
        self.faults.freezes += worker.send(signal.SIGSTOP)

    def thaw(self, worker: WorkerProcess) -> None:
        """SIGCONT."""
        worker.send(signal.SIGCONT)

    def terminate(self, worker: WorkerProcess) -> None:
        """SIGTERM."""
        self.faults.terminations += worker.send(signal.SIGTERM)

    async def kill_postgres(self) -> None:
        """kill -9 to the whole server, then start it again."""
        await self.server.kill()
        self.faults.postgres += 1
        await self.server.start()

    async def order(self, **orders: object) -> None:
        """Tell the ledger how to behave."""
        body = json.dumps({"delay_seconds": CALL_DELAY_SECONDS, **orders}).encode()
        await self._ledger.ask("POST", "/control", body, {})

    async def close_accounts(self, *accounts: str) -> None:
        """Have the ledger's vendors refuse all calls of these accounts, and of no others."""
        await self._ledger.ask("POST", "/close", json.dumps({"accounts": accounts}).encode(), {})

    async def calls(self) -> int:
        """How many calls the ledger has written."""
        return await self._stat("lines")

    async def taken(self) -> int:
        """How many items have reached their person."""
        return await self._stat("taken")

    async def _stat(self, name: str) -> int:
        reply = await self._ledger.ask("GET", "/stats", b"", {})
        return int(str(reply.body[name]))

    async def until_calls(self, more: int) -> None:
        """Wait until so many more calls have been made."""
        goal = await self.calls() + more
        await until(f"{more} more calls", lambda: self._has_calls(goal))

    async def _has_calls(self, goal: int) -> bool:
        return await self.calls() >= goal

    async def is_silent(self) -> bool:
        """Whether nobody called for as long as a call may take."""
        before = await self.calls()
        await asyncio.sleep(float(self._environ["TIDINGS_CALL_SECONDS"]))
        return await self.calls() == before

    async def settle(self, workers: int = 2, seconds: float = DEADLINE_SECONDS) -> None:
        """With the faults off, wait until everything is terminal or in doubt, then send the workers home."""
        await self.order()
        await self.start_workers(max(0, workers - len(self._unarmed())))
        await self.until_settled(seconds)
        await self.send_home()

    async def until_settled(self, seconds: float = DEADLINE_SECONDS) -> None:
        """Wait until everything is terminal or in doubt for good."""
        async with self.look() as connection:
            left: dict[str, int] = {}

            async def is_settled() -> bool:
                nonlocal left
                left = await unsettled(connection, self.book.items)
                return not left

            try:
                await until("everything settles", is_settled, seconds)
            except Overdue as error:
                shown = "\n".join(await open_items(connection))
                raise Overdue(f"{error}; left are {left}\n{shown}\n{self._warnings()}") from None

    async def send_home(self) -> None:
        """SIGTERM for all unarmed workers that still run; each must leave in peace."""
        alive = self._unarmed()
        for worker in alive:
            self._rendering.update(children_of(worker.pid))
            worker.send(signal.SIGTERM)
        codes = [await worker.wait() for worker in alive]
        if any(codes):
            raise AssertionError(f"drained workers ended with {codes}:\n" + "\n".join(one.tail() for one in alive))

    def _warnings(self) -> str:
        """What workers warned of last."""
        lines = [
            f"worker {worker.pid}: {line}"
            for worker in self.workers
            for line in worker.log.read_text(errors="replace").splitlines()
            if '"level": "info"' not in line
        ]
        return "\n".join(lines[-MOST_LOG_LINES:])

    def _unarmed(self) -> list[WorkerProcess]:
        return [worker for worker in self.workers if worker.code is None and not worker.crash_at]

    async def audit(self) -> Findings:
        """Compare the list, the database and the ledger; whatever does not fit is a violation."""
        async with self.look() as connection:
            findings = await audit(
                connection, self.engine, self.intended(), self.file, self._peaceful(), self.self_resolving
            )
            findings.violations += await offences(connection)
        # A database that was away takes leases with it as surely as a kill does.
        kills = self.faults.kills.total() + self.faults.freezes + self.faults.postgres + self.troubles.total()
        if findings.tallies["blind"].in_doubt > kills * WINDOW + self.unanswered():
            findings.violations.append(f"{findings.tallies['blind'].in_doubt} in doubt after {kills} kills")
        for worker in self.workers:
            findings.violations += [f"worker {worker.pid}: {line}" for line in worker.events("batch_failed")]
        findings.violations += [f"API: {line}" for api in self.apis for line in api.failures()]
        await until("no rendering process is left", lambda: not any(map(_is_rendering, self._rendering)))
        return findings

    def intended(self) -> Intended:
        """The list of what was intended."""
        return read_intended(self.directory / "intended.jsonl")

    def unanswered(self) -> int:
        """How many items a living worker put in doubt because a call got no answer in time."""
        return len(self._unanswered())

    def _unanswered(self) -> set[str]:
        events = [json.loads(line) for worker in self.workers for line in worker.events("in_doubt")]
        return {event["item"] for event in events if "crash" not in event["reason"]}

    def _peaceful(self) -> Peaceful:
        workers = frozenset(worker.pid for worker in self.workers if worker.code == 0)
        return Peaceful(workers, frozenset(self._unanswered()))

    async def has_marked_others(self) -> bool:
        """Whether everything of tenants beside a flood has been marked."""
        beside = self.intended().beside
        async with self.look() as connection:
            marked = await connection.fetchval(
                "select count(*) from outbox where recipient = any($1) and first_marked_at is not null", list(beside)
            )
        return int(marked) == len(beside)

    async def walked_past(self) -> int:
        """How many items in doubt belong to executions that went on without them: nothing looks at those by itself."""
        async with self.look() as connection:
            return int(
                await connection.fetchval(
                    "select count(*) from outbox o join executions e on e.shard = o.shard and e.id = o.execution_id"
                    " where o.in_doubt and e.ended_at is not null"
                )
            )

    @asynccontextmanager
    async def look(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        """A connection to look behind the engine."""
        settings = {"search_path": "tidings, public", "timezone": "UTC"}
        connection = await asyncpg.connect(self.server.dsn, server_settings=settings)
        try:
            yield connection
        finally:
            await connection.close()

    async def close(self) -> None:
        """Kill what still runs."""
        for worker in self.workers:
            worker.send(signal.SIGKILL)
        for worker in self.workers:
            await worker.wait()
        await self._stack.aclose()


def _is_rendering(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return b"render_child" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@asynccontextmanager
async def open_arena(
    seed: str,
    timing: Timing | None = None,
    server: TemporaryServer | None = None,
    directory: Path | None = None,
) -> AsyncIterator[Arena]:
    """Build an arena, and leave nothing of it behind but what is in the directory, if one is given.

    `server` is one that is not started yet.
    """
    timing = timing or Timing()
    async with AsyncExitStack() as stack:
        if directory is None:
            directory = Path(tempfile.mkdtemp(prefix="tidings-chaos-"))
            stack.callback(rmtree, directory, ignore_errors=True)
        server = await stack.enter_async_context(server or TemporaryServer())
        address, smtp = await _start_ledger(stack, directory, server.dsn, seed)
        config = Config(database_url=server.dsn, lease_seconds=timing.lease_seconds, secret_key=SECRET_KEY)
        engine = await open_engine(config, make_app(address, timing.call_seconds))
        stack.push_async_callback(engine.close)
        host, _, port = address.partition(":")
        client = LedgerClient(host, int(port))
        stack.callback(client.close)
        environ = _environ(server.dsn, address, timing)
        arena = Arena(directory, server, engine, client, environ, smtp)
        stack.push_async_callback(arena.close)
        await arena.order()
        await arena.workload.define()
        async with arena.look() as connection:
            await watch(connection)
        yield arena


async def _start_ledger(stack: AsyncExitStack, directory: Path, dsn: str, seed: str) -> tuple[str, str]:
    """Give the addresses of its two doors, HTTP and SMTP."""
    environ = {**os.environ, "DATABASE_URL": dsn, "CHAOS_FILE": str(directory / "ledger.jsonl"), "CHAOS_SEED": seed}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.chaos.doors"), env=environ, cwd=REPOSITORY, stdin=PIPE, stdout=PIPE
    )
    stack.push_async_callback(_stop_ledger, process)
    if process.stdout is None:
        raise AssertionError("the ledger has a pipe")
    async with asyncio.timeout(DEADLINE_SECONDS):
        http, smtp = (await process.stdout.readline()).split()
    return f"127.0.0.1:{int(http)}", f"127.0.0.1:{int(smtp)}"


async def _stop_ledger(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(10):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _environ(dsn: str, address: str, timing: Timing) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TIDINGS_", "PYTEST_"))}
    return own | {
        "DATABASE_URL": dsn,
        "CHAOS_LEDGER": address,
        "TIDINGS_SECRET_KEY": SECRET_KEY,
        "CHAOS_RETRY_SECONDS": str(timing.retry_seconds),
        "CHAOS_DAY_SECONDS": str(timing.day_seconds),
        "TIDINGS_LEASE_SECONDS": str(timing.lease_seconds),
        "TIDINGS_CALL_SECONDS": str(timing.call_seconds),
        "TIDINGS_POLL_SECONDS": str(timing.poll_seconds),
        "TIDINGS_LOG_FORMAT": "json",
    }
