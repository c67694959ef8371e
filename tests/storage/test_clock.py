"""The database's time, carried forward for at most ten seconds."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tidings.storage import clock as module
from tidings.storage.clock import LONGEST_CARRY, DatabaseClock, database_time
from tidings.storage.database import Database, Tx

SECOND = timedelta(seconds=1)


class Ticks:
    """The machine's own clock, as a test sets it, and a database that counts how often it is asked."""

    def __init__(self) -> None:
        self.monotonic = 5000.0
        self.database = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
        self.asked = 0
        self.answer_takes = 0.0

    def advance(self, seconds: float) -> None:
        self.monotonic += seconds
        self.database += timedelta(seconds=seconds)

    async def answer(self, _tx: Tx) -> datetime:
        self.asked += 1
        answer = self.database
        self.advance(self.answer_takes)
        return answer


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ticks]:
    ticks = Ticks()
    monkeypatch.setattr(module, "database_time", ticks.answer)
    with monkeypatch.context() as patched:
        patched.setattr(time, "clock_gettime", lambda _clock: ticks.monotonic)
        yield ticks


async def test_the_database_is_asked_once_in_ten_seconds(db: Database, ticks: Ticks) -> None:
    clock = DatabaseClock(db)
    start = ticks.database

    seen = []
    for _ in range(10):
        seen.append(await clock.now() - start)
        ticks.advance(0.999)

    assert ticks.asked == 1
    assert seen == pytest.approx([place * 0.999 * SECOND for place in range(10)], abs=timedelta(microseconds=2))


async def test_an_answer_ten_seconds_old_is_not_carried_further(db: Database, ticks: Ticks) -> None:
    clock = DatabaseClock(db)
    await clock.now()
    ticks.advance(LONGEST_CARRY.total_seconds())
    ticks.database -= 3 * SECOND  # somebody set the database's clock back

    now = await clock.now()

    assert ticks.asked == 2
    assert now == ticks.database


async def test_between_two_answers_the_database_s_clock_may_drift_unseen(db: Database, ticks: Ticks) -> None:
    clock = DatabaseClock(db)
    first = await clock.now()
    ticks.advance(9)
    ticks.database += timedelta(hours=1)

    assert await clock.now() == first + 9 * SECOND
    assert ticks.asked == 1


async def test_an_answer_long_on_its_way_is_counted_from_the_question(db: Database, ticks: Ticks) -> None:
    ticks.answer_takes = 4.0
    clock = DatabaseClock(db)
    asked_at = ticks.database

    now = await clock.now()

    assert now == asked_at + 4 * SECOND


async def test_a_check_that_must_not_wait_asks_nobody(db: Database, ticks: Ticks) -> None:
    clock = DatabaseClock(db)
    start = await clock.now()
    ticks.advance(60)

    assert clock.carried() == start + 60 * SECOND
    assert ticks.asked == 1


async def test_the_time_is_the_database_s_own(db: Database, sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    before = await sql.fetchval("select clock_timestamp()")
    clock = DatabaseClock(db)
    now = await clock.now()
    after = await sql.fetchval("select clock_timestamp()")

    assert before <= now <= after + SECOND
    assert now.tzinfo is not None


async def test_the_time_is_no_transaction_s_start(db: Database) -> None:
    async with db.transaction() as tx:
        first, second = await database_time(tx), await database_time(tx)

    assert first < second
