"""Rule 17: what could not begin is the provider's trouble; items wait, use no attempt, and go out when it is back."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    delay,
    deploy,
    email,
    frozen_in_call,
    plan_runs,
    row,
    start,
    start_many,
    until,
    work,
)
from tests.stored import TESTER, stored_execution
from tests.worker.conftest import counted_statements
from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Keyed
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.retry import OUTAGE_PATIENCE, REFUSED, UNREACHED
from tidings.engine import Engine
from tidings.kernel.gate.outages import TRIALS
from tidings.kernel.gate.rests import read_rests
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider

DOWN = Unavailable("connection refused")
HASTY = dict.fromkeys(Lane, timedelta(minutes=10))
"""An outage of hours is looked at some hundred times: minutes do as well."""
STATUS = "select status, count(*) from outbox group by status"


async def statuses(sql: Sql) -> dict[str, int]:
    return {record["status"]: record["count"] for record in await sql.fetch(STATUS)}


async def look_at_each_rest(engine: Engine, clock: ManualClock, sql: Sql, minutes: float) -> int:
    """Work through an outage: whenever something is due, look; return how often that was."""
    ends_at, looks = clock.time + timedelta(minutes=minutes), 0
    while (due_at := await sql.fetchval("select min(due_at) from queue where lane < 3")) and due_at < ends_at:
        clock.time = max(clock.time, due_at)
        await work(engine)
        looks += 1
    clock.time = ends_at
    return looks


@pytest.mark.parametrize("refused", [False, True])
async def test_rule_17_a_campaign_outlasts_an_outage_and_everybody_is_sent_to_once(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, refused: bool
) -> None:
    provider.answer = Unavailable("535 wrong password" if refused else "connection refused", is_refused=refused)
    await deploy(engine, 200)
    await work(engine)
    await look_at_each_rest(engine, clock, sql, minutes=15)
    during = await statuses(sql)

    provider.answer = None
    before = len(provider.calls)
    clock.advance(minutes=2)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)  # the roll-up

    assert during == {"queued": 200}
    assert await statuses(sql) == {"sent": 200}
    assert Counter(call.recipient for call in provider.calls[before:]).most_common(1)[0][1] == 1
    assert await row(sql, "select max(attempts), min(attempts) from outbox") == (1, 1)
    assert await row(sql, "select count(*) from attempts") == (0,)
    assert await row(sql, "select count(*) from provider_pauses") == (0,)
    assert await sql.fetchval("select status from runs") == "completed"
    await assert_kept(engine)


async def test_rule_17_a_workflow_outlasts_an_outage_that_would_have_used_its_attempts(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    id = await start(engine, email(), delay("wait", "PT1H"), email("bye"))
    await work(engine)
    await look_at_each_rest(engine, clock, sql, minutes=5)
    during = await row(sql, "select status, attempts, in_doubt, marked_at, error from outbox")

    provider.answer = None
    clock.advance(minutes=1)
    await work(engine)
    clock.advance(hours=1)
    await work(engine)

    assert during == ("queued", 0, False, None, "connection refused")
    assert (await stored_execution(engine, id)).status == "completed"
    assert await statuses(sql) == {"sent": 2}


async def test_rule_17_pauses_grow_for_all_workers_together_and_an_answer_ends_the_growth(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    await start_many(engine, 4)
    pauses: list[float] = []
    for worker in (engine, other) * 5:
        await work(worker)
        until = await sql.fetchval("select paused_until from provider_pauses")
        pauses.append((until - clock.time).total_seconds())
        clock.time = until

    provider.answer = None
    await work(other)
    ended = await row(sql, "select count(*) from provider_pauses")
    provider.answer = DOWN
    await engine.trigger("flow", {}, "again")
    await work(engine)

    longest = UNREACHED.longest.total_seconds()
    assert pauses == [min(2.0**number, longest) for number in range(10)]
    assert ended == (0,)
    assert await row(sql, "select times, paused_until - since from provider_pauses") == (1, UNREACHED.shortest)


async def test_rule_17_refused_settings_are_tried_once_a_minute_at_most(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = Unavailable("535 wrong password", is_refused=True)
    await start_many(engine, 4)
    await work(engine)

    await look_at_each_rest(engine, clock, sql, minutes=10)

    assert await row(sql, "select refused, reason from provider_pauses") == (True, "535 wrong password")
    assert len(provider.calls) <= 4 + TRIALS * timedelta(minutes=10) / REFUSED.shortest


async def test_rule_17_many_in_the_air_when_a_provider_dies_are_one_trouble(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.concurrency = 20
    engine = await make_worker(Limits())
    answer = provider.answer = DOWN
    await deploy(engine, 400)
    await plan_runs(engine)

    async with frozen_in_call(engine, provider, calls=5) as answered:
        clock.advance(seconds=5)
        answered.set()
    await work(engine)

    assert answer is DOWN
    assert await row(sql, "select times from provider_pauses") == (1,)
    assert len(provider.calls) <= 4 * 20  # what was marked and had not begun was taken back
    assert await row(sql, "select count(*) from outbox where marked_at is not null or attempts > 0") == (0,)


async def test_rule_17_after_a_rest_a_few_calls_try_and_only_an_answer_lets_the_others_go(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    await deploy(engine, 300)
    await work(engine)
    tries: list[int] = []
    for worker in (engine, other, engine):
        clock.time = await sql.fetchval("select paused_until from provider_pauses")
        before = len(provider.calls)
        await asyncio.gather(work(worker), work(other))
        tries.append(len(provider.calls) - before)

    clock.time = await sql.fetchval("select paused_until from provider_pauses")
    in_the_air: list[int] = []

    async def note(item: Marked) -> Outcome:
        in_the_air.append(len(provider.calls) - before)
        await asyncio.sleep(0)
        return Accepted()

    before = len(provider.calls)
    provider.answer = note
    await work(engine)

    assert all(1 <= tried <= TRIALS for tried in tries)
    assert max(in_the_air[:1]) <= TRIALS
    assert await statuses(sql) == {"sent": 300}


async def test_rule_17_while_one_worker_tries_the_others_wait_and_look_less_and_less_often(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    provider.call_deadline = timedelta(seconds=60)
    await start_many(engine, 12)
    await work(engine)
    clock.time = await sql.fetchval("select paused_until from provider_pauses")

    looks = 0
    async with frozen_in_call(engine, provider) as answered:  # a connection that nobody answers
        trying = len(provider.calls)
        began = clock.time
        while clock.time < began + timedelta(seconds=50):
            await work(other)
            looks += 1
            clock.time = await sql.fetchval("select min(due_at) from queue where not leased")
        assert len(provider.calls) == trying
        provider.answer = None
        answered.set()

    assert looks <= 8
    clock.advance(minutes=1)
    await work(other)
    assert await statuses(sql) == {"sent": 12}


async def test_rule_17_a_worker_that_dies_while_it_tries_is_followed_by_another(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    await start_many(engine, 5)
    await work(engine)
    clock.time = await sql.fetchval("select paused_until from provider_pauses")
    async with frozen_in_call(engine, provider):
        pass

    provider.answer = None
    clock.advance(minutes=10)
    await work(other)

    found = await statuses(sql)
    assert found["sent"] >= 5 - TRIALS
    assert found.get("queued", 0) == await sql.fetchval("select count(*) from outbox where in_doubt")
    assert await row(sql, "select count(*) from provider_pauses") == (0,)


async def test_rule_17_a_rest_that_ends_early_wakes_whoever_waits_for_its_end(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await read_rests(other.kernel, clock.time)  # nobody rests yet
    await start_many(engine, 8, same_shard=True)
    shard = engine.kernel.every_shard()[0]
    first, second = [await other.claim(shard, Lane.TRANSACTIONAL, limit=1) for _ in range(2)]
    provider.answer = Unavailable("535", is_refused=True)
    await work(engine)
    waiting = await row(sql, "select count(*) from queue where due_at = (select paused_until from provider_pauses)")

    provider.answer = None
    clock.advance(milliseconds=500)
    await other.move(shard, Lane.TRANSACTIONAL, first)  # it has not heard of the rest, and gets through
    clock.advance(seconds=1)
    await other.move(shard, Lane.TRANSACTIONAL, second)  # now it has, and knows better
    await work(engine)

    assert waiting[0] == 6
    assert await statuses(sql) == {"sent": 8}
    assert await row(sql, "select count(*) from provider_pauses") == (0,)


async def test_rule_17_an_item_fails_only_when_patience_is_over_and_says_what_it_waited_for(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    engine = await make_worker(Limits(outage_patience=HASTY))
    provider.answer = DOWN
    id = await start(engine)
    await work(engine)
    await look_at_each_rest(engine, clock, sql, minutes=9)
    just_before = await statuses(sql)

    await look_at_each_rest(engine, clock, sql, minutes=3)

    assert just_before == {"queued": 1}
    assert (await stored_execution(engine, id)).status == "failed"
    status, error = await row(sql, "select status, error from outbox")
    assert status == "failed"
    assert error.startswith("gave up after waiting 0:1")
    assert error.endswith("for the provider: connection refused")
    await assert_kept(engine)


async def test_rule_17_a_campaign_fails_after_its_own_patience_and_each_run_waits_from_its_own_start(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    engine = await make_worker(Limits(outage_patience={**OUTAGE_PATIENCE, Lane.CAMPAIGNS: timedelta(minutes=10)}))
    workflow = await start(engine)
    provider.answer = DOWN
    early = await deploy(engine, 20, "early")
    await work(engine)
    await look_at_each_rest(engine, clock, sql, minutes=6)
    late = await deploy(engine, 20, "late")
    await work(engine)
    await look_at_each_rest(engine, clock, sql, minutes=6)
    by_run = "select run_id, status, count(*) from outbox where run_id is not null group by 1, 2"
    then = {record["run_id"]: (record["status"], record["count"]) for record in await sql.fetch(by_run)}

    provider.answer = None
    clock.advance(minutes=1)
    await work(engine)

    assert then == {early: ("failed", 20), late: ("queued", 20)}
    assert await statuses(sql) == {"failed": 20, "sent": 21}
    assert (await stored_execution(engine, workflow)).status == "completed"
    await assert_kept(engine)


async def test_rule_17_a_night_without_workers_is_no_outage_of_a_night(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    await start(engine)
    await work(engine)

    clock.advance(hours=13)
    await work(engine)
    after_the_night = await row(sql, "select o.status, p.times, p.since from outbox o cross join provider_pauses p")
    provider.answer = None
    clock.advance(minutes=1)
    await work(engine)

    assert after_the_night == ("queued", 1, clock.time - timedelta(minutes=1))
    assert await statuses(sql) == {"sent": 1}


async def test_rule_17_an_item_to_which_alone_the_provider_says_so_holds_up_nobody_and_comes_to_an_end(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    def answer(item: Marked) -> Outcome:
        return DOWN if item.recipient == "p7@example.com" else Accepted()

    provider.answer = answer
    await deploy(engine, 60)
    await work(engine)
    looks = await look_at_each_rest(engine, clock, sql, minutes=8)
    soon = await statuses(sql)
    for _ in range(60):
        clock.advance(hours=1)
        await work(engine)

    assert soon == {"sent": 59, "queued": 1}
    assert looks <= 20  # it waits longer each time, by chance a little more or less
    assert await statuses(sql) == {"sent": 59, "failed": 1}


async def test_rule_17_what_waits_longest_in_an_outage_costs_the_same_at_each_look(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.answer = DOWN
    await deploy(engine, 300)
    await work(engine)
    await look_at_each_rest(engine, clock, sql, minutes=3)
    versions = "select count(*) from outbox where xmin::text::bigint > $1"
    [mark] = await row(sql, "select txid_current() % 4294967296")

    with counted_statements(monkeypatch) as statements:
        looks = await look_at_each_rest(engine, clock, sql, minutes=6)

    counted = Counter(statements)
    # Of each look one trial of a few items; the other jobs are let go without reading an item.
    assert counted["load_job_items"] <= looks + 2
    assert counted["insert_attempts"] == 0
    assert (await row(sql, versions, mark))[0] <= TRIALS * looks


async def test_rule_17_lateness_timeouts_and_cancelling_hold_in_an_outage(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    hasty = await deploy(engine, 5, "hasty", max_lateness=timedelta(minutes=10))
    stopped = await deploy(engine, 5, "stopped")
    await work(engine)
    await engine.runs.cancel(TESTER, stopped)
    await look_at_each_rest(engine, clock, sql, minutes=15)

    by_run = "select run_id, status, count(*) from outbox group by 1, 2"
    found = {record["run_id"]: (record["status"], record["count"]) for record in await sql.fetch(by_run)}
    assert found == {hasty: ("skipped", 5), stopped: ("skipped", 5)}


async def test_rule_17_a_doubtful_item_that_meets_an_outage_stays_in_doubt_and_is_repeated_later(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = Keyed(timedelta(hours=24))
    provider.script["ada@example.com"] = [Unknown("reset"), DOWN, DOWN]
    await start(engine, email(onDoubt="hold"))
    await work(engine)

    clock.advance(minutes=1)
    await work(engine)
    meanwhile = await row(sql, "select status, in_doubt, attempts from outbox")
    await look_at_each_rest(engine, clock, sql, minutes=6)

    assert meanwhile == ("queued", True, 1)
    assert await row(sql, "select status, attempts from outbox") == ("sent", 2)


@pytest.mark.parametrize("outcome", [Rejected("no such person"), RetryLater("busy"), Accepted()])
async def test_rule_17_any_answer_ends_an_outage(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, outcome: Outcome
) -> None:
    provider.answer = DOWN
    await start(engine)
    await work(engine)
    provider.answer = outcome
    clock.advance(seconds=2)

    await work(engine)

    assert await row(sql, "select count(*) from provider_pauses") == (0,)


async def test_rule_17_a_trial_without_an_answer_neither_ends_the_outage_nor_lets_others_go(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    await deploy(engine, 50)
    await work(engine)
    provider.answer = Unknown("reset")
    clock.advance(seconds=2)

    await work(engine)

    assert await row(sql, "select count(*) from outbox where in_doubt") == (TRIALS,)
    assert await row(sql, "select count(*) from provider_pauses where since is not null") == (1,)


async def test_rule_17_a_success_that_was_under_way_when_the_rest_began_does_not_end_it(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start_many(engine, 2, same_shard=True)
    shard = engine.kernel.every_shard()[0]
    async with _held_call(engine, provider, shard) as answered:
        provider.answer = DOWN
        clock.advance(seconds=1)
        await engine.work(shard, Lane.TRANSACTIONAL, limit=1)
        provider.answer = None
        answered.set()

    assert await row(sql, "select times from provider_pauses") == (1,)
    assert await statuses(sql) == {"sent": 1, "queued": 1}


@asynccontextmanager
async def _held_call(engine: Engine, provider: FakeProvider, shard: object) -> AsyncIterator[asyncio.Event]:
    """One call that is answered well, but only later."""
    answered, held = asyncio.Event(), list[Marked]()

    async def answer_later(item: Marked) -> Outcome:
        held.append(item)
        await answered.wait()
        return Accepted()

    provider.answer = answer_later
    task = asyncio.create_task(engine.work(engine.kernel.every_shard()[0], Lane.TRANSACTIONAL, limit=1))
    await until(lambda: bool(held))
    yield answered
    await task


async def test_functions_keep_to_their_own_retries_and_rest_nobody(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = DOWN
    await engine.define("calls", {"steps": [{"name": "crm", "function": "crm", "action": "run"}], "maxRetries": 1})
    id = (await engine.trigger("calls", {}, "k1")).id
    await work(engine)
    clock.advance(minutes=1)
    await work(engine)

    assert (await stored_execution(engine, id)).status == "failed"
    assert [item.channel for item in provider.calls] == [Channel.FUNCTION] * 2
    assert await row(sql, "select count(*) from provider_pauses") == (0,)


async def test_an_outage_is_told_in_the_log_when_it_begins_and_when_it_ends(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.answer = DOWN
    with capture_logs() as logs:
        await start(engine)
        await work(engine)
        provider.answer = None
        clock.advance(seconds=2)
        await work(engine)

    [begun] = [line for line in logs if line["event"] == "provider_unavailable"]
    assert (begun["provider"], begun["reason"], begun["log_level"]) == ("fake", "connection refused", "warning")
    assert [line["provider"] for line in logs if line["event"] == "provider_back"] == ["fake"]


async def test_rule_17_a_process_takes_what_was_under_way_for_the_same_trouble_and_no_answer_of_before_for_its_end(
    engine: Engine, clock: ManualClock
) -> None:
    """Without asking the database, which would say the same: a call more would have been made meanwhile."""
    rests, begun, rest = engine.kernel.rests, clock.time, timedelta(seconds=5)
    met, after = begun + timedelta(seconds=1), begun + timedelta(seconds=2)

    assert rests.begin_outage("fake", "no route", begun, met, rest)
    assert not rests.begin_outage("fake", "no route", begun, after, rest)
    assert rests.answered("fake", begun) is None
    assert rests.outage("fake")
    assert rests.answered("fake", after) == after
    assert rests.outage("fake") is None
