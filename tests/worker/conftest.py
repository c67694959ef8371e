"""Workers on the real database and its clock: what they do is awaited, with a deadline, never slept for."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from time import monotonic
from typing import Any

import pytest

from tidings.domain.flow.item import Channel
from tidings.engine import Engine
from tidings.kernel.kernel import Kernel, Limits
from tidings.kernel.readiness import declare_routes
from tidings.kernel.render.renderer import Renderer
from tidings.providers.fake import FakeProvider
from tidings.storage.clock import DatabaseClock
from tidings.storage.database import Database, Tx
from tidings.storage.migrate import read_shard_count
from tidings.worker.loop import Worker

DEADLINE_SECONDS = 20.0

WELCOME = {
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}
NUDGE = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"},
        {"id": "wait", "type": "delay", "delayMs": 700},
        {"id": "nudge", "type": "sms", "to": "{{ email }}", "body": "Still there?"},
    ],
    "edges": [{"from": "hello", "to": "wait"}, {"from": "wait", "to": "nudge"}],
}


async def until(condition: Callable[[], object], seconds: float = DEADLINE_SECONDS) -> None:
    """Wait for something a worker brings about."""
    deadline = monotonic() + seconds
    while True:
        answer = condition()
        if await answer if inspect.isawaitable(answer) else answer:
            return
        assert monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.005)


async def live_engine(db: Database, provider: FakeProvider, limits: Limits | None = None) -> Engine:
    """An engine as a worker process has it, on the database's own clock."""
    kernel = Kernel(
        db=db,
        clock=DatabaseClock(db),
        shards=await read_shard_count(db),
        providers={provider.name: provider},
        routes=dict.fromkeys(Channel, provider.name),
        renderer=Renderer(),
        limits=limits or Limits(),
    )
    await declare_routes(kernel)
    return Engine(kernel)


@asynccontextmanager
async def running(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    """A worker at work for as long as the block, then drained."""
    task = asyncio.create_task(worker.run())
    try:
        yield task
    finally:
        worker.drain()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await task


@contextmanager
def counted_statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the statements that are run meanwhile, by anybody in this process."""

    names: list[str] = []
    fetch = Tx.fetch

    async def counting(self: Tx, statement: Any, **values: object) -> Any:
        names.append(statement.name)
        return await fetch(self, statement, **values)

    with monkeypatch.context() as patch:
        patch.setattr(Tx, "fetch", counting)
        yield names


@pytest.fixture
async def live(db: Database, provider: FakeProvider) -> AsyncIterator[Engine]:
    engine = await live_engine(db, provider)
    await engine.define("welcome", WELCOME)
    await engine.define("nudge", NUDGE)
    yield engine
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers hear no notification."""

    async def hear_nothing(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("tidings.worker.loop.listen", hear_nothing)
