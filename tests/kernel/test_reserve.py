"""Reserve: a committed row before anything else (002, invariants 1 and 2)."""

import asyncio

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    delay,
    deploy,
    email,
    plan_runs,
    row,
    start,
    with_lossy_database,
    work,
    work_leases,
    work_once,
)
from tidings.domain.flow.ids import bucket_of_id
from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.keys import campaign_key, workflow_key
from tidings.domain.flow.outcome import Accepted, Outcome
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider


async def test_never_do_call_a_provider_without_an_outbox_row(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    seen: list[tuple[object, ...]] = []
    turn = asyncio.Lock()

    async def look(item: Marked) -> Outcome:
        async with turn:  # what another connection sees is committed
            query = "select status, idempotency_key, marked_attempt, payload is not null from outbox where id = $1"
            seen.append(await row(sql, query, item.id))
        return Accepted()

    provider.answer = look
    await start(engine, email(to=["ada@example.com", "b@example.com"]))
    await deploy(engine, 3)

    await work(engine)

    assert len(provider.calls) == 5
    assert sorted(seen, key=str) == sorted([("queued", call.key, 1, True) for call in provider.calls], key=str)


async def test_never_do_use_a_key_that_is_not_deterministic(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    execution = await start(engine, email(to=["ada@example.com", "b@example.com"]))
    run = await deploy(engine, 2)

    await work(engine)

    expected = {workflow_key(execution, "hello", 1, ordinal) for ordinal in (0, 1)}
    rows = await sql.fetch("select ordinal, id from outbox where run_id is not null")
    buckets = {row["ordinal"]: bucket_of_id(row["id"]) for row in rows}
    expected |= {campaign_key(Channel.EMAIL, run, buckets[ordinal], str(ordinal), "1", None) for ordinal in (1, 2)}
    assert {call.key for call in provider.calls} == expected


async def test_rule_6_a_key_is_of_its_place_in_the_walk_however_often_the_execution_was_claimed(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    people = ["ada@example.com", "b@example.com"]
    execution = await start(engine, delay("first", "PT0S"), email(to=people), email("second", to=people))
    for _ in range(2):  # workers that die before they reserve anything
        await claim(engine)
        clock.advance(minutes=6)

    await work(engine)

    stored = await sql.fetch("select node, ordinal, idempotency_key from outbox")
    assert {tuple(each) for each in stored} == {
        (node, ordinal, workflow_key(execution, node, 1, ordinal)) for node in ("hello", "second") for ordinal in (0, 1)
    }


async def test_never_do_skip_the_key(engine: Engine, sql: Sql) -> None:
    await start(engine)
    await deploy(engine, 3)

    await work(engine)

    assert await sql.fetchval("select bool_and(octet_length(idempotency_key) = 32) from outbox")


async def test_recovery_of_a_crash_after_the_outbox_insert_and_before_the_call_sends_it_once(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine)
    await deploy(engine, 3)
    await plan_runs(engine)
    engine.kernel.draining.set()  # reserves, calls nobody
    await work_once(engine)
    await claim(engine)
    reserved = await row(sql, "select count(*), count(marked_at) from outbox where status = 'queued'")

    clock.advance(minutes=6)
    await work(other)

    assert reserved == (4, 0)
    assert len({call.key for call in provider.calls}) == len(provider.calls) == 4
    assert await row(sql, "select count(*), count(*) filter (where status = 'sent') from outbox") == (4, 4)
    await assert_kept(engine)


@pytest.mark.parametrize("when", ["after", "before"])
async def test_a_reservation_whose_commit_is_unknown_makes_one_item(
    engine: Engine, provider: FakeProvider, sql: Sql, when: str
) -> None:
    await start(engine, email(to=["ada@example.com", "b@example.com"]))
    leases = await claim(engine)
    lossy = with_lossy_database(engine, lose=lambda count: count == 2, when=when)  # 1 loads, 2 reserves

    await work_leases(lossy, leases)

    assert len(provider.calls) == 2
    assert await sql.fetchval("select count(*) from outbox") == 2


async def test_rule_2_a_worker_that_lost_its_lease_reserves_nothing(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine)
    leases = await claim(engine)
    clock.advance(minutes=6)
    other.kernel.draining.set()
    await claim(other)

    await work_leases(engine, leases)

    assert await sql.fetchval("select count(*) from outbox") == 0
    assert provider.calls == []
