"""Plan: planned once, rendered once, one node at a time."""

from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    delay,
    deploy,
    email,
    graph,
    plan_runs,
    row,
    start,
    with_lossy_database,
    work,
    work_leases,
    work_once,
)
from tests.stored import stored_execution, stored_run
from tests.worker.conftest import counted_statements
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.outcome import RetryLater
from tidings.engine import Engine
from tidings.kernel.campaigns.start_run import Recipient
from tidings.providers.fake import FakeProvider

TIME_OF_DAY = "{{ 'now' | date: '%H:%M:%S' }}"


async def test_rule_6_what_a_crash_left_behind_is_the_plan(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine, email(body=TIME_OF_DAY))
    engine.kernel.draining.set()  # it reserves, and then calls nobody
    await work_once(engine)
    planned = await sql.fetch("select id, payload from outbox")
    clock.advance(minutes=10)

    await work(other)

    assert await sql.fetch("select id, payload from outbox") == planned
    assert [call.id for call in provider.calls] == [planned[0]["id"]]
    assert provider.calls[0].payload["body"] == "09:00:00"


async def test_only_an_execution_that_was_held_before_is_asked_for_its_items(
    engine: Engine, clock: ManualClock, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script["ada@example.com"] = [RetryLater("busy")]
    await start(engine, email())
    with counted_statements(monkeypatch) as first:
        await work_once(engine)
    clock.advance(minutes=1)
    with counted_statements(monkeypatch) as second:
        await work_once(engine)

    assert len(provider.calls) == 2
    assert (first.count("load_execution_items"), second.count("load_execution_items")) == (0, 1)


async def test_rule_6_a_repeated_call_has_the_same_key_and_the_same_body_byte_for_byte(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script["ada@example.com"] = [RetryLater("busy"), RetryLater("busy")]
    await start(engine, email(body=TIME_OF_DAY))

    for _ in range(3):
        await work(engine)
        clock.advance(minutes=1)

    assert len(provider.calls) == 3
    assert len({(call.key, call.recipient, tuple(call.payload.items())) for call in provider.calls}) == 1


async def test_rule_6_a_campaigns_item_is_rendered_at_its_first_mark_and_then_frozen(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["p1@example.com"] = [RetryLater("busy")]
    await deploy(engine, 1, content={"subject": "Hi", "body": TIME_OF_DAY})
    await plan_runs(engine)
    before = await sql.fetchval("select payload from outbox")
    clock.advance(minutes=1)

    await work(engine)
    await sql.execute("delete from audience")  # nothing is left to render it from
    clock.advance(minutes=1)
    await work(engine)

    assert before is None
    assert [call.payload["body"] for call in provider.calls] == ["09:01:00"] * 2


async def test_rule_6_keys_are_made_of_ordinals_and_never_of_addresses(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine, email(to=["ada@example.com", "b@example.com"]))
    engine.kernel.draining.set()
    await work_once(engine)
    await sql.execute("update outbox set recipient = 'moved@example.com' where ordinal = 0")
    engine.kernel.draining.clear()

    await work(engine)

    assert sorted(call.recipient for call in provider.calls) == ["b@example.com", "moved@example.com"]
    assert await sql.fetchval("select count(*) from outbox") == 2


async def test_somebody_named_twice_in_a_node_is_written_to_once(engine: Engine, provider: FakeProvider) -> None:
    await start(engine, email(to=["ada@example.com", "ADA@example.com", "b@example.com"]))

    await work(engine)

    assert sorted(call.recipient for call in provider.calls) == ["ada@example.com", "b@example.com"]


async def test_a_template_that_fails_fails_only_its_own_item(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    people = [Recipient("a@example.com", {"name": "A"}), Recipient("b@example.com")]
    run = await deploy(engine, recipients=people, content={"subject": "Hi", "body": "Hi {{ name }}"})

    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    shown = await stored_run(engine, run)
    assert (shown.counts.sent, shown.counts.failed, shown.run.status) == (1, 1, RunStatus.PARTIAL)
    assert [call.recipient for call in provider.calls] == ["a@example.com"]
    assert "name" in await sql.fetchval("select error from outbox where status = 'failed'")
    await assert_kept(engine)


async def test_a_failed_template_whose_record_is_not_heard_of_takes_nobody_with_it(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    await deploy(engine, 1, content={"subject": "Hi", "body": "Hi {{ name }}"})
    await plan_runs(engine)
    leases = await claim(engine)
    lossy = with_lossy_database(engine, lose=lambda count: count % 2 == 0)

    await work_leases(lossy, leases)

    assert provider.calls == []
    assert await row(sql, "select status, failed from jobs") == ("failed", 1)
    await assert_kept(engine)


async def test_an_execution_whose_template_fails_ends_with_the_reason_and_calls_nobody(
    engine: Engine, provider: FakeProvider
) -> None:
    id = await start(
        engine, email("first", body="{% for one in (1..1) %}{{ one.missing }}{% endfor %}"), email("second")
    )

    await work(engine)

    shown = await stored_execution(engine, id)
    assert (shown.status, shown.error_node) == (ExecutionStatus.FAILED, "first")
    assert "missing" in (shown.error or "")
    assert provider.calls == []
    await assert_kept(engine)


async def test_rule_13_a_delay_on_one_branch_does_not_hold_up_another(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    nodes = [email("first"), delay("wait", "PT1H"), email("late"), email("early")]
    edges = [("first", "wait"), ("wait", "late"), ("first", "early")]
    await engine.define("flow", graph(*nodes, edges=edges))
    started = await engine.trigger("flow", {}, "k1")

    await work(engine)
    before_the_delay = [call.payload["body"] for call in provider.calls]
    cursor = (await stored_execution(engine, started.id)).cursor
    clock.advance(hours=1)
    await work(engine)

    assert before_the_delay == ["This is first", "This is early"]
    assert cursor == "wait"
    assert [call.payload["body"] for call in provider.calls][2:] == ["This is late"]


async def test_rule_13_a_retry_on_one_branch_does_not_hold_up_another(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    nodes = [delay("fork", "PT0S"), email("a", to="a@example.com"), email("b", to="b@example.com")]
    await engine.define("flow", graph(*nodes, edges=[("fork", "a"), ("fork", "b")]))
    await engine.trigger("flow", {}, "k1")
    provider.script["a@example.com"] = [RetryLater("busy")]

    await work(engine)
    clock.advance(minutes=1)
    await work(engine)

    assert [call.recipient for call in provider.calls] == ["a@example.com", "b@example.com", "a@example.com"]


async def test_rule_13_a_node_where_branches_meet_runs_once_after_both(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    nodes = [delay("fork", "PT0S"), email("a"), delay("b", "PT2H"), email("join")]
    edges = [("fork", "a"), ("fork", "b"), ("a", "join"), ("b", "join")]
    await engine.define("flow", graph(*nodes, edges=edges))
    started = await engine.trigger("flow", {}, "k1")

    await work(engine)
    before = len(provider.calls)
    clock.advance(hours=2)
    await work(engine)

    assert (before, len(provider.calls)) == (1, 2)
    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.COMPLETED


async def test_rule_13_of_nodes_due_at_once_the_first_defined_goes_first(
    engine: Engine, provider: FakeProvider
) -> None:
    nodes = [delay("fork", "PT0S"), email("z"), email("a"), email("m")]
    await engine.define("flow", graph(*nodes, edges=[("fork", "m"), ("fork", "a"), ("fork", "z")]))
    await engine.trigger("flow", {}, "k1")

    await work(engine)

    assert [call.payload["body"] for call in provider.calls] == ["This is z", "This is a", "This is m"]


async def test_what_a_node_came_to_is_a_variable_for_the_next(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await start(engine, email("first"), email("second", body="{{ vars.first.status }} {{ vars.first.messageId }}"))

    await work(engine)

    assert provider.calls[1].payload["body"] == f"sent {provider.calls[0].key.hex()}"


async def test_the_variables_of_a_node_that_has_not_run_print_nothing(engine: Engine, provider: FakeProvider) -> None:
    told = email("second", body="[{{ vars.third.status }}{{ vars.third }}]")
    await start(engine, email("first"), told, email("third"))

    await work(engine)

    assert provider.calls[1].payload["body"] == "[]"


async def test_a_version_with_a_template_that_is_refused_today_fails_its_own_message(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    id = await start(engine, email("first"), email("second", body="{{ name }}"), name="Ada")
    changed = "replace(definition::text, '{{ name }}', '{{ name | upcase: 1 }}')::jsonb"
    await sql.execute(f"update workflow_versions set definition = {changed}")
    engine.kernel.graphs.clear()

    await work(engine)

    shown = await stored_execution(engine, id)
    assert (shown.status, shown.error_node, len(provider.calls)) == (ExecutionStatus.FAILED, "second", 1)


async def test_an_execution_is_due_when_its_delay_ends(engine: Engine, clock: ManualClock) -> None:
    id = await start(engine, delay("wait", "P3D"), email())

    await work(engine)

    assert (await stored_execution(engine, id)).due_at == clock.time + timedelta(days=3)
