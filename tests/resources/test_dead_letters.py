"""Dead letters: listed, replayed once, and nothing that was sent, or may have been, is ever sent again."""

import asyncio
from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from tests.conftest import ManualClock, make_engine
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    crash_in_call,
    delay,
    email,
    graph,
    row,
    with_lossy_database,
    work,
)
from tests.resources.asking import audited, executions_of, items_of
from tests.stored import TESTER, items_in_doubt
from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict
from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.item import Fence, ItemId, ItemStatus
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.domain.flow.queue import Lane
from tidings.domain.words import ShownStatus
from tidings.engine import Engine
from tidings.kernel.kernel import Limits
from tidings.kernel.manage.resolve import Resolution
from tidings.providers.fake import FakeProvider
from tidings.resources.executions import DeadLetterFilter
from tidings.storage import finalize, replay
from tidings.storage.finalize import Fact

REFUSED = Rejected("mailbox is full")
TWO = graph(email("one"), email("two", to="bob@example.com"))


async def fail(engine: Engine, caller: Caller, definition: dict[str, object] = TWO, key: str = "k1") -> UUID:
    """An execution that has come to its end as things stand."""
    await engine.workflows.apply(caller, "flow", definition)
    triggered = await engine.executions.trigger(caller, "flow", {}, key)
    await work(engine)
    return triggered.id


async def status(engine: Engine, caller: Caller, id: UUID) -> ShownStatus:
    return (await engine.executions.get(caller.workspace, id)).status


# Retrying one


async def test_a_retried_execution_goes_on_where_it_failed_and_sends_each_item_once(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script = {"bob@example.com": [REFUSED]}
    id = await fail(engine, caller)
    failed = await engine.executions.get(caller.workspace, id)
    clock.advance(days=1)

    retried = await engine.executions.retry(caller, id)
    await work(engine)

    assert (failed.status, failed.error_message, failed.error_step) == ("failed", "mailbox is full", "two")
    assert (failed.cursor, failed.current_step) == ("two", 1)
    assert (retried.status, retried.cursor, retried.attempts) == ("processing", "two", 0)
    assert (retried.error_message, retried.error_step, retried.completed_at) == (None, None, None)
    assert (retried.available_at, set(retried.vars)) == (clock.time, {"one"})
    assert await status(engine, caller, id) == "completed"
    assert Counter(call.recipient for call in provider.calls) == {"ada@example.com": 1, "bob@example.com": 2}
    assert len({call.attempt for call in provider.calls if call.recipient == "bob@example.com"}) == 2
    assert {(one.status, one.attempts) for one in await items_of(engine, caller.workspace)} == {("sent", 1)}
    [replayed] = await audited(engine, caller, "replayed")
    detail = {"node": "two", "error": "mailbox is full", "items": 1}
    assert (replayed.actor, replayed.detail) == ("ann", detail)
    await assert_kept(engine)


async def test_a_retry_gives_all_attempts_again(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.answer = RetryLater("busy")
    id = await fail(engine, caller, graph(email()))
    for _ in range(2):
        clock.advance(minutes=1)
        await work(engine)
    assert (await status(engine, caller, id), len(provider.calls)) == ("failed", 3)

    await engine.executions.retry(caller, id)
    for _ in range(3):
        await work(engine)
        clock.advance(minutes=1)

    shown = await engine.executions.get(caller.workspace, id)
    assert (shown.status, shown.attempts, shown.retry_count, len(provider.calls)) == ("failed", 3, 2, 6)
    await assert_kept(engine)


async def test_every_recipient_that_was_refused_is_tried_again(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    provider.answer = REFUSED
    id = await fail(engine, caller, graph(email(to=["a@example.com", "b@example.com"])))
    provider.answer = None

    await engine.executions.retry(caller, id)
    await work(engine)

    assert await status(engine, caller, id) == "completed"
    assert Counter(call.recipient for call in provider.calls) == {"a@example.com": 2, "b@example.com": 2}


async def test_what_has_not_failed_cannot_be_retried(engine: Engine, caller: Caller, provider: FakeProvider) -> None:
    id = await fail(engine, caller)

    with pytest.raises(Conflict, match="has not failed: it is completed"):
        await engine.executions.retry(caller, id)

    assert len(provider.calls) == 2


async def test_of_two_retries_at_once_one_reopens_it(engine: Engine, caller: Caller, provider: FakeProvider) -> None:
    provider.script = {"bob@example.com": [REFUSED]}
    id = await fail(engine, caller)

    answers = await asyncio.gather(*(engine.executions.retry(caller, id) for _ in range(8)), return_exceptions=True)
    await work(engine)

    assert sum(not isinstance(answer, Conflict) for answer in answers) == 1, answers
    assert Counter(call.recipient for call in provider.calls) == {"ada@example.com": 1, "bob@example.com": 2}
    assert len(await audited(engine, caller, "replayed")) == 1
    await assert_kept(engine)


async def test_a_retry_whose_answer_was_lost_is_done_once(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    provider.script = {"bob@example.com": [REFUSED]}
    id = await fail(engine, caller)
    lossy = with_lossy_database(engine, lose=lambda count: count == 2)

    retried = await lossy.executions.retry(caller, id)
    await work(engine)

    assert retried.status == "processing"
    assert len(provider.calls) == 3
    assert len(await audited(engine, caller, "replayed")) == 1


async def test_an_execution_that_killed_its_workers_before_it_did_anything_starts_anew(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await engine.workflows.apply(caller, "flow", graph(email()))
    id = (await engine.executions.trigger(caller, "flow", {}, "k1")).id
    for _ in range(engine.kernel.limits.crashes):
        assert await claim(engine)
        clock.advance(minutes=6)
    await work(engine)
    assert await status(engine, caller, id) == "failed"
    clock.advance(minutes=1)

    await engine.executions.retry(caller, id)
    crashes = await row(sql, "select crashes, leased, due_at from queue")
    await work(engine)

    assert crashes == (0, False, clock.time)
    assert await status(engine, caller, id) == "completed"
    assert len(provider.calls) == 1
    await assert_kept(engine)


async def test_a_worker_from_before_takes_no_part_after_the_retry(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """Its lease is from the first life of the execution; the fence of the second is above it."""
    await engine.workflows.apply(caller, "flow", graph(email()))
    id = (await engine.executions.trigger(caller, "flow", {}, "k1")).id
    fences = []
    for _ in range(engine.kernel.limits.crashes):
        fences += [lease.fence for lease in await claim(engine)]
        clock.advance(minutes=6)
    await work(engine)

    await engine.executions.retry(caller, id)

    assert await sql.fetchval("select fence from queue") > max(fences)


async def test_a_retried_execution_that_timed_out_has_its_whole_time_again(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.answer = RetryLater("busy", delay=timedelta(minutes=2))
    steps = [{"name": "call", "function": "call", "action": "run", "payload_template": {}}]
    id = await fail(engine, caller, {"steps": steps, "timeoutSeconds": 60})
    clock.advance(seconds=60)
    await work(engine)
    failed = await engine.executions.get(caller.workspace, id)
    clock.advance(hours=1)
    provider.answer = None

    await engine.executions.retry(caller, id)
    await work(engine)

    assert failed.status == "failed"
    assert "timed out" in str(failed.error_message)
    assert await status(engine, caller, id) == "completed"
    assert len(provider.calls) == 2
    await assert_kept(engine)


async def test_a_delay_that_failed_is_walked_again_and_logged_anew(engine: Engine, caller: Caller, sql: Sql) -> None:
    wait = {"id": "wait", "type": "delay", "until": "{{ at }}"}
    await engine.workflows.apply(caller, "flow", graph(wait, email()))
    id = (await engine.executions.trigger(caller, "flow", {"at": "soon"}, "k1")).id
    await work(engine)
    [line] = await engine.executions.log(caller.workspace, id)
    assert (line.status, await status(engine, caller, id)) == ("failed", "failed")
    await sql.execute('update executions set input = \'{"at": "2026-01-01T00:00:00Z"}\'')

    await engine.executions.retry(caller, id)
    await work(engine)

    assert await status(engine, caller, id) == "completed"
    assert [line.status for line in await engine.executions.log(caller.workspace, id)] == ["completed", "sent"]


# What may have arrived


async def test_an_item_that_was_given_up_in_doubt_is_never_tried_again(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    impatient = await make_engine(engine.kernel.db, clock, provider, Limits(doubt_policy=DoubtPolicy.GIVE_UP))
    await engine.workflows.apply(caller, "flow", graph(email()))
    id = (await engine.executions.trigger(caller, "flow", {}, "k1")).id
    await crash_in_call(impatient, provider)
    clock.advance(minutes=6)
    await work(impatient)
    assert await status(engine, caller, id) == "failed"

    with pytest.raises(Conflict, match="nobody knows"):
        await engine.executions.retry(caller, id)
    replay = await engine.executions.replay(caller, DeadLetterFilter())
    await work(engine)

    assert (replay.count, replay.refused) == (0, 1)
    assert len(provider.calls) == 1
    assert await status(engine, caller, id) == "failed"


async def test_an_execution_whose_items_are_in_doubt_waits_for_a_persons_word(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    nervous = await make_engine(engine.kernel.db, clock, provider, Limits(crashes=1))
    await engine.workflows.apply(caller, "flow", TWO)
    id = (await engine.executions.trigger(caller, "flow", {}, "k1")).id
    await crash_in_call(nervous, provider)
    clock.advance(minutes=6)
    await work(nervous)
    [item] = await items_in_doubt(engine)
    assert await status(engine, caller, id) == "failed"

    with pytest.raises(Conflict, match="in doubt"):
        await engine.executions.retry(caller, id)
    await work(engine)
    assert len(provider.calls) == 1

    await engine.outbox.resolve(TESTER, item.id, Resolution.SENT, "it is in the mailbox")
    await engine.executions.retry(caller, id)
    await work(engine)

    assert await status(engine, caller, id) == "completed"
    assert Counter(call.recipient for call in provider.calls) == {"ada@example.com": 1, "bob@example.com": 1}
    await assert_kept(engine)


async def test_a_fact_that_is_repeated_after_the_retry_fits_no_more(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """A worker whose commit was acknowledged too late tells again what it was told: that call was refused."""
    provider.script = {"bob@example.com": [REFUSED]}
    id = await fail(engine, caller)
    item, fence, attempt = await row(
        sql, "select id, marked_fence, marked_attempt from outbox where recipient = 'bob@example.com'"
    )
    await engine.executions.retry(caller, id)

    fact = Fact(ItemId(item), Fence(fence), attempt, ItemStatus.FAILED, error="mailbox is full")
    shard = engine.kernel.shard_of(id)
    told = await engine.kernel.db.persist(
        lambda tx: finalize.finalize_items(tx, shard=shard, facts=[fact], now=clock.time), alone=True
    )
    await work(engine)

    assert told == 0
    assert await status(engine, caller, id) == "completed"


# Parallel branches


def fork() -> dict[str, object]:
    """Two ways at once: ada is refused for good while bob's provider is busy."""
    nodes = [delay("start", "PT0S"), email("left"), email("right", to="bob@example.com")]
    return graph(*nodes, edges=[("start", "left"), ("start", "right")])


async def test_while_a_worker_is_at_it_a_retry_is_refused_and_afterwards_it_is_not(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script = {
        "ada@example.com": [RetryLater("busy", delay=timedelta(seconds=10)), REFUSED],
        "bob@example.com": [RetryLater("busy", delay=timedelta(minutes=5))],
    }
    id = await fail(engine, caller, fork())
    clock.advance(seconds=10)
    await work(engine)
    assert await status(engine, caller, id) == "failed"
    clock.advance(minutes=5)
    leases = await claim(engine)  # for bob, who was not told yet

    with pytest.raises(Conflict, match="a worker is at it"):
        await engine.executions.retry(caller, id)
    # Nor by the statement itself, should somebody have claimed it after the rows were looked at.
    shard = engine.kernel.shard_of(id)
    async with engine.kernel.db.transaction() as tx:
        lanes = {id: Lane.TRANSACTIONAL}
        assert await replay.enqueue_reopened(tx, shard=shard, lanes=lanes, due_at={}, now=clock.time) == set()
    dry = await engine.executions.replay(caller, DeadLetterFilter(), dry_run=True)
    assert (dry.count, dry.refused) == (0, 1)
    clock.advance(minutes=6)
    await work(engine)
    assert leases
    assert await status(engine, caller, id) == "failed"
    await engine.executions.retry(caller, id)
    await work(engine)

    assert await status(engine, caller, id) == "completed"
    assert Counter(call.recipient for call in provider.calls) == {"ada@example.com": 3, "bob@example.com": 2}
    await assert_kept(engine)


async def test_a_retry_while_another_branch_waits_lets_both_go_on(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script = {
        "ada@example.com": [RetryLater("busy", delay=timedelta(seconds=10)), REFUSED],
        "bob@example.com": [RetryLater("busy", delay=timedelta(minutes=5))],
    }
    id = await fail(engine, caller, fork())
    clock.advance(seconds=10)
    await work(engine)
    before = await row(sql, "select fence, leased from queue")

    await engine.executions.retry(caller, id)
    after = await row(sql, "select fence, leased from queue")
    await work(engine)
    clock.advance(minutes=5)
    await work(engine)

    assert (before[1], after[1]) == (False, False)
    assert after[0] > before[0]
    assert await status(engine, caller, id) == "completed"
    assert Counter(call.recipient for call in provider.calls) == {"ada@example.com": 3, "bob@example.com": 2}
    await assert_kept(engine)


# What was never called for


async def test_a_node_whose_template_failed_is_planned_anew(
    engine: Engine, caller: Caller, provider: FakeProvider, sql: Sql
) -> None:
    template = "{{ 'x' | times: 2 | divided_by: zero }}"
    await engine.workflows.apply(caller, "flow", graph(email(body=template)))
    id = (await engine.executions.trigger(caller, "flow", {"zero": 0}, "k1")).id
    await work(engine)
    assert await status(engine, caller, id) == "failed"
    [first] = await sql.fetch("select id, marked_attempt from outbox")
    assert first["marked_attempt"] == 0
    await sql.execute("update executions set input = '{\"zero\": 1}'")

    await engine.executions.retry(caller, id)
    await work(engine)

    assert await status(engine, caller, id) == "completed"
    [second] = await sql.fetch("select id, status from outbox")
    assert (second["id"] != first["id"], second["status"]) == (True, "sent")
    assert [call.payload["body"] for call in provider.calls] == ["0"]
    await assert_kept(engine)


# Replaying many


async def mixed_failures(engine: Engine, caller: Caller, provider: FakeProvider) -> None:
    provider.script = {
        "full@example.com": [REFUSED] * 3,
        "gone@example.com": [Rejected("No such person")] * 2,
    }
    for name in ("full", "gone"):
        await engine.workflows.apply(caller, name, graph(email(name, to=f"{name}@example.com")))
    for number in range(3):
        await engine.executions.trigger(caller, "full", {}, f"f{number}")
    for number in range(2):
        await engine.executions.trigger(caller, "gone", {}, f"g{number}")
    await work(engine)


async def test_dead_letters_are_listed_by_workflow_error_and_node(
    engine: Engine, caller: Caller, stranger: Caller, provider: FakeProvider
) -> None:
    await mixed_failures(engine, caller, provider)
    list_ = engine.executions.dead_letters

    assert len((await list_(caller.workspace)).items) == 5
    assert len((await list_(caller.workspace, workflow="full")).items) == 3
    assert len((await list_(caller.workspace, error="SUCH person")).items) == 2
    assert len((await list_(caller.workspace, node="gone")).items) == 2
    assert (await list_(caller.workspace, node="gone", workflow="full")).items == []
    assert (await list_(stranger.workspace)).items == []
    first = await list_(caller.workspace, limit=3)
    rest = await list_(caller.workspace, limit=3, cursor=first.next_cursor)
    assert [len(first.items), len(rest.items), rest.next_cursor] == [3, 2, None]
    ids = [one.id for one in [*first.items, *rest.items]]
    assert ids == sorted(ids, reverse=True)


async def everything(sql: Sql) -> list[list[tuple[object, ...]]]:
    tables = ("executions", "outbox", "queue", "audit_log", "attempts", "execution_log")
    return [[tuple(one) for one in await sql.fetch(f"select * from {table} order by 1, 2")] for table in tables]


async def test_a_dry_run_says_what_a_replay_does_and_changes_nothing(
    engine: Engine, caller: Caller, provider: FakeProvider, sql: Sql
) -> None:
    await mixed_failures(engine, caller, provider)
    before = await everything(sql)

    dry = await engine.executions.replay(caller, DeadLetterFilter(), dry_run=True)

    assert await everything(sql) == before
    assert (dry.count, dry.refused) == (5, 0)
    assert dry.by_error == {"mailbox is full": 3, "No such person": 2}
    assert await engine.executions.replay(caller, DeadLetterFilter()) == replace(dry, dry_run=False)
    assert (await engine.executions.replay(caller, DeadLetterFilter())).count == 0


async def test_a_replay_reopens_what_matches_and_only_that(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    await mixed_failures(engine, caller, provider)
    [some, *_] = (await engine.executions.dead_letters(caller.workspace, workflow="full")).items

    one = await engine.executions.replay(caller, DeadLetterFilter(ids=[some.id]))
    by_error = await engine.executions.replay(caller, DeadLetterFilter(error="no such"))
    await work(engine)

    assert (one.count, list(one.executions)) == (1, [some.id])
    assert by_error.count == 2
    assert len((await engine.executions.dead_letters(caller.workspace)).items) == 2
    assert Counter(call.recipient for call in provider.calls) == {"full@example.com": 4, "gone@example.com": 4}
    await assert_kept(engine)


async def test_a_replay_of_more_than_a_batch_reopens_each_once(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    provider.answer = REFUSED
    await engine.workflows.apply(caller, "flow", graph(email()))
    for number in range(450):
        await engine.executions.trigger(caller, "flow", {}, f"k{number}")
    await work(engine)
    provider.answer = None

    replays = await asyncio.gather(*(engine.executions.replay(caller, DeadLetterFilter()) for _ in range(2)))
    await work(engine)

    assert sum(one.count for one in replays) == 450
    assert len(provider.calls) == 900
    assert Counter(one.status for one in await executions_of(engine, caller.workspace)) == {"completed": 450}
    assert len({one.subject_id for one in await audited(engine, caller, "replayed")}) == 450
    assert all(len(one.executions) <= 100 for one in replays)
    await assert_kept(engine)
