"""Workers that share a provider's limit, on the real database and its clock."""

import asyncio
from collections import Counter
from datetime import timedelta

import asyncpg

from tests.worker.conftest import DEADLINE_SECONDS, live_engine, running, until
from tests.worker.test_loop import people
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted
from tidings.engine import Engine
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.worker.loop import Worker

Sql = asyncpg.Connection
LIMIT = 4


class Counting:
    """What all workers' calls to one provider have in common: how many are in the air, and the most there were."""

    def __init__(self) -> None:
        self.in_air = self.most = 0
        self.made: Counter[str] = Counter()

    def provider_of(self, worker: str) -> FakeProvider:
        async def answer(_: Marked) -> Accepted:
            self.in_air += 1
            self.most = max(self.most, self.in_air)
            self.made[worker] += 1
            await asyncio.sleep(0.01)
            self.in_air -= 1
            return Accepted()

        return FakeProvider(answer=answer, record=False)


async def engine_of(db: Database, counting: Counting, name: str) -> Engine:
    limits = Limits(
        provider_concurrency={"fake": LIMIT},
        share_beat=timedelta(milliseconds=100),
        slot_wait=timedelta(milliseconds=100),
    )
    return await live_engine(db, counting.provider_of(name), limits)


async def shares_of(sql: "Sql[asyncpg.Record]") -> dict[str, int]:
    rows = await sql.fetch("select worker_id, slots from provider_shares")
    return {str(row["worker_id"]): row["slots"] for row in rows}


async def test_workers_share_a_limit_and_whoever_leaves_gives_its_slots_to_the_others(
    live: Engine, db: Database, sql: "Sql[asyncpg.Record]"
) -> None:
    """One story instead of four, since each would need the same workers to come and go."""
    counting = Counting()
    one, other = await engine_of(db, counting, "one"), await engine_of(db, counting, "other")
    mine, theirs = (str(engine.kernel.shares.worker_id) for engine in (one, other))
    await live.trigger_many("welcome", people(400))

    async with running(Worker(one, batch=50)):
        await until(lambda: counting.made["one"] > 20)
        alone = one.kernel.slots["fake"].size
        async with running(Worker(other, batch=50)):
            await until(lambda: counting.made["other"] > 20)
            both = await shares_of(sql)
        left = await shares_of(sql)
        await until(lambda: counting.made.total() == 400)
        await until(lambda: one.kernel.slots["fake"].size <= 1)  # idle: it keeps one and lets go of the rest
    ended = await shares_of(sql)

    assert (alone, both) == (LIMIT, {mine: 2, theirs: 2})
    assert theirs not in left
    assert ended == {}
    assert counting.most <= LIMIT
    assert await sql.fetchval("select count(*) from outbox where status = 'sent' and attempts = 1") == 400


async def test_a_worker_whose_slots_another_one_holds_waits_and_goes_on_when_they_come_free(
    live: Engine, db: Database, sql: "Sql[asyncpg.Record]"
) -> None:
    """The other was killed: nobody renews its share, and nobody takes it before its time."""
    counting = Counting()
    dead, alive = await engine_of(db, counting, "dead"), await engine_of(db, counting, "alive")
    await dead.kernel.shares.refresh(await dead.kernel.clock.now())
    await live.trigger_many("welcome", people(20))

    async with running(Worker(alive)):
        await until(lambda: alive.kernel.slots["fake"].is_short)
        waiting = counting.made.total()
        await sql.execute(
            "update provider_shares set until = clock_timestamp() where worker_id = $1", dead.kernel.shares.worker_id
        )
        await until(lambda: counting.made["alive"] == 20)

    assert waiting == 0
    assert await sql.fetchval("select max(crashes) from queue") is None
    assert await sql.fetchval("select count(*) from outbox where in_doubt or attempts > 1") == 0


async def test_a_drained_worker_leaves_although_the_database_is_gone(
    live: Engine, db: Database, dsn: str, sql: "Sql[asyncpg.Record]"
) -> None:
    counting = Counting()
    own = await Database.open(dsn, connections=2)
    engine = await engine_of(own, counting, "one")
    worker = Worker(engine, poll_seconds=60)
    task = asyncio.create_task(worker.run())
    await until(lambda: engine.kernel.slots["fake"].size > 0)

    await own.close()
    worker.drain()

    async with asyncio.timeout(DEADLINE_SECONDS):
        await task
    assert len(await shares_of(sql)) == 1  # it comes free by itself
