"""Start: one key, one execution or run, whoever asks however often."""

import asyncio

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, campaign, deploy, email, graph, row, start, with_lossy_database, work
from tidings.domain.errors import Conflict, DataMissing, InputInvalid, NotFound, TriggersInvalid
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.kernel.campaigns.start_run import Recipient
from tidings.kernel.kernel import Kernel
from tidings.kernel.start.check import Trigger
from tidings.kernel.start.trigger import Started
from tidings.providers.fake import FakeProvider


async def test_a_hundred_parallel_duplicate_triggers_start_one_execution(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    await engine.define("flow", graph(email()))

    wishes = [engine.trigger("flow", {}, "k1") for _ in range(100)]
    started = await asyncio.gather(*wishes)
    await work(engine)

    assert len({one.id for one in started}) == 1
    assert [one.duplicate for one in started].count(False) == 1
    assert await sql.fetchval("select count(*) from executions") == 1
    assert len(provider.calls) == 1


async def test_a_key_given_twice_in_one_call_starts_one_execution(engine: Engine, sql: Sql) -> None:
    await engine.define("flow", graph(email()))

    first, second, third = await engine.trigger_many("flow", [Trigger("k1"), Trigger("k2"), Trigger("k1")])

    assert first.id == third.id != second.id
    assert [first.duplicate, second.duplicate, third.duplicate] == [False, False, True]
    assert await sql.fetchval("select count(*) from queue") == 2


async def test_the_same_key_in_another_workspace_or_workflow_is_another_execution(engine: Engine) -> None:
    elsewhere = Workspace("other", "room")
    for name, workspace in (("flow", Workspace()), ("flow2", Workspace()), ("flow", elsewhere)):
        await engine.define(name, graph(email()), workspace)

    here = await engine.trigger("flow", {}, "k1")
    second = await engine.trigger("flow2", {}, "k1")
    there = await engine.trigger("flow", {}, "k1", elsewhere)

    assert len({here.id, second.id, there.id}) == 3


async def test_a_duplicate_is_answered_even_if_the_workflow_was_deactivated_since(engine: Engine, sql: Sql) -> None:
    id = await start(engine)
    await sql.execute("update workflows set active = false")

    again = await engine.trigger("flow", {}, "k1")

    assert (again.id, again.duplicate) == (id, True)
    with pytest.raises(Conflict):
        await engine.trigger("flow", {}, "k2")


async def test_a_trigger_whose_answer_is_lost_says_what_it_started_itself(engine: Engine, sql: Sql) -> None:
    await engine.define("flow", graph(email()))
    lossy = with_lossy_database(engine, lose=lambda count: count == 2)

    started = await lossy.trigger("flow", {}, "k1")

    assert not started.duplicate
    assert await sql.fetchval("select id from executions") == started.id
    assert await sql.fetchval("select count(*) from queue") == 1


async def test_a_trigger_whose_answer_is_lost_makes_nothing_due_that_has_ended_since(
    engine: Engine, sql: Sql, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await engine.define("flow", graph(email()))
    started = await engine.trigger("flow", {}, "k1")
    await work(engine)

    monkeypatch.setattr(Kernel, "new_id", lambda *_: started.id)  # the very call again, as after a lost answer
    again = await engine.trigger("flow", {}, "k1")

    assert (again.id, again.duplicate) == (started.id, False)
    assert await sql.fetchval("select count(*) from queue") == 0
    assert len(provider.calls) == 1


async def test_a_trigger_that_was_rolled_back_is_made_again(engine: Engine, sql: Sql) -> None:
    await engine.define("flow", graph(email()))
    lossy = with_lossy_database(engine, lose=lambda count: count == 2, when="before")

    started = await lossy.trigger("flow", {}, "k1")

    assert not started.duplicate
    assert await sql.fetchval("select id from queue") == started.id


async def test_rule_16_an_execution_names_its_version_for_ever(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await engine.define("flow", graph(email(to="{{ email }}", body="old")))
    await engine.trigger("flow", {"email": "a@example.com"}, "k1")
    newer = await engine.define("flow", graph(email(to="{{ email }}", body="new")))
    await engine.trigger("flow", {"email": "b@example.com"}, "k2")

    await work(engine)

    assert newer.number == 2
    assert {call.recipient: call.payload["body"] for call in provider.calls} == {
        "a@example.com": "old",
        "b@example.com": "new",
    }


async def test_rule_16_the_same_definition_again_makes_no_version(engine: Engine, sql: Sql) -> None:
    first = await engine.define("flow", graph(email()))

    again = await with_lossy_database(engine, lose=lambda count: count == 1).define("flow", graph(email()))

    assert again.id == first.id
    assert await sql.fetchval("select count(*) from workflow_versions") == 1


async def test_what_does_not_exist_cannot_be_triggered(engine: Engine) -> None:
    with pytest.raises(NotFound):
        await engine.trigger("nothing", {}, "k1")


@pytest.mark.parametrize("key", ["", "x" * 501, "a\x00b"])
async def test_a_key_that_cannot_be_stored_is_refused(engine: Engine, key: str) -> None:
    await engine.define("flow", graph(email()))

    with pytest.raises(InputInvalid):
        await engine.trigger("flow", {}, key)
    with pytest.raises(InputInvalid):
        await engine.deploy(campaign(key=key))


NEEDY = graph(email(to="{{ email }}", body="{{ order.id }} for {{ name }}"))
GIVEN: dict[str, object] = {"email": "ada@example.com", "order": {"id": 7}, "name": None}


async def test_a_trigger_that_lacks_data_is_refused_with_every_name_and_stores_nothing(
    engine: Engine, sql: Sql
) -> None:
    await engine.define("flow", NEEDY)

    with pytest.raises(DataMissing) as refused:
        await engine.trigger("flow", {"order": {}}, "k1")

    assert refused.value.variables == ("email", "name", "order.id")
    assert await sql.fetchval("select count(*) from executions") == 0
    assert not (await engine.trigger("flow", GIVEN, "k1")).duplicate


async def test_of_many_triggers_every_problem_is_named_and_none_is_started(engine: Engine, sql: Sql) -> None:
    await engine.define("flow", NEEDY)
    wishes = [
        Trigger("k1", GIVEN),
        Trigger("k2", {"email": "ada@example.com", "name": "Ada"}),
        Trigger("", GIVEN),
        Trigger("k4", {**GIVEN, "name": "A\x00"}),
        Trigger("k5", {}),
    ]

    with pytest.raises(TriggersInvalid) as refused:
        await engine.trigger_many("flow", wishes)

    problems = {problem.place: problem.message for problem in refused.value.problems}
    assert problems.keys() == {"triggers[1]", "triggers[2]", "triggers[3]", "triggers[4]"}
    assert "Missing template variables: order.id." in problems["triggers[1]"]
    assert "idempotencyKey ''" in problems["triggers[2]"]
    assert "data.name" in problems["triggers[3]"]
    assert "email, name, order.id" in problems["triggers[4]"]
    assert await sql.fetchval("select count(*) from executions") == 0


async def test_a_duplicate_is_answered_even_if_its_data_would_be_refused_now(engine: Engine, sql: Sql) -> None:
    await engine.define("flow", NEEDY)
    first = await engine.trigger("flow", GIVEN, "k1")
    await engine.define("flow", graph(email(to="{{ email }}", body="{{ new }}")))

    again = await engine.trigger("flow", {}, "k1")
    both = await engine.trigger_many("flow", [Trigger("k1"), Trigger("k2", {"email": "a@example.com", "new": 1})])

    assert (again.id, again.duplicate) == (first.id, True)
    assert [(one.id == first.id, one.duplicate) for one in both] == [(True, True), (False, False)]
    assert await sql.fetchval("select count(*) from queue") == 2
    with pytest.raises(TriggersInvalid, match=r"triggers\[1\]: Missing"):
        await engine.trigger_many("flow", [Trigger("k1"), Trigger("k3")])


async def test_a_key_given_twice_in_one_call_needs_its_data_once(engine: Engine) -> None:
    await engine.define("flow", NEEDY)

    first, second = await engine.trigger_many("flow", [Trigger("k1", GIVEN), Trigger("k1")])

    assert (first.id, first.duplicate, second.duplicate) == (second.id, False, True)


async def test_a_hundred_parallel_triggers_of_which_half_lack_data_start_one_execution(
    engine: Engine, sql: Sql
) -> None:
    await engine.define("flow", NEEDY)

    wishes = [engine.trigger("flow", GIVEN if number % 2 else {}, "k1") for number in range(100)]
    answers = await asyncio.gather(*wishes, return_exceptions=True)

    started = [one for one in answers if isinstance(one, Started)]
    assert len({one.id for one in started}) == 1
    assert [one.duplicate for one in started].count(False) == 1
    assert len(started) >= 50
    assert all(isinstance(one, Started | DataMissing) for one in answers)
    assert await sql.fetchval("select count(*) from executions") == 1


async def test_an_inactive_workflow_says_so_before_it_asks_for_data(engine: Engine, sql: Sql) -> None:
    await engine.define("flow", NEEDY)
    await sql.execute("update workflows set active = false")

    with pytest.raises(Conflict, match="not active"):
        await engine.trigger("flow", {}, "k1")


async def test_data_may_be_nested_a_hundred_levels_and_no_deeper(engine: Engine, sql: Sql) -> None:
    await engine.define("flow", graph(email()))

    await engine.trigger("flow", nested(100), "k1")
    wide = {f"n{number}": [number] for number in range(500)}
    await engine.trigger("flow", wide, "k2")

    for levels in (101, 5_000):
        with pytest.raises(InputInvalid, match="nested too deeply"):
            await engine.trigger("flow", nested(levels), "k3")
    assert await sql.fetchval("select count(*) from executions") == 2


def nested(levels: int) -> dict[str, object]:
    """An object with lists in it, so many in all."""
    inner: object = []
    for _ in range(levels - 2):
        inner = [inner]
    return {"deep": inner}


async def test_two_deploys_with_the_same_key_at_once_make_one_run(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    wishes = [worker.deploy(campaign(5)) for worker in (engine, other) for _ in range(4)]
    started = await asyncio.gather(*wishes)
    await work(engine)

    assert len({one.id for one in started}) == 1
    assert [one.duplicate for one in started].count(False) == 1
    assert await sql.fetchval("select count(*) from runs") == 1
    assert await sql.fetchval("select count(*) from audience") == 5
    assert await sql.fetchval("select count(distinct run_id) from run_parts") == 1
    assert len(provider.calls) == 5


async def test_a_deploy_whose_answer_is_lost_is_no_duplicate_of_itself(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    lossy = with_lossy_database(engine, lose=lambda count: count % 2 == 0)

    started = await lossy.deploy(campaign(5))
    await work(engine)

    assert not started.duplicate
    assert await sql.fetchval("select count(*) from audience") == 5
    assert len(provider.calls) == 5


async def test_never_do_deploy_only_sets_the_initial_status_of_a_run(engine: Engine, sql: Sql) -> None:
    await deploy(engine, 3)

    found = await row(sql, "select status, planned, started_at, ended_at from runs")

    assert found == ("queued", None, None, None)
    assert await sql.fetchval("select count(*) from jobs") == 0


async def test_a_person_named_twice_in_an_audience_is_written_to_once(engine: Engine, provider: FakeProvider) -> None:
    people = [Recipient(address) for address in ("A@example.com", "a@example.com ", "b@example.com")]

    await deploy(engine, recipients=people)
    await work(engine)

    assert sorted(call.recipient for call in provider.calls) == ["A@example.com", "b@example.com"]


async def test_an_audience_without_people_or_addresses_is_refused(engine: Engine) -> None:
    for people in ([], [Recipient(" ")]):
        with pytest.raises(InputInvalid):
            await deploy(engine, recipients=people)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"name": "A\x00da"}, "data.name"),
        ({"list": [{"deep": "\ud800"}]}, r"data.list\[0\].deep"),
        ({"when": object()}, "data is not JSON"),
    ],
)
async def test_data_that_cannot_be_stored_is_refused_by_its_place_and_stores_nothing(
    engine: Engine, sql: Sql, data: dict[str, object], place: str
) -> None:
    await engine.define("welcome", graph(email("hello")))

    with pytest.raises(InputInvalid, match=place):
        await engine.trigger("welcome", data, "key-1")

    assert await sql.fetchval("select count(*) from executions") == 0
