"""What a connection does not accept takes the next one, under the same key, and nobody is written to twice."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from tests.conftest import ManualClock
from tests.kernel.connection_scenes import Outside, connect, engine_with
from tests.kernel.scenes import Sql, claim, deploy, email, graph, row, start, start_many, work, work_leases
from tests.stored import TESTER
from tidings.domain.flow.item import Fence
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Keyed, ProviderClass, Resolvable
from tidings.engine import Engine
from tidings.storage import outbox
from tidings.storage.database import Database
from tidings.storage.outbox import Move

DOWN = Unavailable("connection refused")
PROVIDERS = "select c.name, count(*) from outbox o join connections c on o.provider = c.kind || '/' || c.id group by 1"


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest.fixture
async def engine(db: Database, clock: ManualClock, outside: Outside) -> AsyncIterator[Engine]:
    async with engine_with(db, clock, outside) as engine:
        yield engine


async def names(sql: Sql) -> dict[str, int]:
    return {record["name"]: record["count"] for record in await sql.fetch(PROVIDERS)}


@pytest.mark.parametrize(
    "answer", [DOWN, Unavailable("535", is_refused=True), RetryLater("451 busy"), RetryLater("429", uses_attempt=False)]
)
async def test_what_is_not_accepted_goes_on_to_the_next_connection_at_once(
    engine: Engine, outside: Outside, sql: Sql, answer: Unavailable | RetryLater
) -> None:
    first, second = await connect(engine, "first"), await connect(engine, "second")
    outside["first"].answer = answer

    await start(engine)
    await work(engine)

    [tried], [sent] = outside["first"].calls, outside["second"].calls
    assert tried.key == sent.key
    assert await row(sql, "select status, provider from outbox") == ("sent", f"outside/{second.id}")
    assert await row(sql, "select attempt, provider, error from attempts") == (
        1,
        f"outside/{first.id}",
        answer.reason,
    )


@pytest.mark.parametrize("keyed", [False, True])
async def test_doubt_never_moves(engine: Engine, outside: Outside, clock: ManualClock, sql: Sql, keyed: bool) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    if keyed:
        outside["first"].provider_class = Keyed(timedelta(hours=24))
    outside["first"].answer = Unknown("reset")

    await start(engine)
    await work(engine)
    outside["first"].answer = DOWN
    for _ in range(20):
        clock.advance(minutes=5)
        await work(engine)

    assert outside["second"].calls == []
    assert await row(sql, "select status, in_doubt from outbox") == ("queued", True)


async def test_a_repeat_in_doubt_that_is_refused_waits_as_its_policy_says(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    outside["first"].provider_class = Keyed(timedelta(hours=24))
    outside["first"].answer = Unknown("reset")
    await start(engine)
    await work(engine)

    outside["first"].answer = RetryLater("451 busy")
    clock.time = await sql.fetchval("select retry_at from outbox")
    await work(engine)

    assert len(outside["first"].calls) == 2
    assert outside["second"].calls == []
    assert await row(sql, "select in_doubt, retry_at > $1 from outbox", clock.time) == (True, True)


async def test_a_refusal_for_good_ends_the_item(engine: Engine, outside: Outside, sql: Sql) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    outside["first"].answer = Rejected("550 no such user")

    await start(engine)
    await work(engine)

    assert outside["second"].calls == []
    assert await row(sql, "select status from outbox") == ("failed",)


async def test_a_sticky_connection_keeps_its_messages(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first", sticky=True)
    await connect(engine, "second")
    outside["first"].answer = DOWN

    await start(engine)
    await work(engine)
    assert outside["second"].calls == []

    outside["first"].answer = None
    clock.advance(minutes=5)
    await work(engine)

    assert await names(sql) == {"first": 1}
    assert outside["second"].calls == []


async def test_while_a_connection_is_out_everything_takes_the_next_and_it_is_tried_again(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    outside["first"].answer = DOWN

    await start_many(engine, 20)
    await work(engine)
    during = len(outside["first"].calls)
    assert await names(sql) == {"second": 20}

    outside["first"].answer = None
    clock.advance(minutes=10)
    for number in range(5):
        await engine.trigger("flow", {}, f"later-{number}")
    await work(engine)

    assert len(outside["second"].calls) == 20
    assert len(outside["first"].calls) == during + 5


async def test_a_campaign_goes_on_through_the_next_connection(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    outside["first"].answer = DOWN

    await deploy(engine, 200)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    assert await row(sql, "select count(*) from outbox where status = 'sent'") == (200,)
    assert len({call.recipient for call in outside["second"].calls}) == len(outside["second"].calls) == 200


async def test_a_disabled_connection_s_messages_take_the_next(
    engine: Engine, outside: Outside, clock: ManualClock
) -> None:
    first = await connect(engine, "first")
    await deploy(engine, 5, scheduled_for=clock.time + timedelta(minutes=1))
    await connect(engine, "second")
    await engine.connections.update(TESTER, first.id, {"enabled": False})
    clock.advance(minutes=2)
    await work(engine)

    assert outside["first"].calls == []
    assert len(outside["second"].calls) == 5


async def test_a_removed_connection_s_messages_take_the_next_though_it_was_sticky(
    engine: Engine, outside: Outside, clock: ManualClock
) -> None:
    first = await connect(engine, "first", sticky=True)
    await deploy(engine, 5, scheduled_for=clock.time + timedelta(minutes=1))
    await connect(engine, "second")
    await engine.connections.delete(TESTER, first.id)
    clock.advance(minutes=2)
    await work(engine)

    assert outside["first"].calls == []
    assert len(outside["second"].calls) == 5


async def test_after_the_last_connection_the_next_round_begins_with_the_first_after_the_policy_s_wait(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    outside["first"].answer = outside["second"].answer = RetryLater("451 busy")

    await start(engine)
    await work(engine)
    assert [len(outside[name].calls) for name in ("first", "second")] == [1, 1]
    assert await names(sql) == {"first": 1}
    assert await row(sql, "select attempts, retry_at > $1 from outbox", clock.time) == (2, True)

    outside["first"].answer = None
    clock.advance(minutes=1)
    await work(engine)

    assert [len(outside[name].calls) for name in ("first", "second")] == [2, 1]


async def test_a_mark_left_by_a_dead_worker_is_doubt_with_its_own_connection(
    db: Database, engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    outside["first"].hang = asyncio.Event()
    await start(engine)
    leases = await claim(engine)
    frozen = asyncio.create_task(work_leases(engine, leases))
    while not outside["first"].calls:
        await asyncio.sleep(0.01)
    frozen.cancel()
    await asyncio.gather(frozen, return_exceptions=True)
    outside["first"].hang, outside["first"].answer = None, DOWN

    async with engine_with(db, clock, outside) as other:
        clock.advance(minutes=10)
        await work(other)

    assert outside["second"].calls == []
    assert await row(sql, "select in_doubt, provider like 'outside/%' from outbox") == (True, True)
    assert await names(sql) == {"first": 1}


async def test_a_worker_that_lost_its_lease_moves_nothing(
    db: Database, engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    outside["first"].hang = asyncio.Event()
    outside["first"].answer = RetryLater("451 busy")
    await start(engine)
    late = asyncio.create_task(work_leases(engine, await claim(engine)))
    while not outside["first"].calls:
        await asyncio.sleep(0.01)
    async with engine_with(db, clock, outside) as other:
        clock.advance(minutes=10)
        await work(other)  # takes the mark for a crash: in doubt
        outside["first"].hang.set()
        await late

    assert outside["second"].calls == []
    assert await names(sql) == {"first": 1}
    assert await row(sql, "select in_doubt from outbox") == (True,)


async def test_weights_share_out_recipients_and_a_recipient_keeps_its_connection(
    engine: Engine, outside: Outside, clock: ManualClock
) -> None:
    await connect(engine, "light", position=1, weight=1)
    await connect(engine, "heavy", position=1, weight=4)
    for key in ("c1", "c2"):
        await deploy(engine, 200, key)
        await work(engine)
        clock.advance(seconds=1)
        await work(engine)

    light, heavy = outside.recipients("light"), outside.recipients("heavy")
    assert len(light) + len(heavy) == 400
    assert set(light).isdisjoint(heavy)
    assert 0.1 < len(light) / 400 < 0.3


async def test_a_recipient_that_a_connection_cannot_reach_takes_one_that_can(engine: Engine, outside: Outside) -> None:
    await connect(engine, "first")
    await engine.define("flow", graph(email(to="never-ada@example.com")))
    await engine.trigger("flow", {}, "k1")
    await work(engine)

    assert outside.recipients("first") == ["never-ada@example.com"]  # the only one says why


async def test_of_all_that_are_closed_the_first_that_opens_is_waited_for(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first")
    await connect(engine, "second")
    outside["first"].answer = RetryLater("429", timedelta(seconds=20), uses_attempt=False)
    outside["second"].answer = RetryLater("429", timedelta(seconds=200), uses_attempt=False)
    await start(engine)
    await work(engine)

    outside["first"].answer = outside["second"].answer = Accepted("m")
    clock.advance(seconds=25)
    await work(engine)

    assert await names(sql) == {"first": 1}
    assert await row(sql, "select status from outbox") == ("sent",)


async def test_only_what_cannot_have_arrived_moves_and_only_under_its_lease(
    db: Database, engine: Engine, outside: Outside, sql: Sql
) -> None:
    await connect(engine, "first")
    await start(engine)
    outside["first"].answer = RetryLater("451 busy")
    await work(engine)
    item = await sql.fetchrow("select shard, id, execution_id, marked_attempt, provider from outbox")
    assert item
    await sql.execute("update queue set fence = 7")
    fresh = Move(item["id"], item["execution_id"], Fence(7), item["marked_attempt"], item["provider"], "other")

    async def moves(change: str, move: Move = fresh) -> bool:
        async with sql.transaction():
            await sql.execute(f"update outbox set {change}")
        async with db.autocommit() as tx:
            moved = await outbox.move_items(tx, shard=item["shard"], moves=[move])
        await sql.execute("update outbox set provider = $1", item["provider"])
        return bool(moved)

    untouched = "status = 'queued', marked_at = null, in_doubt = false, finalized_at = null"
    assert not await moves("in_doubt = true")
    assert not await moves("marked_at = now(), in_doubt = false")
    assert not await moves("status = 'sent', marked_at = null, finalized_at = now()")
    assert not await moves(untouched, replace(fresh, fence=Fence(6)))
    assert not await moves(untouched, replace(fresh, attempt=fresh.attempt + 1))
    assert not await moves(untouched, replace(fresh, before="another"))
    assert await moves(untouched)


@pytest.mark.parametrize("change", [{"credentials": {"token": "other"}}, {"settings": {"region": "us"}}])
@pytest.mark.parametrize("known_as", [Keyed(timedelta(hours=24)), Resolvable(authoritative=True, settle=timedelta(0))])
async def test_doubt_is_a_persons_once_its_connection_may_lead_to_another_account(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql, known_as: ProviderClass, change: dict[str, object]
) -> None:
    made = await connect(engine, "first")
    for token in ("first", "other"):
        outside[token].provider_class = known_as
    outside["first"].answer = Unknown("reset")
    await start(engine)
    await work(engine)

    await engine.connections.update(TESTER, made.id, change)
    outside["first"].answer = Accepted()
    for _ in range(5):
        clock.advance(minutes=5)
        await work(engine)

    assert (len(outside["first"].calls), len(outside["other"].calls)) == (1, 0)
    assert await row(sql, "select status, in_doubt from outbox") == ("queued", True)


async def test_a_change_that_leads_to_the_same_account_leaves_doubt_to_its_key(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    made = await connect(engine, "first")
    outside["first"].provider_class = Keyed(timedelta(hours=24))
    outside["first"].answer = Unknown("reset")
    await start(engine)
    await work(engine)

    same = {"credentials": {"token": "first"}, "name": "renamed", "limits": {"perMinute": 600}}
    await engine.connections.update(TESTER, made.id, same)
    outside["first"].answer = Accepted()
    for _ in range(5):
        clock.advance(minutes=5)
        await work(engine)

    assert len({call.key for call in outside["first"].calls}) == 1
    assert await row(sql, "select status, in_doubt from outbox") == ("sent", False)
