"""Finalize: a fact counts whatever became of the lease, once; refusals are tried again up to a limit."""

from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    crash_in_call,
    delay,
    deploy,
    email,
    frozen_in_call,
    plan_runs,
    row,
    start,
    with_lossy_database,
    work,
    work_leases,
)
from tests.stored import items_in_doubt, stored_execution, stored_run
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.item import Channel, ItemStatus, Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.storage.finalize import Fact, finalize_items, keep_results

COUNTS = "select planned, sent, called, posted, failed, skipped from jobs"


async def test_rule_2_a_worker_that_lost_its_lease_moves_nothing_but_its_fact_counts(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    id = await start(engine, email(), delay("wait", "PT1H"), email("second"))

    async with frozen_in_call(engine, provider) as answered:
        clock.advance(minutes=6)
        [lease] = await claim(other)
        answered.set()

    assert await row(sql, "select status, in_doubt from outbox") == ("sent", False)
    assert await row(sql, "select fence, leased, due_at, wake from queue") == (lease.fence, True, lease.until, True)
    assert (await stored_execution(engine, id)).cursor == "hello"


async def test_rule_2_a_late_fact_ends_doubt_adds_to_the_counts_and_wakes_the_owner(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await deploy(engine, 1)
    await plan_runs(engine)

    async with frozen_in_call(engine, provider) as answered:
        clock.advance(minutes=6)
        await work(other)
        parked = await row(
            sql, "select o.in_doubt, q.due_at > $1 from outbox o join queue q on q.id = o.job_id", clock.time
        )
        answered.set()
    due = await row(sql, "select due_at from queue where kind = 'job'")
    await work(other)
    clock.advance(seconds=1)
    await work(other)

    assert parked == (True, True)
    assert due == (clock.time - timedelta(seconds=1),)
    assert await row(sql, COUNTS) == (1, 1, 0, 0, 0, 0)
    assert (await stored_run(engine, run)).run.status is RunStatus.COMPLETED
    assert len(provider.calls) == 1
    await assert_kept(engine)


async def test_rule_2_a_late_fact_of_an_execution_that_has_ended_is_still_recorded(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    id = await start(engine)

    async with frozen_in_call(engine, provider) as answered:
        clock.advance(minutes=6)
        await work(other)
        ended = (await stored_execution(engine, id)).status
        answered.set()

    assert ended is ExecutionStatus.COMPLETED
    assert await row(sql, "select status, in_doubt from outbox") == ("sent", False)
    await assert_kept(engine)


async def test_rule_2_a_fact_of_an_earlier_attempt_changes_nothing(
    engine: Engine, clock: ManualClock, provider: FakeProvider, db: Database, sql: Sql
) -> None:
    provider.script["p1@example.com"] = [RetryLater("busy")]
    await deploy(engine, 1)
    await work(engine)
    [first] = provider.calls
    clock.advance(minutes=1)
    late = Fact(first.id, first.fence, first.attempt, ItemStatus.FAILED, error="too late")

    async with frozen_in_call(engine, provider), db.autocommit() as tx:
        shard = engine.kernel.shard_of(first.id)
        taken = await finalize_items(tx, shard=shard, facts=[late], now=clock.time)

    assert taken == 0
    assert await row(sql, "select status, marked_attempt, error from outbox") == ("queued", 2, "busy")
    assert await row(sql, COUNTS) == (1, 0, 0, 0, 0, 0)


async def test_rule_2_a_result_is_kept_under_the_guard_of_its_fact(
    engine: Engine, clock: ManualClock, provider: FakeProvider, db: Database, sql: Sql
) -> None:
    async def keep(item: Marked, result: dict[str, object]) -> object:
        late = Fact(item.id, item.fence, item.attempt, ItemStatus.SENT, result=result)
        async with db.autocommit() as tx:
            await keep_results(tx, shard=engine.kernel.shard_of(item.id), facts=[late])
        return await sql.fetchval("select result::text from outbox")

    step = {"name": "a", "function": "f", "action": "go", "payload_template": {}}
    provider.script["f"] = [RetryLater("busy"), Accepted(None, {"number": 2})]
    await engine.define("steps", {"steps": [step]})
    await engine.trigger("steps", {}, "k1")
    await work(engine)
    [first] = provider.calls
    clock.advance(minutes=1)
    async with frozen_in_call(engine, provider) as answered:
        of_an_earlier_attempt = await keep(first, {"number": 1})
        answered.set()
    of_an_ended_item = await keep(provider.calls[1], {"number": 3})
    erased = "update outbox set recipient = '', result = null, status = 'queued', finalized_at = null"
    await sql.execute(erased)
    of_an_erased_item = await keep(provider.calls[1], {"name": "Ada"})

    assert (of_an_earlier_attempt, of_an_ended_item, of_an_erased_item) == (None, '{"number": 2}', None)


@pytest.mark.parametrize(
    ("channel", "status"), [(Channel.EMAIL, "sent"), (Channel.VOICE, "called"), (Channel.SOCIAL, "posted")]
)
async def test_an_accepted_call_has_the_status_of_its_channel(
    engine: Engine, sql: Sql, channel: Channel, status: str
) -> None:
    content = {"script": "Hello"} if channel is Channel.VOICE else {"subject": "Hello", "body": "Hello"}
    await deploy(engine, 2, channel=channel, content=content)

    await work(engine)

    assert {each["status"] for each in await sql.fetch("select status from outbox")} == {status}
    assert await sql.fetchval(f"select sum({status}) from jobs") == 2
    await assert_kept(engine)


async def test_a_fact_of_an_item_that_was_erased_meanwhile_says_its_outcome_and_nothing_else(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["ada@example.com"] = [Rejected("no mailbox ada@example.com")]
    await start(engine)

    async with frozen_in_call(engine, provider) as answered:
        await sql.execute("update outbox set recipient = '', payload = '{}'")
        answered.set()

    assert await row(sql, "select status, error from outbox") == ("failed", None)
    assert await row(sql, "select outcome, error from attempts") == ("rejected", "")


async def test_an_item_that_was_erased_during_its_call_keeps_no_message_id(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    """A provider may make it of the address, and knows the person by it."""
    provider.script["ada@example.com"] = [Accepted("ada@example.com-1")]
    await start(engine)

    async with frozen_in_call(engine, provider) as answered:
        await sql.execute("update outbox set recipient = '', payload = '{}'")
        answered.set()

    assert await row(sql, "select status, provider_message_id from outbox") == ("sent", None)


async def test_rule_8_a_transient_failure_leaves_the_item_queued_with_its_own_time(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["b@example.com"] = [RetryLater("busy", delay=timedelta(minutes=7))]
    await start(engine, email(to=["a@example.com", "b@example.com"]))

    await work(engine)

    assert await row(sql, "select status, retry_at, error from outbox where ordinal = 1") == (
        "queued",
        clock.time + timedelta(minutes=7),
        "busy",
    )
    assert await sql.fetchval("select due_at from queue") == clock.time + timedelta(minutes=7)
    assert await row(sql, "select attempt, outcome, error from attempts") == (1, "retry_later", "busy")


async def test_rule_8_the_owner_is_due_at_the_earliest_of_its_items(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    for number, minutes in enumerate((9, 4, 6), start=1):
        provider.script[f"p{number}@example.com"] = [RetryLater("busy", delay=timedelta(minutes=minutes))]
    await start(engine, email(to=[f"p{number}@example.com" for number in (1, 2, 3)]))

    await work(engine)

    assert await sql.fetchval("select due_at from queue") == clock.time + timedelta(minutes=4)


async def test_rule_8_the_last_attempt_fails_for_good(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = RetryLater("busy")
    id = await start(engine)

    for _ in range(5):
        await work(engine)
        clock.advance(hours=1)

    assert len(provider.calls) == 3
    assert await row(sql, "select status, attempts, error from outbox") == (
        "failed",
        3,
        "gave up after 3 attempts: busy",
    )
    assert (await stored_execution(engine, id)).status is ExecutionStatus.FAILED
    assert await sql.fetchval("select count(*) from attempts") == 3


async def test_rule_8_a_permanent_failure_is_not_tried_again(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = Rejected("no such mailbox")
    id = await start(engine)

    await work(engine)
    clock.advance(days=2)
    await work(engine)

    assert len(provider.calls) == 1
    shown = await stored_execution(engine, id)
    assert (shown.status, shown.error, shown.error_node) == (ExecutionStatus.FAILED, "no such mailbox", "hello")


async def test_rule_8_not_so_fast_uses_no_attempt_until_patience_ends(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = RetryLater("429", delay=timedelta(hours=2), uses_attempt=False)
    await start(engine)

    attempts = []
    for _ in range(13):
        await work(engine)
        attempts.append(await sql.fetchval("select attempts from outbox"))
        clock.advance(hours=2)

    assert attempts[:12] == [0] * 12
    assert await row(sql, "select status from outbox") == ("failed",)


async def test_rule_8_a_provider_that_says_try_again_at_once_does_not_get_a_loop_without_a_pause(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = RetryLater("429", delay=timedelta(0), uses_attempt=False)
    await start(engine)

    await work(engine)

    assert len(provider.calls) == 1
    assert await sql.fetchval("select due_at from queue") > clock.time


@pytest.mark.parametrize(
    ("outcome", "after"),
    [
        (Accepted("m-1"), ("sent", False, 2)),
        (Rejected("no"), ("failed", False, 2)),
        (RetryLater("429", delay=timedelta(minutes=1), uses_attempt=False), ("queued", False, 1)),
        (Unknown("reset"), ("queued", True, 2)),
    ],
)
async def test_a_fact_written_twice_after_an_unknown_commit_counts_once(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, outcome: Outcome, after: tuple[object, ...]
) -> None:
    provider.script["p1@example.com"] = [RetryLater("busy"), outcome]
    await deploy(engine, 1)
    await work(engine)
    clock.advance(minutes=1)
    leases = await claim(engine)
    lossy = with_lossy_database(engine, lose=lambda count: count > 1 and count % 2 == 0)

    await work_leases(lossy, leases)

    assert await row(sql, "select status, in_doubt, attempts from outbox") == after
    assert await row(sql, "select sent, failed from jobs") == (int(after[0] == "sent"), int(after[0] == "failed"))
    await assert_kept(engine)


@pytest.mark.parametrize("words", ["a\x00b", "a\ud800b", "x" * 100_000])
async def test_whatever_a_provider_says_its_fact_and_those_of_the_same_window_are_kept(
    engine: Engine, provider: FakeProvider, sql: Sql, words: str
) -> None:
    outcomes: list[Outcome] = [Accepted(words), Rejected(words), RetryLater(words), Unknown(words)]
    for number, outcome in enumerate(outcomes):
        provider.script[f"p{number}@example.com"] = [outcome]
    id = await start(engine, email(to=[f"p{number}@example.com" for number in range(5)]))

    await work(engine)

    found = await sql.fetch("select status, in_doubt from outbox order by ordinal")
    assert [tuple(each) for each in found] == [
        ("sent", False),
        ("failed", False),
        ("queued", False),
        ("queued", True),
        ("sent", False),
    ]
    assert (await stored_execution(engine, id)).status is ExecutionStatus.ENQUEUED


async def test_recovery_of_a_crash_after_the_call_and_before_the_outbox_update_asks_a_person_and_resends_nothing(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await deploy(engine, 1)
    await plan_runs(engine)
    await crash_in_call(engine, provider)  # the provider has it, and nobody wrote that down

    for _ in range(5):
        clock.advance(hours=3)
        await work(other)

    shown = await stored_run(engine, run)
    assert len(provider.calls) == 1
    assert (shown.in_doubt, shown.queued, shown.run.status) == (1, 0, RunStatus.RUNNING)
    assert [item.recipient for item in await items_in_doubt(engine)] == ["p1@example.com"]
    await assert_kept(engine)


async def test_an_execution_shows_how_often_its_send_was_tried(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script = {"ada@example.com": [RetryLater("busy"), RetryLater("busy")]}
    id = await start(engine)
    await work(engine)
    tried_once = (await stored_execution(engine, id)).attempts
    clock.advance(seconds=10)
    await work(engine)

    tried_twice = (await stored_execution(engine, id)).attempts

    assert (tried_once, tried_twice) == (1, 2)
