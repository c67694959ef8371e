"""Doubt: what a crash or a lost answer leaves is never silently resent; the provider's class decides."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    crash_in_call,
    deploy,
    email,
    graph,
    plan_runs,
    row,
    start,
    work,
    work_once,
)
from tests.stored import items_in_doubt, stored_execution, stored_run
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Absent, CannotTell, Doubtful, Evidence, Found, Keyed, Resolvable
from tidings.engine import Engine
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider

A_DAY = Keyed(retention=timedelta(hours=24))
STATE = "select status, in_doubt from outbox"


class Always(Mapping[bytes, Evidence]):
    """The same evidence for every key."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence

    def __getitem__(self, _: bytes) -> Evidence:
        return self.evidence

    def __contains__(self, _: object) -> bool:
        return True

    def __iter__(self) -> object:  # type: ignore[override]
        return iter(())

    def __len__(self) -> int:
        return 1


def answer_look_ups(provider: FakeProvider, evidence: Evidence) -> None:
    provider.evidence = Always(evidence)  # type: ignore[assignment]


async def test_rule_9_unknown_from_a_live_call_is_held_like_a_mark_found_after_a_crash(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = Unknown("connection reset")
    await deploy(engine, 1)

    await work(engine)
    clock.advance(hours=5)
    await work(engine)

    assert len(provider.calls) == 1
    assert await row(sql, "select status, in_doubt, error from outbox") == ("queued", True, "connection reset")
    assert await row(sql, "select attempt, outcome from attempts") == (1, "unknown")


async def test_rule_9_an_owner_whose_only_open_items_are_in_doubt_is_parked_for_an_hour_and_uses_no_attempt(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = Unknown("connection reset")
    await deploy(engine, 1)
    await work(engine)

    parked_until = await sql.fetchval("select due_at from queue where kind = 'job'")
    clock.advance(hours=1)
    await work(engine)

    assert parked_until == clock.time
    assert await sql.fetchval("select due_at from queue where kind = 'job'") == clock.time + timedelta(hours=1)
    assert await row(sql, "select attempts, marked_attempt from outbox") == (1, 1)
    assert len(provider.calls) == 1


async def test_rule_9_an_execution_walks_on_past_a_doubtful_send(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["ada@example.com"] = [Unknown("reset")]
    id = await start(engine, email(), email("second"))

    await work(engine)

    shown = await stored_execution(engine, id)
    assert shown.status is ExecutionStatus.COMPLETED
    assert shown.vars["hello"]["status"] == "in_doubt"  # type: ignore[index]
    assert len(provider.calls) == 2
    assert len(await items_in_doubt(engine)) == 1
    await assert_kept(engine)


async def test_rule_9_an_execution_told_to_hold_waits_and_looks_again_every_hour(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["ada@example.com"] = [Unknown("reset")]
    id = await start(engine, email(onDoubt="hold"), email("second"))

    await work(engine)
    first = await sql.fetchval("select due_at from queue")
    clock.advance(hours=1)
    await work(engine)

    assert first == clock.time
    assert await sql.fetchval("select due_at from queue") == clock.time + timedelta(hours=1)
    assert (await stored_execution(engine, id)).cursor == "hello"
    assert len(provider.calls) == 1


@pytest.mark.parametrize("kind", ["execution", "job"])
async def test_keyed_after_a_crash_is_called_again_with_the_same_key_and_body(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, kind: str
) -> None:
    provider.provider_class = A_DAY
    if kind == "execution":
        await start(engine, email(), email("second"))
    else:
        await deploy(engine, 1)
        await plan_runs(engine)
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)

    await work(other)

    first, again = provider.calls[:2]
    assert (first.key, first.payload, first.attempt) == (again.key, again.payload, again.attempt - 1)
    assert {tuple(each) for each in await sql.fetch(STATE)} == {("sent", False)}
    await assert_kept(engine)


@pytest.mark.parametrize("crashes", [False, True])
async def test_keyed_is_repeated_only_once_the_provider_knows_its_key(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, crashes: bool
) -> None:
    provider.provider_class = Keyed(timedelta(hours=24), settle=timedelta(minutes=20))
    await deploy(engine, 1)
    await plan_runs(engine)
    if crashes:
        await crash_in_call(engine, provider)
        clock.advance(minutes=6)
        await work(other)
    else:
        provider.script["p1@example.com"] = [Unknown("reset")]
        await work(engine)
    calls = len(provider.calls)

    clock.advance(minutes=19)
    await work(other)
    too_early = len(provider.calls)
    clock.advance(minutes=2)
    await work(other)

    assert (calls, too_early, len(provider.calls)) == (1, 1, 2)
    assert await row(sql, STATE) == ("sent", False)
    await assert_kept(engine)


async def test_keyed_walks_on_only_after_the_repeated_call(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.provider_class = A_DAY
    await start(engine, email("first"), email("second"))
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)

    await work(engine)

    assert [call.payload["body"] for call in provider.calls] == ["This is first"] * 2 + ["This is second"]


@pytest.mark.parametrize(("hours", "calls"), [(21.5, 2), (21.7, 1)])
async def test_keyed_beyond_its_retention_less_a_margin_counts_as_blind(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, hours: float, calls: int
) -> None:
    provider.provider_class = A_DAY
    await start(engine)
    await crash_in_call(engine, provider)
    clock.advance(hours=hours)

    await work(engine)

    assert len(provider.calls) == calls
    assert await row(sql, STATE) == (("sent", False) if calls == 2 else ("queued", True))


async def test_retention_counts_from_the_first_call_and_not_from_the_last(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = A_DAY
    await start(engine)
    await crash_in_call(engine, provider)
    clock.advance(hours=20)
    await crash_in_call(engine, provider)
    clock.advance(hours=2)

    await work(engine)

    assert len(provider.calls) == 2
    assert await row(sql, STATE) == ("queued", True)


async def test_a_refusal_of_a_doubtful_keyed_item_keeps_it_in_doubt(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = A_DAY
    provider.script["ada@example.com"] = [Unknown("reset"), RetryLater("busy")]
    await start(engine)

    await work(engine)
    clock.advance(minutes=1)
    await work(engine)
    refused = await row(sql, STATE)
    clock.advance(minutes=1)
    await work(engine)

    assert refused == ("queued", True)
    assert await row(sql, STATE) == ("sent", False)
    assert len(provider.calls) == 3


async def test_a_doubtful_item_out_of_attempts_stays_in_doubt(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = A_DAY
    provider.script["ada@example.com"] = [Unknown("reset"), RetryLater("busy"), RetryLater("busy")]
    id = await start(engine)

    for _ in range(6):
        await work(engine)
        clock.advance(hours=1)

    assert len(provider.calls) == 3
    assert await row(sql, STATE) == ("queued", True)
    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED
    await assert_kept(engine)


@pytest.mark.parametrize("outcomes", [[Unknown("reset")] * 3, [Unknown("reset"), RetryLater("x"), RetryLater("x")]])
async def test_a_doubtful_item_out_of_attempts_is_given_up_where_the_policy_says_so(
    make_worker: MakeWorker,
    clock: ManualClock,
    provider: FakeProvider,
    sql: Sql,
    outcomes: list[Unknown | RetryLater],
) -> None:
    engine = await make_worker(Limits(doubt_policy=DoubtPolicy.GIVE_UP))
    provider.provider_class = A_DAY
    provider.script["ada@example.com"] = list(outcomes)
    id = await start(engine)

    for _ in range(6):
        await work(engine)
        clock.advance(hours=1)

    assert len(provider.calls) == 3
    assert await row(sql, STATE) == ("failed", False)
    assert (await stored_execution(engine, id)).status is ExecutionStatus.FAILED


async def test_blind_is_held_for_ever_by_default(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await deploy(engine, 1)
    await plan_runs(engine)
    await crash_in_call(engine, provider)

    for _ in range(10):
        clock.advance(days=1)
        await work(engine)

    assert len(provider.calls) == 1
    assert await row(sql, STATE) == ("queued", True)
    assert (await stored_run(engine, run)).run.status is RunStatus.RUNNING


@pytest.mark.parametrize("kind", ["execution", "job"])
async def test_blind_is_resent_where_the_policy_says_so_up_to_its_attempts(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql, kind: str
) -> None:
    engine = await make_worker(Limits(doubt_policy=DoubtPolicy.RESEND))
    await _start_one(engine, kind)
    await crash_in_call(engine, provider)
    provider.answer = Unknown("reset")

    for _ in range(12):
        clock.advance(hours=1)
        await work(engine)

    assert len(provider.calls) == (3 if kind == "execution" else 5)
    assert await row(sql, STATE) == ("queued", True)
    await assert_kept(engine)


@pytest.mark.parametrize("kind", ["execution", "job"])
async def test_blind_is_given_up_where_the_policy_says_so(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql, kind: str
) -> None:
    engine = await make_worker(Limits(doubt_policy=DoubtPolicy.GIVE_UP))
    provider.answer = Unknown("reset")
    await (start(engine) if kind == "execution" else deploy(engine, 1))

    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    assert len(provider.calls) == 1
    assert await row(sql, STATE) == ("failed", False)
    await assert_kept(engine)


@pytest.mark.parametrize("kind", ["execution", "job"])
async def test_resolvable_found_is_sent_without_another_call(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, kind: str
) -> None:
    provider.provider_class = Resolvable(authoritative=False, settle=timedelta(minutes=10))
    answer_look_ups(provider, Found("m-7"))
    await _start_one(engine, kind)
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)

    await work(engine)

    assert len(provider.calls) == 1
    assert await row(sql, "select status, in_doubt, provider_message_id from outbox") == ("sent", False, "m-7")
    await assert_kept(engine)


async def test_resolvable_absent_is_resent_only_once_the_doubt_has_had_its_settle_time(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = Resolvable(authoritative=True, settle=timedelta(minutes=10))
    answer_look_ups(provider, Absent())
    await start(engine)
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)

    await work(engine)
    found_at = clock.time
    early = (len(provider.calls), await sql.fetchval("select due_at from queue"))
    clock.advance(minutes=10)
    await work(engine)

    assert early == (1, found_at + timedelta(minutes=10))
    assert len(provider.calls) == 2
    assert await row(sql, STATE) == ("sent", False)
    await assert_kept(engine)


@pytest.mark.parametrize("kind", ["execution", "job"])
async def test_rule_9_absent_after_an_unknown_answer_permits_a_resend_only_after_the_settle_time(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, kind: str
) -> None:
    provider.provider_class = Resolvable(authoritative=True, settle=timedelta(minutes=10))
    answer_look_ups(provider, Absent())
    provider.script = {"ada@example.com": [Unknown("reset")], "p1@example.com": [Unknown("reset")]}
    await (start(engine, email(onDoubt="hold")) if kind == "execution" else deploy(engine, 1))

    await work(engine)
    asked_at = await sql.fetchval("select retry_at from outbox")
    clock.advance(minutes=9, seconds=59)
    await sql.execute("update queue set due_at = $1", clock.time)  # something else has woken its owner
    await work(engine)
    early = len(provider.calls)
    clock.advance(seconds=1)
    await work(engine)

    assert (early, asked_at) == (1, clock.time)
    assert len(provider.calls) == 2
    assert await row(sql, STATE) == ("sent", False)


async def test_resolvable_absent_without_authority_is_held(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = Resolvable(authoritative=False, settle=timedelta(0))
    answer_look_ups(provider, Absent())
    await deploy(engine, 1)
    await plan_runs(engine)
    await crash_in_call(engine, provider)

    for _ in range(5):
        clock.advance(hours=2)
        await work(engine)

    assert len(provider.calls) == 1
    assert await row(sql, STATE) == ("queued", True)


async def test_resolvable_that_never_arrives_ends_with_its_attempts(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = Resolvable(authoritative=True, settle=timedelta(0))
    answer_look_ups(provider, Absent())
    provider.answer = Unknown("reset")
    id = await start(engine)

    for _ in range(6):
        await work(engine)
        clock.advance(minutes=10)

    assert len(provider.calls) == 3
    assert await row(sql, STATE) == ("failed", False)
    assert (await stored_execution(engine, id)).status is ExecutionStatus.FAILED


async def test_a_provider_that_cannot_tell_is_asked_for_an_hour_and_then_a_person_is(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = Resolvable(authoritative=True, settle=timedelta(0))
    answer_look_ups(provider, CannotTell("the status page is down"))
    provider.answer = Unknown("reset")
    id = await start(engine)
    await work(engine)
    asked_again_at = await sql.fetchval("select due_at from queue")

    for minutes in (1, 58, 1):
        clock.advance(minutes=minutes)
        await work(engine)

    assert asked_again_at == clock.time - timedelta(minutes=59)
    assert len(provider.calls) == 1
    assert await row(sql, "select status, in_doubt, retry_at from outbox") == ("queued", True, None)
    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED


@pytest.mark.parametrize("error", [RuntimeError, asyncio.CancelledError])
async def test_a_look_up_that_raises_says_nothing_and_takes_nobody_with_it(
    engine: Engine, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    async def burst(_: Doubtful) -> Evidence:
        raise error

    monkeypatch.setattr(provider, "look_up", burst)
    provider.provider_class = Resolvable(authoritative=True, settle=timedelta(0))
    provider.script["a@example.com"] = [Unknown("reset")]
    await start(engine, email(to=["a@example.com", "b@example.com"]))

    await work(engine)

    found = await sql.fetch("select status, in_doubt from outbox order by ordinal")
    assert [tuple(each) for each in found] == [("queued", True), ("sent", False)]


async def test_a_look_up_is_told_whose_message_it_is_and_what_was_handed_over(
    engine: Engine, clock: ManualClock, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Doubtful] = []

    async def find(item: Doubtful) -> Evidence:
        asked.append(item)
        return Found("m-7")

    monkeypatch.setattr(provider, "look_up", find)
    provider.provider_class = Resolvable(authoritative=False, settle=timedelta(0))
    provider.answer = Unknown("reset")
    here = Workspace("acme", "sales")
    await engine.define("flow", graph(email()), here)
    await engine.trigger("flow", {}, "k1", here)
    await work(engine)
    clock.advance(hours=1)

    await work(engine)

    [item], [call] = asked, provider.calls
    assert (item.workspace, item.recipient, item.key) == (here, call.recipient, call.key)
    assert item.payload == call.payload


async def test_the_end_of_a_repeated_call_decides(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = A_DAY
    provider.script = {
        "a@example.com": [Unknown("reset"), Accepted("m-1")],
        "b@example.com": [Unknown("reset"), Rejected("no")],
    }
    await start(engine, email(to=["a@example.com", "b@example.com"]))

    await work(engine)
    clock.advance(minutes=1)
    await work(engine)

    found = await sql.fetch("select status, in_doubt from outbox order by ordinal")
    assert [tuple(each) for each in found] == [("sent", False), ("failed", False)]


@pytest.mark.parametrize("kind", ["execution", "job"])
async def test_keyed_survives_more_crashes_in_a_row_than_it_has_attempts(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, kind: str
) -> None:
    provider.provider_class = A_DAY
    await _start_one(engine, kind)
    for _ in range(4):
        await crash_in_call(engine, provider)
        clock.advance(minutes=6)

    await work(other)

    assert len(provider.calls) == 5
    assert await row(sql, "select status, in_doubt, attempts from outbox") == ("sent", False, 1)
    await assert_kept(engine)


async def test_resolvable_survives_more_crashes_in_a_row_than_it_has_attempts(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = Resolvable(authoritative=True, settle=timedelta(minutes=1))
    answer_look_ups(provider, Absent())
    await start(engine)
    for _ in range(4):
        await crash_in_call(engine, provider)
        clock.advance(minutes=6)
        await work_once(other)  # sets the settle time
        clock.advance(minutes=2)

    await work(other)

    assert await row(sql, "select status, in_doubt, attempts from outbox") == ("sent", False, 1)
    await assert_kept(engine)


async def test_blind_is_not_resent_more_often_than_it_has_attempts_however_many_crashes(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    worker = await make_worker(Limits(doubt_policy=DoubtPolicy.RESEND))
    await start(worker)
    for _ in range(3):
        await crash_in_call(worker, provider)
        clock.advance(minutes=6)

    await work(worker)

    assert len(provider.calls) == 3
    assert await row(sql, STATE) == ("queued", True)


async def test_a_resend_that_is_rejected_says_nothing_of_the_first_call(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    worker = await make_worker(Limits(doubt_policy=DoubtPolicy.RESEND))
    provider.script["ada@example.com"] = [Unknown("reset"), Rejected("already unsubscribed")]
    await start(worker)

    await work(worker)
    clock.advance(minutes=1)
    await work(worker)

    assert len(provider.calls) == 2
    assert await row(sql, "select status, in_doubt, error from outbox") == ("queued", True, "already unsubscribed")


async def _start_one(engine: Engine, kind: str) -> None:
    if kind == "execution":
        await start(engine)
    else:
        await deploy(engine, 1)
        await plan_runs(engine)
