"""Statistics: a queue that ran empty and fills again is not planned for as if it were empty still."""

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, claim, email, graph
from tests.worker.conftest import counted_statements
from tidings.domain.queue import Lane
from tidings.engine import Engine, Trigger
from tidings.kernel.statistics import FEW, LOOK_EVERY, REST

MANY = 6 * FEW * 4
"""In four shards, and some of them get fewer than others."""
BELIEVED = "select reltuples from pg_class where oid = 'queue'::regclass"


@pytest.fixture
async def drained(engine: Engine, sql: Sql) -> None:
    """A queue of which one row was left when it was vacuumed."""
    await engine.define("hello", graph(email()))
    await trigger(engine, "before")
    await sql.execute("delete from queue where id <> (select id from queue order by ctid desc limit 1)")
    await sql.execute("vacuum analyze queue")
    await sql.execute("delete from queue")


async def trigger(engine: Engine, name: str, count: int = MANY) -> None:
    data = {"email": "ada@example.com", "name": "Ada"}
    await engine.trigger_many("hello", [Trigger(f"{name}-{number}", data) for number in range(count)])


@pytest.mark.usefixtures("drained")
async def test_the_first_claim_of_a_queue_that_fills_again_has_the_planner_look_again(
    engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    await trigger(engine, "after")
    assert await sql.fetchval(BELIEVED) == 1

    with counted_statements(monkeypatch) as statements:
        await claim(engine)

    assert statements.count("analyze_queue") == 1
    assert statements.index("analyze_queue") < statements.index("claim_due")
    assert await sql.fetchval(BELIEVED) == MANY


@pytest.mark.usefixtures("drained")
async def test_a_few_rows_are_not_worth_it(engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    await trigger(engine, "after", FEW)

    with counted_statements(monkeypatch) as statements:
        await claim(engine)

    assert "count_rows" in statements
    assert "analyze_queue" not in statements
    assert await sql.fetchval(BELIEVED) == 1


async def test_a_planner_that_knows_is_left_alone(engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    await engine.define("hello", graph(email()))
    await trigger(engine, "before")
    await sql.execute("analyze queue")

    with counted_statements(monkeypatch) as statements:
        await claim(engine)

    assert "believed_rows" in statements
    assert "analyze_queue" not in statements


@pytest.mark.usefixtures("drained")
async def test_it_is_looked_at_once_a_second_and_less_after_a_correction(
    engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard, lane = engine.kernel.every_shard()[0], Lane.TRANSACTIONAL

    async def looks() -> int:
        with counted_statements(monkeypatch) as statements:
            await engine.claim(shard, lane)
            await engine.claim(shard, lane)
        return statements.count("believed_rows")

    assert await looks() == 1
    clock.advance(seconds=LOOK_EVERY.total_seconds())
    await trigger(engine, "after")
    assert await looks() == 1  # and corrected
    clock.advance(seconds=LOOK_EVERY.total_seconds())
    assert await looks() == 0
    clock.advance(seconds=REST.total_seconds())
    assert await looks() == 1
