"""The worker's loop on the real database."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID, uuid4

import asyncpg
import pytest
from structlog.testing import capture_logs

from tests.worker.conftest import DEADLINE_SECONDS, counted_statements, live_engine, running, until
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Fence, Marked
from tidings.domain.flow.outcome import Accepted, Outcome
from tidings.domain.flow.queue import Claimed, Kind, Lane
from tidings.engine import Engine, Trigger
from tidings.kernel.process.in_hand import AT_ONCE
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.worker.loop import ALONE_AFTER, Worker

Sql = asyncpg.Connection
HOURS = 300.0  # longer than any test: nothing here is found by polling


def people(count: int) -> list[Trigger]:
    return [Trigger(f"k{number}", {"email": f"p{number}@example.com"}) for number in range(count)]


async def test_draining_finishes_what_is_in_the_air_and_leaves_nothing_in_doubt(
    live: Engine, db: Database, provider: FakeProvider, sql: "Sql[asyncpg.Record]"
) -> None:
    provider.hang = asyncio.Event()
    await live.trigger_many("welcome", people(300))
    worker = Worker(live, poll_seconds=HOURS)
    task = asyncio.create_task(worker.run())
    await until(lambda: len(provider.calls) >= 50)

    worker.drain()
    provider.hang.set()
    async with asyncio.timeout(DEADLINE_SECONDS):
        await task

    sent = len(provider.calls)
    assert 50 <= sent < 300
    items = await sql.fetchrow(
        "select count(*) filter (where status = 'sent') as sent, count(*) filter (where in_doubt) as doubtful, "
        "count(*) filter (where status = 'queued' and marked_at is not null) as marked from outbox"
    )
    assert dict(items or {}) == {"sent": sent, "doubtful": 0, "marked": 0}
    assert await sql.fetchval("select count(*) from queue where leased") == 0

    provider.hang = None
    async with running(Worker(await live_engine(db, provider), poll_seconds=HOURS)):
        await until(lambda: len(provider.calls) == 300)
    assert Counter(call.recipient for call in provider.calls).most_common(1)[0][1] == 1


async def test_a_notification_wakes_the_worker_long_before_it_would_look(live: Engine, provider: FakeProvider) -> None:
    with capture_logs():
        async with running(Worker(live, poll_seconds=HOURS)):
            await live.trigger("welcome", {"email": "first@example.com"}, "k1")
            await until(lambda: len(provider.calls) == 1)
            await live.trigger("welcome", {"email": "second@example.com"}, "k2")
            await until(lambda: len(provider.calls) == 2)


@pytest.mark.usefixtures("deaf")
async def test_without_notifications_work_is_found_by_polling(live: Engine, provider: FakeProvider) -> None:
    async with running(Worker(live, poll_seconds=0.1)):
        await live.trigger("welcome", {"email": "first@example.com"}, "k1")
        await until(lambda: len(provider.calls) == 1)
        await live.trigger("welcome", {"email": "second@example.com"}, "k2")
        await until(lambda: len(provider.calls) == 2)


@pytest.mark.usefixtures("deaf")
async def test_the_worker_sleeps_until_the_next_due_time(
    live: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[tuple[str, float]] = []

    def note(item: Marked) -> Outcome:
        times.append((item.channel, monotonic()))
        return Accepted("m")

    provider.answer = note
    await live.trigger("nudge", {"email": "ann@example.com"}, "k1")
    with counted_statements(monkeypatch) as statements:
        async with running(Worker(live, poll_seconds=HOURS)):
            await until(lambda: len(times) == 2)

    assert [channel for channel, _ in times] == ["email", "sms"]
    assert 0.7 <= times[1][1] - times[0][1] < 5
    assert Counter(statements)["claim_due"] <= 8
    assert Counter(statements)["next_due"] <= 5 * 4


@pytest.mark.usefixtures("deaf")
async def test_an_idle_worker_asks_each_shard_once_for_each_poll_and_nothing_else(
    live: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll_seconds, rounds = 0.2, 5
    shards = len(live.kernel.every_shard())
    began = monotonic()

    with counted_statements(monkeypatch) as statements:
        async with running(Worker(live, poll_seconds=poll_seconds)):
            await until(lambda: Counter(statements)["next_due"] >= rounds * shards)

    assert monotonic() - began >= (rounds - 1) * poll_seconds
    others = Counter(statements)
    del others["next_due"]
    # It says that it lives: once at its start (who was long gone is forgotten then), and once that it leaves.
    assert others.keys() <= {"database_time", "beat_worker", "forget_workers", "remove_worker"}
    assert others.total() <= 5


@pytest.mark.usefixtures("deaf")
async def test_a_busy_worker_claims_and_asks_what_is_next_only_once_a_claim_finds_nothing(
    live: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = len(live.kernel.every_shard())
    await live.trigger_many("welcome", people(400))
    with counted_statements(monkeypatch) as statements:
        async with running(Worker(live, batch=4, poll_seconds=HOURS)):
            await until(lambda: len(provider.calls) == 400)

    assert Counter(statements)["release_executions"] >= 100
    assert Counter(statements)["next_due"] <= 8 * shards


@pytest.mark.usefixtures("deaf")
async def test_a_batch_that_ends_while_the_database_answers_is_asked_about_once_more(
    live: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer may be from before its release, when its row was leased for minutes."""
    worker = Worker(live, poll_seconds=HOURS)
    ask, hang = live.next_due, asyncio.Event()
    provider.hang = hang

    async def answer_late(shard: Shard) -> Mapping[Lane, datetime]:
        stale = await ask(shard)
        if provider.calls and not hang.is_set() and shard == live.kernel.shard_of(started.id):
            hang.set()
            await until(lambda: worker._moved)
        return stale

    monkeypatch.setattr(live, "next_due", answer_late)
    started = await live.trigger("nudge", {"email": "ann@example.com"}, "k1")
    async with running(worker):
        await until(lambda: len(provider.calls) == 1)
        worker._heard(None)  # have every shard asked about
        await until(lambda: len(provider.calls) == 2)


@pytest.mark.usefixtures("deaf")
@pytest.mark.parametrize("is_told", [False, True])
async def test_a_shard_that_always_has_more_does_not_keep_the_others_waiting(
    live: Engine, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    clock, (busy, other, *_) = live.kernel.clock, live.kernel.every_shard()
    later = await clock.now() + timedelta(milliseconds=300)
    slots, claimed, ends = AT_ONCE[Lane.TRANSACTIONAL], list[Shard](), asyncio.Semaphore(0)

    async def next_due(shard: Shard) -> Mapping[Lane, datetime]:
        times = {busy: clock.carried(), other: later}
        return {Lane.TRANSACTIONAL: times[shard]} if shard in times else {}

    async def claim(shard: Shard, _lane: Lane, _limit: int) -> list[Claimed]:
        if not live.kernel.in_hand.is_open(Lane.TRANSACTIONAL):
            return []  # as a claim does while all that is due is of one who may have no more under way
        claimed.append(shard)
        return [Claimed(uuid4(), Kind.EXECUTION, Fence(1), 0, None, clock.carried())]

    async def move(_shard: Shard, _lane: Lane, _claimed: Sequence[Claimed]) -> None:
        await ends.acquire()

    monkeypatch.setattr(live, "next_due", next_due)
    monkeypatch.setattr(live, "claim", claim)
    monkeypatch.setattr(live, "move", move)
    worker = Worker(live, poll_seconds=HOURS)
    async with running(worker):
        await until(lambda: len(claimed) == slots and clock.carried() > later)
        for batches in range(slots + 1, slots + 5):  # as one ends, the next begins
            if is_told:  # of more in both
                worker._heard({(busy, Lane.TRANSACTIONAL), (other, Lane.TRANSACTIONAL)})
            ends.release()
            await until(lambda: len(claimed) == batches)  # noqa: B023
        live.kernel.draining.set()
        for _ in range(2 * slots):
            ends.release()

    assert claimed[:slots] == [busy] * slots
    assert other in claimed


async def test_what_is_heard_while_the_database_answers_is_not_forgotten(
    live: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer may be older than the notification: it must not overwrite it until the next poll."""
    worker = Worker(live, poll_seconds=HOURS)
    ask, asked = live.next_due, 0

    async def answer_late(shard: Shard) -> Mapping[Lane, datetime]:
        nonlocal asked
        stale = await ask(shard)
        asked += 1
        if asked == 1:
            await live.trigger("welcome", {"email": "ann@example.com"}, "k1")
            worker._heard({(every, Lane.TRANSACTIONAL) for every in live.kernel.every_shard()})
        return stale

    monkeypatch.setattr("tidings.worker.loop.listen", _hear_nothing)
    monkeypatch.setattr(live, "next_due", answer_late)
    async with running(worker):
        await until(lambda: len(provider.calls) == 1)


async def _hear_nothing(*_: object) -> None:
    await asyncio.Event().wait()


async def test_a_batch_that_raises_is_logged_and_the_loop_goes_on(
    live: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = live.move
    raised: list[Sequence[Claimed]] = []

    async def move_or_raise(shard: Shard, lane: Lane, claimed: Sequence[Claimed]) -> None:
        if not raised:
            raised.append(claimed)
            raise ZeroDivisionError("nobody foresaw this")
        await move(shard, lane, claimed)

    monkeypatch.setattr(live, "move", move_or_raise)
    with capture_logs() as logs:
        async with running(Worker(live, poll_seconds=HOURS)):
            await live.trigger("welcome", {"email": "first@example.com"}, "first")
            await until(lambda: raised)
            await live.trigger_many("welcome", people(20))
            await until(lambda: len(provider.calls) == 20)

    [failure] = [line for line in logs if line["event"] == "batch_failed"]
    assert (failure["lane"], failure["log_level"]) == ("transactional", "error")
    assert failure["shard"] == live.kernel.shard_of(raised[0][0].id)


async def test_a_claim_that_keeps_failing_does_not_spin(live: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []

    async def fail(*_: object) -> None:
        times.append(monotonic())
        raise ZeroDivisionError

    await live.trigger("welcome", {"email": "ann@example.com"}, "k1")
    monkeypatch.setattr(live, "claim", fail)
    with capture_logs():
        async with running(Worker(live, poll_seconds=HOURS)):
            await until(lambda: len(times) >= 2 and times[-1] - times[0] > 0.5)

    assert len(times) <= 6  # a few are started before the first has failed


async def test_a_look_that_fails_is_logged_and_done_again(
    live: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = live.next_due
    failed: list[Shard] = []

    async def ask_or_raise(shard: Shard) -> Mapping[Lane, datetime]:
        if not failed:
            failed.append(shard)
            raise ZeroDivisionError
        return await ask(shard)

    monkeypatch.setattr(live, "next_due", ask_or_raise)
    await live.trigger("welcome", {"email": "ann@example.com"}, "k1")
    with capture_logs() as logs:
        async with running(Worker(live, poll_seconds=HOURS)):
            await until(lambda: len(provider.calls) == 1)

    assert "look_failed" in [line["event"] for line in logs]


async def test_a_worker_leaves_the_lanes_of_others_alone(live: Engine, provider: FakeProvider) -> None:
    await live.trigger("welcome", {"email": "ann@example.com"}, "k1")

    with capture_logs() as logs:
        async with running(Worker(live, lanes=(Lane.CAMPAIGNS, Lane.RUNS), poll_seconds=0.05)):
            await until(lambda: any(line["event"] == "worker_started" for line in logs))
            async with running(Worker(live, lanes=(Lane.SEQUENCES,), poll_seconds=0.05)):
                pass

    assert provider.calls == []


async def make_suspects(live: Engine, sql: "Sql[asyncpg.Record]", count: int) -> list[UUID]:
    """Work that two workers have died with, in as many shards as there are."""
    started = [
        (await live.trigger("welcome", {"email": f"s{number}@example.com"}, f"s{number}")).id for number in range(count)
    ]
    await sql.execute("update queue set crashes = $1, leased = true, fence = fence + 1", ALONE_AFTER - 1)
    return started


@pytest.mark.usefixtures("deaf")
async def test_suspects_do_not_wait_for_each_other_and_the_healthy_go_on(
    live: Engine, provider: FakeProvider, sql: "Sql[asyncpg.Record]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is claimed before the first may begin; waiting for one another took them a quarter of a lease."""
    suspects = await make_suspects(live, sql, 8)
    shards = {live.kernel.shard_of(id) for id in suspects}
    claim, claimed, every = live.claim, set[Shard](), asyncio.Event()

    async def claim_together(shard: Shard, lane: Lane, limit: int = 100) -> list[Claimed]:
        leases = await claim(shard, lane, limit)
        claimed.add(shard)
        if claimed >= shards:
            every.set()
        await every.wait()
        return leases

    monkeypatch.setattr(live, "claim", claim_together)
    async with running(Worker(live, poll_seconds=0.1)):
        await until(every.is_set)
        await live.trigger("welcome", {"email": "healthy@example.com"}, "healthy")
        await until(lambda: len(provider.calls) == len(suspects) + 1)

    assert len(shards) > 1
    assert Counter(call.recipient for call in provider.calls).most_common(1)[0][1] == 1
    assert await sql.fetchval("select count(*) from queue") == 0


@pytest.mark.usefixtures("deaf")
async def test_rule_7_what_has_crashed_twice_has_the_process_to_itself(
    live: Engine, provider: FakeProvider, sql: "Sql[asyncpg.Record]", monkeypatch: pytest.MonkeyPatch
) -> None:
    suspects = set(await make_suspects(live, sql, 3))
    for number in range(40):
        await live.trigger("welcome", {"email": f"p{number}@example.com"}, f"k{number}")
    move, at_once, shared = live.move, list[set[UUID]](), list[set[UUID]]()

    async def move_and_note(shard: Shard, lane: Lane, leases: Sequence[Claimed]) -> None:
        at_once.append({lease.id for lease in leases})
        shared.extend([set().union(*at_once)] if len(at_once) > 1 else [])
        try:
            await move(shard, lane, leases)
        finally:
            at_once.remove({lease.id for lease in leases})

    monkeypatch.setattr(live, "move", move_and_note)
    async with running(Worker(live, batch=2, poll_seconds=0.1)):
        await until(lambda: len(provider.calls) == 43)

    assert [together for together in shared if together & suspects] == []


@pytest.mark.usefixtures("deaf")
async def test_waiting_for_its_turn_is_no_crash_of_a_suspect(
    live: Engine, provider: FakeProvider, sql: "Sql[asyncpg.Record]"
) -> None:
    await make_suspects(live, sql, 8)
    hang = provider.hang = asyncio.Event()
    async with running(Worker(live, poll_seconds=0.1)):
        await until(lambda: len(provider.calls) == 1)
        leases = "select max(crashes), count(*) filter (where leased and due_at > now()) from queue"
        most, held = await sql.fetchrow(leases) or (0, 0)
        hang.set()
        await until(lambda: len(provider.calls) == 8)

    assert (most, held) == (ALONE_AFTER, 1)
