"""A worker through the restart of its PostgreSQL."""

import asyncio
from uuid import UUID

from structlog.testing import capture_logs

from tests.stored import stored_execution
from tests.worker.conftest import DEADLINE_SECONDS, WELCOME, live_engine, until
from tidings.embedded import TemporaryServer
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.storage.migrate import migrate
from tidings.worker.loop import Worker


async def has_ended(engine: Engine, id: UUID) -> bool:
    return (await stored_execution(engine, id)).ended_at is not None


async def test_a_worker_comes_back_with_its_database_and_can_leave_without_it(provider: FakeProvider) -> None:
    async with TemporaryServer(settings={"fsync": "off"}) as server:
        db = await Database.open(server.dsn)
        await migrate(db)
        engine = await live_engine(db, provider)
        await engine.define("welcome", WELCOME)
        worker = Worker(engine, poll_seconds=300)  # only a new LISTEN makes it look
        with capture_logs() as logs:
            task = asyncio.create_task(worker.run())
            await engine.trigger("welcome", {"email": "before@example.com"}, "k1")
            await until(lambda: len(provider.calls) == 1)

            await server.restart_immediate()
            last = await engine.trigger("welcome", {"email": "after@example.com"}, "k2")
            await until(lambda: has_ended(engine, last.id))

            await server.kill()
            worker.drain()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await task
            await engine.close()

    assert [call.recipient for call in provider.calls] == ["before@example.com", "after@example.com"]
    assert "worker_drained" in [line["event"] for line in logs]
