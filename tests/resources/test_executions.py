"""Executions as people start, watch and control them: keys, states, lists, logs, and whose they are."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from msgspec.structs import asdict

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, assert_kept, delay, email, graph, places, work
from tests.resources.asking import audited, executions_of
from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, DataMissing, InputInvalid, NotFound, TriggersInvalid
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater
from tidings.domain.words import WORDS, ShownStatus
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.resources.bulk import BulkTrigger
from tidings.resources.executions import DeadLetterFilter
from tidings.views.executions import Execution

SLOW = graph(email("one"), delay("rest", "PT1H"), email("two"))


async def trigger(engine: Engine, caller: Caller, key: str | None = "k1", **data: object) -> Execution:
    return await engine.executions.trigger(caller, "flow", data, key)


# Starting


async def test_a_trigger_shows_the_execution_it_started(engine: Engine, caller: Caller, clock: ManualClock) -> None:
    workflow = await engine.workflows.create(caller, "flow", SLOW)

    triggered = await engine.executions.trigger(caller, "flow", {"a": 1}, "k1", triggered_by="frontend")

    shown = triggered
    assert not triggered.duplicate
    assert (shown.status, shown.workflow_id, shown.workflow_name) == ("enqueued", workflow.id, "flow")
    assert (shown.workflow_version, shown.cursor, shown.current_step, shown.total_steps) == (1, "one", 0, 3)
    assert (shown.input_payload, shown.vars, shown.idempotency_key) == ({"a": 1}, {}, "k1")
    assert (shown.attempts, shown.retry_count, shown.error_message, shown.error_step) == (0, 0, None, None)
    assert (shown.created_at, shown.available_at, shown.started_at) == (clock.time, clock.time, None)
    assert (shown.triggered_by, shown.completed_at) == ("frontend", None)
    found = await engine.executions.get(caller.workspace, shown.id)
    assert asdict(shown) == {**asdict(found), "duplicate": False}


async def test_the_same_key_gives_the_same_execution_by_id_and_by_name(engine: Engine, caller: Caller) -> None:
    workflow = await engine.workflows.create(caller, "flow", SLOW)

    first = await engine.executions.trigger(caller, "flow", {}, "k1")
    second = await engine.executions.trigger(caller, workflow.id, {}, "k1")

    assert [first.duplicate, second.duplicate] == [False, True]
    assert first.id == second.id


async def test_a_hundred_duplicates_at_once_are_one_execution(engine: Engine, caller: Caller) -> None:
    await engine.workflows.create(caller, "flow", SLOW)

    found = await asyncio.gather(*(engine.executions.trigger(caller, "flow", {}, "k1") for _ in range(100)))

    assert len({one.id for one in found}) == 1
    assert sum(not one.duplicate for one in found) == 1
    assert [one.id for one in await executions_of(engine, caller.workspace)] == [found[0].id]


async def test_without_a_key_every_trigger_is_new(engine: Engine, caller: Caller) -> None:
    await engine.workflows.create(caller, "flow", SLOW)

    assert (await trigger(engine, caller, None)).id != (await trigger(engine, caller, None)).id


async def test_a_trigger_that_cannot_be_is_refused_before_anything_is_stored(engine: Engine, caller: Caller) -> None:
    await engine.workflows.create(caller, "flow", graph(email(to="{{ address }}", body="Hi {{ name }}")))

    with pytest.raises(NotFound, match="'nowhere'"):
        await engine.executions.trigger(caller, "nowhere", {}, "k1")
    with pytest.raises(NotFound):
        await engine.executions.trigger(caller, uuid4(), {}, "k1")
    with pytest.raises(DataMissing, match="name"):
        await engine.executions.trigger(caller, "flow", {"address": "ada@example.com"}, "k1")
    with pytest.raises(InputInvalid):
        await trigger(engine, caller, "")

    assert await executions_of(engine, caller.workspace) == []


# Many at once


async def test_of_very_many_that_are_wrong_the_first_are_told_so(engine: Engine, caller: Caller) -> None:
    """Each may lack thousands of names: an answer with all of them once was larger than the machine."""
    names = "".join(f"{{{{ n{number} }}}}" for number in range(2_000))
    workflow = await engine.workflows.create(caller, "flow", graph(email(body=names)))
    wishes = [BulkTrigger("flow" if number % 2 else workflow.id) for number in range(2_000)]

    with pytest.raises(TriggersInvalid) as refused:
        await engine.executions.trigger_many(caller, wishes)
    with pytest.raises(TriggersInvalid) as unknown:
        await engine.executions.trigger_many(caller, [BulkTrigger("none")] * 10_000)

    assert len(refused.value.problems) == len(unknown.value.problems) == 100
    assert "n1999" in refused.value.problems[0].message


async def test_many_are_started_in_the_order_they_were_given(engine: Engine, caller: Caller, sql: Sql) -> None:
    one = await engine.workflows.create(caller, "one", SLOW)
    await engine.workflows.create(caller, "two", SLOW)
    wishes = [BulkTrigger(("two", one.id)[number % 2], {"n": number}, f"k{number // 4}") for number in range(40)]

    first = await engine.executions.trigger_many(caller, wishes)
    again = await engine.executions.trigger_many(caller, wishes)

    assert [each.duplicate for each in first] == [number % 4 > 1 for number in range(40)]
    assert [each.id for each in again] == [each.id for each in first]
    assert all(each.duplicate for each in again)
    assert {one.id for one in await executions_of(engine, caller.workspace)} == {each.id for each in first}
    assert await sql.fetchval("select count(*) from queue") == len({each.id for each in first}) == 20
    for wish, result in zip(wishes, first, strict=True):
        shown = await engine.executions.get(caller.workspace, result.id)
        assert (shown.workflow_name, shown.idempotency_key) == (
            "two" if wish.workflow == "two" else "one",
            wish.idempotency_key,
        )


async def test_if_anything_is_wrong_with_one_of_many_nothing_is_stored(engine: Engine, caller: Caller) -> None:
    await engine.workflows.create(caller, "fine", SLOW)
    await engine.workflows.create(caller, "needs", graph(email(body="Hi {{ name }}")))
    off = await engine.workflows.create(caller, "off", SLOW, active=False)
    wishes = [
        BulkTrigger("fine", {}, "k0"),
        BulkTrigger("nowhere", {}, "k1"),
        BulkTrigger("needs", {"name": "Ada"}, "k2"),
        BulkTrigger("needs", {}, "k3"),
        BulkTrigger("fine", {}, ""),
        BulkTrigger(off.id, {}, "k5"),
    ]

    with pytest.raises(TriggersInvalid) as refused:
        await engine.executions.trigger_many(caller, wishes)

    assert [problem.place for problem in refused.value.problems] == [
        "triggers[1].workflow",
        "triggers[3]",
        "triggers[4]",
        "triggers[5]",
    ]
    assert "name" in str(refused.value.problems[1])
    assert "not active" in str(refused.value.problems[3])
    assert await executions_of(engine, caller.workspace) == []
    assert await engine.executions.trigger_many(caller, []) == []


# Watching


async def test_the_states_of_an_execution_on_its_way(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    await engine.workflows.create(caller, "flow", SLOW)
    id = (await trigger(engine, caller)).id
    ws = caller.workspace
    [leased] = [one for place in places(engine) for one in await engine.claim(*place)]
    claimed = await engine.executions.get(ws, id)
    await engine.move(engine.kernel.shard_of(id), places(engine)[-1][1], [leased])
    asleep = await engine.executions.get(ws, id)
    clock.advance(hours=1)
    await work(engine)
    ended = await engine.executions.get(ws, id)

    assert (claimed.status, claimed.cursor, claimed.available_at) == ("processing", "one", None)
    assert (asleep.status, asleep.cursor, asleep.current_step) == ("processing", "rest", 1)
    assert asleep.available_at == asleep.created_at + timedelta(hours=1)
    assert (ended.status, ended.cursor, ended.current_step, ended.available_at) == ("completed", None, 2, None)
    assert ended.completed_at == clock.time
    assert set(ended.vars) == {"one", "rest", "two"}
    await assert_kept(engine)


async def test_a_pause_shows_at_once_and_holds_until_it_is_resumed(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    await engine.workflows.create(caller, "flow", graph(email()))
    id = (await trigger(engine, caller)).id

    paused = await engine.executions.pause(caller, id)
    await work(engine)
    still = await engine.executions.get(caller.workspace, id)
    resumed = await engine.executions.resume(caller, id)
    await work(engine)

    assert (paused.status, still.status, resumed.status) == ("paused", "paused", "enqueued")
    assert (await engine.executions.get(caller.workspace, id)).status == "completed"
    assert len(provider.calls) == 1
    await assert_kept(engine)


async def test_what_is_being_cancelled_is_not_resumed_and_what_has_ended_not_cancelled(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    await engine.workflows.create(caller, "flow", graph(email()))
    id = (await trigger(engine, caller)).id

    await engine.executions.cancel(caller, id)
    with pytest.raises(Conflict, match="being cancelled"):
        await engine.executions.resume(caller, id)
    await work(engine)
    with pytest.raises(Conflict, match="cancelled"):
        await engine.executions.cancel(caller, id)

    assert (await engine.executions.get(caller.workspace, id)).status == "cancelled"
    assert provider.calls == []


async def test_changes_are_told_until_the_end(engine: Engine, caller: Caller, clock: ManualClock) -> None:
    await engine.workflows.create(caller, "flow", SLOW)
    id = (await trigger(engine, caller)).id
    told = []

    async for shown in engine.executions.changes(caller.workspace, id, poll_seconds=0):
        told.append((shown.status, shown.cursor))
        clock.advance(hours=1)
        await work(engine)

    assert told == [("enqueued", "one"), ("processing", "rest"), ("completed", None)]


async def test_a_status_has_a_word_in_every_product() -> None:
    assert WORDS.keys() == set(ShownStatus)
    assert {words.workflow for words in WORDS.values()} == {status.value for status in ShownStatus}
    assert {words.enrollment for words in WORDS.values()} == {"active", "paused", "completed", "cancelled"}
    assert {words.steps for words in WORDS.values()} == {"pending", "running", "completed", "failed", "cancelled"}


# Lists


async def keys(engine: Engine, caller: Caller, **where: object) -> list[str]:
    page = await engine.executions.list(caller.workspace, **where)  # type: ignore[arg-type]
    return [one.idempotency_key for one in page.items]


async def test_executions_are_listed_newest_first_over_all_shards_page_by_page(
    engine: Engine, caller: Caller, stranger: Caller, clock: ManualClock
) -> None:
    for each in (caller, stranger):
        await engine.workflows.create(each, "flow", SLOW)
        for number in range(10):
            clock.advance(seconds=1)
            await trigger(engine, each, f"k{number}")

    found, cursor = [], None
    while True:
        page = await engine.executions.list(caller.workspace, limit=3, cursor=cursor)
        found.append([one.idempotency_key for one in page.items])
        cursor = page.next_cursor
        if cursor is None:
            break

    assert found == [["k9", "k8", "k7"], ["k6", "k5", "k4"], ["k3", "k2", "k1"], ["k0"]]


async def test_executions_are_listed_by_workflow_and_by_status(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script = {"bad@example.com": [Rejected("no such person")]}
    await engine.workflows.create(caller, "good", graph(email()))
    bad = await engine.workflows.create(caller, "bad", graph(email(to="bad@example.com")))
    await engine.workflows.create(caller, "slow", SLOW)
    for name in ("good", "bad", "slow"):
        await engine.executions.trigger(caller, name, {}, f"{name}1")
    await work(engine)
    clock.advance(seconds=1)
    for name in ("good", "slow"):
        await engine.executions.trigger(caller, name, {}, f"{name}2")
    held = await engine.executions.trigger(caller, "good", {}, "held")
    await engine.executions.pause(caller, held.id)

    assert set(await keys(engine, caller)) == {"good1", "bad1", "slow1", "good2", "slow2", "held"}
    assert await keys(engine, caller, workflow=bad.id) == await keys(engine, caller, workflow="bad") == ["bad1"]
    assert await keys(engine, caller, status=ShownStatus.COMPLETED) == ["good1"]
    assert await keys(engine, caller, status=ShownStatus.FAILED) == ["bad1"]
    assert await keys(engine, caller, status=ShownStatus.FAILED, workflow="good") == []
    assert await keys(engine, caller, error="SUCH person") == ["bad1"]
    assert await keys(engine, caller, error="such person", status=ShownStatus.FAILED, workflow="bad") == ["bad1"]
    assert await keys(engine, caller, error="such person", status=ShownStatus.COMPLETED) == []
    assert await keys(engine, caller, error="another") == []
    assert await keys(engine, caller, status=ShownStatus.PROCESSING) == ["slow1"]
    assert set(await keys(engine, caller, status=ShownStatus.ENQUEUED)) == {"good2", "slow2"}
    assert await keys(engine, caller, status=ShownStatus.ENQUEUED, workflow="slow") == ["slow2"]
    assert await keys(engine, caller, status=ShownStatus.PAUSED) == ["held"]
    assert await keys(engine, caller, status=ShownStatus.CANCELLED) == []
    with pytest.raises(NotFound):
        await keys(engine, caller, workflow="nowhere")
    with pytest.raises(InputInvalid, match="cursor"):
        await keys(engine, caller, cursor="nonsense")


# The log


async def test_the_log_says_what_each_node_saw_produced_how_long_and_what_went_wrong(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script = {"ada@example.com": [RetryLater("busy", delay=timedelta(seconds=30)), Accepted("m-1")]}
    last = {"id": "text", "type": "sms", "to": "+1", "body": "Bye"}
    await engine.workflows.create(caller, "flow", graph(email("mail"), delay("rest", "PT1H"), last))
    id = (await trigger(engine, caller)).id
    await work(engine)
    clock.advance(seconds=30)
    await work(engine)
    clock.advance(hours=1)
    provider.answer = Rejected("no such number")
    await work(engine)

    mail, rest, text = await engine.executions.log(caller.workspace, id)

    assert (mail.node, mail.kind, mail.status, mail.attempts, mail.duration_ms) == ("mail", "email", "sent", 2, 30_000)
    assert (mail.saw, mail.produced) == (
        {"subject": "Hi", "body": "This is mail"},
        {"status": "sent", "messageId": "m-1"},
    )
    [item] = mail.items
    assert (item.recipient, item.message_id, [one.outcome for one in item.failed_attempts]) == (
        "ada@example.com",
        "m-1",
        ["retry_later"],
    )
    assert (rest.node, rest.kind, rest.status, rest.duration_ms) == ("rest", "delay", "completed", 3_600_000)
    assert (text.node, text.kind, text.status, text.error) == ("text", "sms", "failed", "no such number")
    assert text.produced is None
    assert mail.started_at is not None
    assert rest.ended_at == text.started_at == clock.time


async def test_the_log_keeps_what_a_branch_saw_and_what_a_function_answered(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    provider.answer = lambda item: Accepted("m-1", {"score": 7} if item.channel == "function" else None)
    rate = {"id": "rate", "type": "function", "function": "rate", "action": "run", "payload": {"who": "{{ name }}"}}
    edges = [{"from": "rate", "to": "choose"}, {"from": "choose", "to": "yes"}, {"from": "choose", "to": "no"}]
    edges[1]["condition"] = {"path": "vars.rate.score", "op": "greater", "value": 5}  # type: ignore[assignment]
    nodes = [rate, {"id": "choose", "type": "branch"}, email("yes"), email("no")]
    await engine.workflows.create(caller, "flow", {"entryNodeId": "rate", "nodes": nodes, "edges": edges})
    id = (await trigger(engine, caller, name="Ada")).id
    await work(engine)

    lines = {line.node: line for line in await engine.executions.log(caller.workspace, id)}

    assert list(lines) == ["rate", "choose", "yes"]
    rated, chosen = lines["rate"], lines["choose"]
    assert (rated.kind, rated.produced) == ("function", {"status": "sent", "result": {"score": 7}})
    assert rated.saw is not None
    assert rated.saw["payload"] == '{"who":"Ada"}'
    assert (chosen.kind, chosen.status, chosen.error) == ("branch", "completed", None)
    assert chosen.saw == {"data": {"name": "Ada"}, "vars": {"rate": {"score": 7}}}
    assert chosen.produced == {"status": "completed", "taken": "yes"}


async def test_the_log_says_why_an_execution_ended_before_its_node_did_anything(
    engine: Engine, caller: Caller, clock: ManualClock
) -> None:
    await engine.workflows.create(caller, "flow", graph(email()))
    id = (await trigger(engine, caller)).id
    for _ in range(engine.kernel.limits.crashes):
        assert [lease for place in places(engine) for lease in await engine.claim(*place)]
        clock.advance(minutes=6)
    await work(engine)

    [line] = await engine.executions.log(caller.workspace, id)

    assert (line.node, line.kind, line.status, line.items) == ("hello", "email", "failed", ())
    assert line.error is not None
    assert "died" in line.error


# Whose it is


async def test_what_is_another_workspaces_is_not_found(engine: Engine, caller: Caller, stranger: Caller) -> None:
    await engine.workflows.create(caller, "flow", SLOW)
    shown = await trigger(engine, caller)
    flows, id = engine.executions, shown.id
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: flows.get(stranger.workspace, id),
        lambda: flows.log(stranger.workspace, id),
        lambda: anext(aiter(flows.changes(stranger.workspace, id))),
        lambda: flows.cancel(stranger, id),
        lambda: flows.pause(stranger, id),
        lambda: flows.resume(stranger, id),
        lambda: flows.retry(stranger, id),
        lambda: flows.get(caller.workspace, uuid4()),
    ]

    for attempt in attempts:
        with pytest.raises(NotFound):
            await attempt()

    assert {**asdict(await flows.get(caller.workspace, id)), "duplicate": False} == asdict(shown)
    assert (await flows.list(stranger.workspace)).items == []
    assert (await flows.replay(stranger, DeadLetterFilter(ids=[id]))).count == 0


async def test_control_is_in_the_audit_log_with_its_actor(engine: Engine, caller: Caller) -> None:
    await engine.workflows.create(caller, "flow", SLOW)
    id = (await trigger(engine, caller)).id

    await engine.executions.pause(caller, id)

    assert [(one.event, one.actor) for one in await audited(engine, caller, subject=id)] == [("pause", "ann")]
