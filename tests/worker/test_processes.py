"""`tidings worker` as processes: parents, children and signals."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.warm import Call, Program, Warm
from tests.worker.conftest import DEADLINE_SECONDS, until
from tidings.engine import Engine
from tidings.worker.main import EXIT_AT_ONCE

Line = dict[str, Any]

HANGING = '''
"""A provider that takes a call and never answers."""

import asyncio
from pathlib import Path

from tidings.domain.flow.item import Channel
from tidings.providers.fake import FakeProvider
from tidings.wiring import App


class Hanging(FakeProvider):
    async def send(self, item, may_start):
        Path(__file__).with_name("called").touch()
        await asyncio.Event().wait()


def app() -> App:
    return App([Hanging("hanging")], {Channel.EMAIL: "hanging"})
'''


class Watched:
    """A process and the log lines it and its children have written."""

    def __init__(self, process: Program) -> None:
        self.process = process
        self.lines: list[Line] = []
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for line in self.process.stderr:
            if not line.startswith(b"tidings: warning: --database-url holds a password"):
                self.lines.append(json.loads(line))  # every line is one JSON object, whoever wrote it

    def named(self, event: str) -> list[Line]:
        return [line for line in self.lines if line["event"] == event]

    async def ended(self) -> int:
        async with asyncio.timeout(DEADLINE_SECONDS):
            status = await self.process.wait()
            await self._reader
        return status


Tidings = Callable[..., AbstractAsyncContextManager[Watched]]


@pytest.fixture
def tidings(tmp_path: Path, forked: Warm) -> Tidings:
    """Starts the command with log lines for machines; whatever is left of it at the end is killed."""

    @asynccontextmanager
    async def start(*arguments: str, **settings: str) -> AsyncIterator[Watched]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("TIDINGS_", "DATABASE_"))}
        told = ours | {"TIDINGS_ALLOW_UNSAFE_STORAGE": "true", "TIDINGS_LOG_FORMAT": "json"} | settings
        async with forked.running(Call(arguments, tmp_path, told)) as process:
            watched = Watched(process)
            try:
                yield watched
            finally:
                for pid in [process.pid, *(line["pid"] for line in watched.named("worker_process_started"))]:
                    if is_alive(pid):
                        os.kill(pid, signal.SIGKILL)
                await watched.ended()

    return start


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_gone(*pids: int) -> Callable[[], bool]:
    return lambda: not any(is_alive(pid) for pid in pids)


async def test_two_processes_one_killed_and_started_again_all_drained(tidings: Tidings, dsn: str) -> None:
    arguments = ["worker", "--processes", "2", "--database-url", dsn]
    async with tidings(*arguments) as parent:
        await until(lambda: len(parent.named("worker_started")) == 2)
        first, second = (line["pid"] for line in parent.named("worker_process_started"))
        shown = Path(f"/proc/{first}/cmdline")
        if shown.exists():
            assert dsn.encode() not in shown.read_bytes()

        os.kill(first, signal.SIGKILL)
        await until(lambda: len(parent.named("worker_started")) == 3)
        [ended] = parent.named("worker_process_ended")
        assert (ended["code"], ended["restart_seconds"]) == (-9, 0.5)
        third = parent.named("worker_process_started")[-1]["pid"]
        assert third not in {first, second}

        parent.process.send_signal(signal.SIGTERM)
        assert await parent.ended() == 0

        assert len(parent.named("worker_drained")) == 2
        assert is_gone(first, second, third)()


async def test_a_child_that_was_being_started_when_the_parent_was_stopped_is_stopped_too(
    tidings: Tidings, dsn: str
) -> None:
    async with tidings("worker", "--processes", "2", DATABASE_URL=dsn) as parent:
        await until(lambda: parent.named("worker_process_started"))

        parent.process.send_signal(signal.SIGTERM)

        assert await parent.ended() == 0
        assert is_gone(*(line["pid"] for line in parent.named("worker_process_started")))()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_idle_worker_drains_on_the_first_signal(tidings: Tidings, dsn: str, number: signal.Signals) -> None:
    async with tidings("worker", DATABASE_URL=dsn) as worker:
        await until(lambda: worker.named("worker_started"))

        worker.process.send_signal(number)

        assert await worker.ended() == 0
        assert [line["event"] for line in worker.lines] == ["worker_started", "draining", "worker_drained"]


async def test_a_second_signal_leaves_at_once_and_what_was_in_the_air_stays_marked(
    tidings: Tidings, tmp_path: Path, dsn: str, engine: Engine, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    node = {"id": "hello", "type": "email", "to": "ann@example.com", "subject": "Hi", "body": "Welcome"}
    async with tidings("worker", "--app", "hanging:app", DATABASE_URL=dsn) as worker:
        await until(lambda: worker.named("worker_started"))
        await engine.define("welcome", {"entryNodeId": "hello", "nodes": [node], "edges": []})
        await engine.trigger("welcome", {}, "k1")
        await until((tmp_path / "called").exists)

        worker.process.send_signal(signal.SIGTERM)
        await until(lambda: worker.named("draining"))
        assert worker.process.returncode is None
        worker.process.send_signal(signal.SIGTERM)

        assert await worker.ended() == 143
        assert worker.named("leaving_at_once")
        assert await sql.fetchval("select status from outbox where marked_at is not null") == "queued"


async def test_a_second_signal_after_the_last_word_does_not_spoil_the_end(tidings: Tidings, dsn: str) -> None:
    async with tidings("worker", DATABASE_URL=dsn) as worker:
        await until(lambda: worker.named("worker_started"))
        worker.process.send_signal(signal.SIGTERM)
        await until(lambda: worker.named("worker_drained"))

        while worker.process.returncode is None:
            worker.process.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.001)

        assert await worker.ended() in {0, EXIT_AT_ONCE}


async def test_children_drain_when_their_parent_is_killed(tidings: Tidings, dsn: str) -> None:
    async with tidings("worker", "--processes", "2", DATABASE_URL=dsn) as parent:
        await until(lambda: len(parent.named("worker_started")) == 2)
        children = [line["pid"] for line in parent.named("worker_process_started")]

        parent.process.kill()

        await until(is_gone(*children))
        await parent.ended()
        assert len(parent.named("worker_drained")) == 2
