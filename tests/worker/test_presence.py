"""Workers say that they live and what they serve, and leave to each other what only one of them can do."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from tests.worker.conftest import counted_statements, running, until
from tidings.domain.flow.item import Channel
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.kernel import presence
from tidings.kernel.kernel import Kernel
from tidings.kernel.render.renderer import Renderer
from tidings.providers.fake import FakeProvider
from tidings.storage.clock import DatabaseClock
from tidings.storage.database import Database
from tidings.worker.loop import Worker

Sql = asyncpg.Connection
MAIL = {
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}


@pytest.fixture
async def unable(db: Database) -> AsyncIterator[Engine]:
    """An engine as a worker has it that was started without any setting."""
    engine = Engine(Kernel(db, DatabaseClock(db), 4, {}, {}, Renderer()))
    yield engine
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()


async def test_a_worker_is_listed_with_what_it_serves_until_it_ends(live: Engine, sql: "Sql[asyncpg.Record]") -> None:
    async with running(Worker(live, lanes=(Lane.TRANSACTIONAL,))):
        await until(live.providers.workers)
        [worker] = await live.providers.workers()

    assert worker.id == live.kernel.shares.worker_id
    assert worker.lanes == ["transactional"]
    [served] = worker.serves
    assert (served.provider, served.provider_class) == ("fake", "blind")
    assert set(served.channels) == set(Channel)
    assert await sql.fetchval("select count(*) from workers") == 0


async def test_a_worker_that_was_not_seen_for_a_while_does_not_count_and_is_forgotten_by_the_others(
    live: Engine, sql: "Sql[asyncpg.Record]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "BEAT_SECONDS", 0.01)
    await sql.execute(
        "insert into workers select gen_random_uuid(), 'gone', 1, '1', '{0}', '{}', now() - age, now() - age"
        " from unnest(array[interval '31 seconds', interval '2 hours']) as age"
    )
    async with running(Worker(live)):
        await until(live.providers.workers)
        listed = await live.providers.workers()
        await until(
            lambda: sql.fetchval("select count(*) = 1 from workers where host = 'gone'")
        )  # after its first beat

    assert [one.id for one in listed] == [live.kernel.shares.worker_id]


async def test_a_worker_without_the_provider_neither_keeps_the_other_waiting_nor_asks_all_the_time(
    live: Engine, unable: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await live.define("mail", MAIL)
    async with running(Worker(unable)):
        await until(unable.providers.workers)
        async with running(Worker(live)):
            await until(lambda: _both_live(live))
            with counted_statements(monkeypatch) as statements:
                for number in range(20):
                    await live.trigger("mail", {"email": f"p{number}@example.com"}, f"k-{number}")
                await until(lambda: len(provider.calls) == 20, seconds=20)

    assert Counter(statements)["claim_due"] < 400
    assert len({call.key for call in provider.calls}) == 20


async def _both_live(engine: Engine) -> bool:
    return len(await engine.providers.workers()) == 2


async def test_work_that_only_others_could_do_is_not_asked_for_all_the_time(
    live: Engine, unable: Engine, sql: "Sql[asyncpg.Record]", monkeypatch: pytest.MonkeyPatch
) -> None:
    await live.define("mail", MAIL)
    now = await live.kernel.clock.now()
    await sql.execute(  # a worker that lives but is busy with something else
        "insert into workers values (gen_random_uuid(), 'busy', 1, '1', '{0,1,2,3}', '{\"fake\": {}}', $1, $1)",
        now + timedelta(minutes=5),
    )
    await live.trigger("mail", {"email": "ada@example.com"}, "k")

    async with running(Worker(unable)):
        await until(lambda: _is_reserved(sql))
        with counted_statements(monkeypatch) as statements:
            await until(lambda: statements.count("next_due") >= 8, seconds=20)

    assert statements.count("claim_due") <= 4 * statements.count("next_due")  # as many batches may run at once
    assert await sql.fetchval("select count(*) from outbox where status = 'queued' and marked_at is null") == 1


async def _is_reserved(sql: "Sql[asyncpg.Record]") -> bool:
    return bool(await sql.fetchval("select count(*) from outbox"))
