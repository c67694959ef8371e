"""A connection's limits hold over all workers, whatever moment a period begins at; what has no place waits unharmed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from random import Random

import pytest

from tests.conftest import ManualClock
from tests.kernel.connection_scenes import Outside, connect, engine_with
from tests.kernel.scenes import Sql, deploy, email, graph, row, start_many, work
from tidings.domain.connections.limits import DAY, MINUTE, SECOND, Period, RateRule
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome
from tidings.engine import Engine
from tidings.storage.connection_use import take_places
from tidings.storage.database import Database


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest.fixture
async def engine(db: Database, clock: ManualClock, outside: Outside) -> AsyncIterator[Engine]:
    async with engine_with(db, clock, outside) as engine:
        yield engine


def noted(outside: Outside, clock: ManualClock, token: str = "first") -> list[tuple[datetime, str]]:
    """Have calls through a token noted with their time."""
    calls: list[tuple[datetime, str]] = []

    def answer(item: Marked) -> Outcome:
        calls.append((clock.time, item.recipient))
        return Accepted(None)

    outside[token].answer = answer
    return calls


def most_within(times: Sequence[datetime], period: timedelta) -> int:
    """The most calls in any time of this length."""
    return max((sum(at <= one < at + period for one in times) for at in times), default=0)


async def look_for(engine: Engine, clock: ManualClock, sql: Sql, duration: timedelta) -> None:
    """Work whenever something is due."""
    ends_at = clock.time + duration
    while (due_at := await sql.fetchval("select min(due_at) from queue where lane < 3")) and due_at < ends_at:
        clock.time = max(clock.time, due_at)
        await work(engine)
    clock.time = ends_at


async def test_what_has_no_place_waits_until_one_is_free_and_uses_no_attempt(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first", limits={"perMinute": 5})
    calls = noted(outside, clock)
    await start_many(engine, 12)
    await work(engine)
    assert len(calls) == 5
    assert await row(
        sql, "select max(attempts), count(*) filter (where marked_at is not null) from outbox where status = 'queued'"
    ) == (0, 0)
    assert await row(
        sql, "select min(due_at) > $1, max(due_at) <= $2 from queue", clock.time, clock.time + timedelta(seconds=75)
    ) == (True, True)

    await look_for(engine, clock, sql, timedelta(minutes=5))

    assert len(calls) == 12
    assert most_within([at for at, _ in calls], timedelta(minutes=1)) == 5
    assert await row(sql, "select max(attempts) from outbox") == (1,)


async def test_a_campaign_keeps_to_its_connection_s_limits(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first", limits={"perMinute": 20, "perSecond": 4})
    calls = noted(outside, clock)

    await deploy(engine, 60)
    await work(engine)
    await look_for(engine, clock, sql, timedelta(minutes=10))

    times = [at for at, _ in calls]
    assert len({recipient for _, recipient in calls}) == len(calls) == 60
    assert most_within(times, timedelta(minutes=1)) <= 20
    assert most_within(times, timedelta(seconds=1)) <= 4


async def test_two_workers_share_the_limits(
    db: Database, engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first", limits={"perMinute": 7})
    calls = noted(outside, clock)
    await start_many(engine, 30)

    async with engine_with(db, clock, outside) as other:
        await asyncio.gather(work(engine), work(other))

    assert len(calls) == 7


async def test_a_domain_has_a_limit_of_its_own(engine: Engine, outside: Outside, clock: ManualClock) -> None:
    await connect(engine, "first", limits={"perDomain": {"slow.example": {"perMinute": 2}, "*": {"perMinute": 4}}})
    calls = noted(outside, clock)
    people = [f"{n}@{domain}" for n in range(6) for domain in ("slow.example", "a.example", "b.example")]
    await engine.define("flow", graph(email(to=people)))
    await engine.trigger("flow", {}, "k1")
    await work(engine)

    sent = Counter(recipient.partition("@")[2] for _, recipient in calls)
    assert sent == {"slow.example": 2, "a.example": 4, "b.example": 4}


async def test_domains_that_nothing_is_sent_to_are_forgotten(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first", limits={"perDomain": {"*": {"perMinute": 4}}})
    await engine.define("flow", graph(email(to="{{ to }}")))
    for number in range(3):
        await engine.trigger("flow", {"to": f"ada@d{number}.example"}, f"k{number}")
        await work(engine)
        clock.advance(hours=2)

    assert len(outside["first"].calls) == 3
    assert [one["domain"] for one in await sql.fetch("select domain from connection_use")] == ["d2.example"]


async def test_a_new_connection_warms_up(engine: Engine, outside: Outside, clock: ManualClock, sql: Sql) -> None:
    await connect(engine, "first", limits={"warmUp": [3, 6]})
    calls = noted(outside, clock)
    begun_at = clock.time
    await start_many(engine, 30)
    await work(engine)
    await look_for(engine, clock, sql, timedelta(days=4))

    by_day = Counter((at - begun_at).days for at, _ in calls)
    assert by_day[0] == 3
    assert by_day[1] <= 6
    assert len(calls) == 30  # the third day has no limit


async def test_a_call_that_does_not_begin_in_time_takes_another_place(
    engine: Engine, outside: Outside, clock: ManualClock, sql: Sql
) -> None:
    await connect(engine, "first", limits={"perMinute": 5})
    calls = noted(outside, clock)
    await start_many(engine, 1)
    take, late = engine.kernel.db.persist, [True]

    async def persist(*given: object, **named: object) -> object:
        found: object = await take(*given, **named)  # type: ignore[arg-type]
        if late and isinstance(found, dict) and "" in found:  # its place was taken just now
            late.clear()
            clock.advance(seconds=6)
        return found

    engine.kernel.db.persist = persist  # type: ignore[method-assign, assignment]
    try:
        await work(engine)
    finally:
        engine.kernel.db.persist = take  # type: ignore[method-assign]

    assert len(calls) == 1
    assert await row(sql, "select attempts from outbox") == (1,)
    assert await sql.fetchval("select (select sum(c) from unnest(counts) as c) from connection_use") == 2


async def test_messages_take_the_next_connection_while_a_full_one_says_so(
    engine: Engine, outside: Outside, clock: ManualClock
) -> None:
    await connect(engine, "first", limits={"perMinute": 5, "overflow": True})
    await connect(engine, "second")
    await start_many(engine, 12)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    assert len(outside["first"].calls) == 5
    assert len(outside["second"].calls) == 7


async def test_without_overflow_they_wait(engine: Engine, outside: Outside) -> None:
    await connect(engine, "first", limits={"perMinute": 5})
    await connect(engine, "second")
    await start_many(engine, 12)
    await work(engine)

    assert (len(outside["first"].calls), len(outside["second"].calls)) == (5, 0)


@pytest.mark.parametrize("period", [SECOND, MINUTE, DAY])
async def test_no_period_has_more_calls_than_its_limit_wherever_it_begins(
    db: Database, clock: ManualClock, period: Period
) -> None:
    """Places are taken at random moments, and a call begins at any moment within a part after its place."""
    dice, length = Random(7), timedelta(seconds=period.part_seconds * period.own_parts)
    begun: list[datetime] = []
    for _ in range(300):
        clock.time += timedelta(seconds=period.part_seconds * dice.choice([0, 0, 0.1, 0.5, 1.3, 4]))
        async with db.autocommit() as tx:
            rules = [RateRule("", period, 10)]
            places = await take_places(
                tx, provider="p/1", wanted={"": dice.randint(1, 6)}, rules=rules, warm_up=[], now=clock.time
            )
        late = [timedelta(seconds=period.part_seconds * dice.random()) for _ in range(places[""].granted)]
        begun += [clock.time + one for one in late]

    assert most_within(sorted(begun), length) <= 10
    assert len(begun) > 100


async def test_places_come_free_when_it_says(db: Database, clock: ManualClock) -> None:
    async def take(count: int) -> tuple[int, datetime | None]:
        async with db.autocommit() as tx:
            rules = [RateRule("", MINUTE, 10)]
            found = await take_places(tx, provider="p/1", wanted={"": count}, rules=rules, warm_up=[], now=clock.time)
        return found[""].granted, found[""].free_at

    granted, free_at = await take(25)
    assert granted == 10
    assert free_at
    clock.time = free_at - timedelta(milliseconds=1)
    assert (await take(1))[0] == 0
    clock.time = free_at
    assert (await take(25))[0] == 10
