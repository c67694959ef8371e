"""Statistics: a queue that ran empty and fills again is not planned for as if it were empty still."""

from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, email, graph
from tests.worker.conftest import counted_statements
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Claimed, Lane
from tidings.engine import Engine, Trigger
from tidings.kernel.planner import FEW, LONG_REST, LOOK_EVERY, REST
from tidings.storage import statistics
from tidings.storage.database import TransientFailure

SHARDS = 4
MANY = 2 * FEW * SHARDS
BELIEVED = "select reltuples from pg_class where oid = 'queue'::regclass"


@pytest.fixture
async def drained(engine: Engine, sql: Sql) -> None:
    """A queue of which one row was left when it was vacuumed."""
    await sql.execute("alter table queue set (autovacuum_enabled = off)")
    await engine.define("hello", graph(email()))
    await trigger(engine, "before")
    await sql.execute("delete from queue where id <> (select id from queue order by ctid desc limit 1)")
    await sql.execute("vacuum analyze queue")
    await sql.execute("delete from queue")
    assert await sql.fetchval(BELIEVED) == 1


async def trigger(engine: Engine, name: str, count: int = MANY) -> None:
    data = {"email": "ada@example.com", "name": "Ada"}
    await engine.trigger_many("hello", [Trigger(f"{name}-{number}", data) for number in range(count)])


async def claim_one(engine: Engine) -> list[Claimed]:
    """A claim that leaves something, and so has a reason to look."""
    return await engine.claim(Shard(0), Lane.TRANSACTIONAL, limit=1)


@pytest.mark.usefixtures("drained")
async def test_a_full_claim_has_the_planner_look_again(
    engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    await trigger(engine, "after")

    with counted_statements(monkeypatch) as statements, capture_logs() as logs:
        await claim_one(engine)

    looked = [name for name in statements if name != "notify"]  # of those who were triggered
    assert looked == ["claim_due", "believed_rows", "count_due", "analyze_queue", "believed_rows"]
    assert await sql.fetchval(BELIEVED) == MANY
    assert {"event": "queue_analyzed", "log_level": "info", "believed": 1, "rows": MANY} in logs


@pytest.mark.usefixtures("drained")
async def test_a_few_rows_are_not_worth_it(engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    await trigger(engine, "after", FEW * SHARDS * 3 // 4)

    with counted_statements(monkeypatch) as statements:
        await claim_one(engine)

    assert "count_due" in statements
    assert "analyze_queue" not in statements
    assert await sql.fetchval(BELIEVED) == 1


@pytest.mark.usefixtures("drained")
async def test_a_claim_that_took_all_there_was_is_no_reason_to_look(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await trigger(engine, "after", 20)

    with counted_statements(monkeypatch) as statements:
        for _ in range(3):
            await engine.claim(Shard(0), Lane.TRANSACTIONAL)

    assert "claim_due" in statements
    assert "believed_rows" not in statements


async def test_a_planner_that_knows_is_left_alone(engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    await engine.define("hello", graph(email()))
    await trigger(engine, "before")
    await sql.execute("analyze queue")

    with counted_statements(monkeypatch) as statements:
        await claim_one(engine)

    assert "believed_rows" in statements
    assert "analyze_queue" not in statements


@pytest.mark.usefixtures("drained")
async def test_it_is_looked_at_once_a_second_and_less_after_a_correction(
    engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await trigger(engine, "after", SHARDS * FEW // 2)

    async def looks_after(time: timedelta) -> int:
        clock.advance(seconds=time.total_seconds())
        with counted_statements(monkeypatch) as statements:
            await claim_one(engine)
            await claim_one(engine)
        return statements.count("count_due")

    assert await looks_after(timedelta()) == 1
    assert await looks_after(LOOK_EVERY / 2) == 0
    await trigger(engine, "more")
    assert await looks_after(LOOK_EVERY) == 1  # and it is corrected
    assert await looks_after(LOOK_EVERY) == 0
    assert await looks_after(REST) == 1


@pytest.mark.usefixtures("drained")
@pytest.mark.parametrize("trouble", ["skipped", "too long"])
async def test_a_correction_that_comes_to_nothing_holds_no_claim_up_and_is_not_tried_again_soon(
    engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    async def analyze_nothing(_tx: Any) -> None:
        if trouble == "too long":
            raise TransientFailure("canceling statement due to transaction timeout")

    monkeypatch.setattr(statistics, "analyze_queue", analyze_nothing)
    await trigger(engine, "after")

    with capture_logs() as logs:
        claimed = [await claim_one(engine) for _ in range(2)]
        clock.advance(seconds=(LONG_REST / 2).total_seconds())
        claimed += [await claim_one(engine) for _ in range(2)]

    assert [len(leases) for leases in claimed] == [1] * 4
    assert [line["event"] for line in logs] == ["queue_not_analyzed"]
