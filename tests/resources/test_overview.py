"""The overview: what happens just now, the same however many ask."""

import asyncio
from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql
from tests.resources.campaign_scenes import ANN, deploy, make_contacts
from tests.resources.test_dead_letters import fail
from tidings.domain.caller import Caller
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.outcome import Rejected, RetryLater, Unknown
from tidings.engine import Engine
from tidings.kernel.process import call_counts
from tidings.providers.fake import FakeProvider
from tidings.resources.kept_briefly import KeptBriefly


async def test_it_shows_how_calls_ended_by_the_minute_and_what_is_left(
    engine: Engine, clock: ManualClock, provider: FakeProvider, stranger: Caller
) -> None:
    await make_contacts(engine, 6)
    provider.script = {
        "p1@example.com": [Rejected("550 no such user")],
        "p2@example.com": [Unknown("cut off")],
        "p3@example.com": [RetryLater("busy", timedelta(minutes=10))],
    }
    await deploy(engine)
    await engine.work_everything()

    shown = await engine.overview.get(ANN.workspace)

    minute = clock.time.replace(second=0, microsecond=0)
    counts = {(one.at, one.channel, one.outcome): one.count for one in shown.minutes}
    assert counts == {
        (minute, "email", "sent"): 3,
        (minute, "email", "failed"): 1,
        (minute, "email", "inDoubt"): 1,
        (minute, "email", "retry"): 1,
    }
    assert (shown.sent_today, shown.failed_today, shown.in_doubt, shown.runs_open) == (3, 1, 1, 1)
    assert (shown.queued, shown.lag_seconds) == (0, 0)
    others = await engine.overview.get(stranger.workspace)
    assert (others.minutes, others.sent_today, others.failed_today, others.in_doubt, others.runs_open) == (
        [],
        0,
        0,
        0,
        0,
    )


async def test_what_is_due_and_nobody_has_lags(engine: Engine, clock: ManualClock, caller: Caller) -> None:
    await fail(engine, caller)
    await engine.executions.trigger(caller, "flow", {}, "k2")
    clock.advance(seconds=30)

    shown = await engine.overview.get(caller.workspace)

    assert (shown.queued, shown.executions_open, shown.lag_seconds) == (1, 1, 30)
    assert shown.waiting == ["no worker is running"]


async def test_a_failed_execution_is_one_failure_and_yesterday_s_are_not_today_s(
    engine: Engine, clock: ManualClock, caller: Caller, provider: FakeProvider
) -> None:
    provider.script = {"bob@example.com": [Rejected("mailbox is full")]}
    await fail(engine, caller)

    today = await engine.overview.get(caller.workspace)
    clock.advance(days=1)
    tomorrow = await engine.overview.get(caller.workspace, 10)

    assert (today.failed_today, today.sent_today) == (1, 1)
    assert (tomorrow.failed_today, tomorrow.sent_today, tomorrow.minutes) == (0, 0, [])


async def test_counts_are_written_while_nobody_looks_and_forgotten_after_two_days(
    engine: Engine, clock: ManualClock, caller: Caller, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_counts, "WRITTEN_EVERY_SECONDS", 0.01)
    await fail(engine, caller)
    async with asyncio.timeout(5):
        while await sql.fetchval("select coalesce(sum(calls), 0) from call_counts") < 2:
            await asyncio.sleep(0.01)
    clock.advance(days=3)
    await engine.executions.trigger(caller, "flow", {}, "k2")
    await engine.work_everything()
    await engine.kernel.call_counts.close()

    assert await sql.fetchval("select sum(calls) from call_counts") == 2
    assert await sql.fetchval("select count(distinct minute) from call_counts") == 1


async def test_many_who_ask_at_once_cost_what_one_does() -> None:
    made: list[int] = []
    kept: KeptBriefly[str, int] = KeptBriefly(60)

    async def make() -> int:
        made.append(1)
        await asyncio.sleep(0)
        return len(made)

    first = await asyncio.gather(*(kept.get("a", make) for _ in range(20)))
    again, other = await kept.get("a", make), await kept.get("b", make)

    assert (first, again, other) == ([1] * 20, 1, 2)


async def test_a_failure_is_not_kept() -> None:
    kept: KeptBriefly[str, int] = KeptBriefly(60)

    async def fails() -> int:
        raise InputInvalid("no")

    async def works() -> int:
        return 1

    with pytest.raises(InputInvalid):
        await kept.get("a", fails)

    assert await kept.get("a", works) == 1


async def test_minutes_are_within_a_day(engine: Engine, caller: Caller) -> None:
    for minutes in (0, 1_441):
        with pytest.raises(InputInvalid, match="use 1 to 1,440"):
            await engine.overview.get(caller.workspace, minutes)
