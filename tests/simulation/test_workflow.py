"""A workflow's next weeks, run by the real kernel on a scratch database."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.simulation.conftest import HOME, calls_of, really_send, state_of
from tests.testing.conftest import ADA, WELCOME
from tidings.domain.caller import Caller
from tidings.domain.errors import (
    Conflict,
    DataMissing,
    DefinitionInvalid,
    InputInvalid,
    NotFound,
    ScenarioInvalid,
    SimulationUnavailable,
)
from tidings.domain.people.audience import Audience
from tidings.domain.people.audience_filter import Where
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.simulation import Simulator, simulate
from tidings.simulation.simulate import SimulationStage
from tidings.simulation.workflow import SimulatedWorkflow

BRANCHING: dict[str, Any] = {
    "entryNodeId": "score",
    "nodes": [
        {"id": "score", "type": "function", "function": "score", "payload": {}},
        {"id": "fork", "type": "branch"},
        {
            "id": "praise",
            "type": "email",
            "to": "{{ email }}",
            "subject": "Well done",
            "body": "{{ vars.score.points }}",
        },
        {"id": "comfort", "type": "sms", "to": "{{ phone }}", "body": "Next time"},
    ],
    "edges": [
        {"from": "score", "to": "fork"},
        {"from": "fork", "to": "praise", "condition": {"path": "vars.score.points", "op": "greater", "value": 5}},
        {"from": "fork", "to": "comfort"},
    ],
}


async def welcome(engine: Engine, caller: Caller) -> SimulatedWorkflow:
    made = await engine.workflows.create(caller, "welcome", WELCOME)
    return await SimulatedWorkflow.find(engine, HOME, made.id)


async def test_the_calendar_says_what_leaves_when(
    engine: Engine, caller: Caller, clock: ManualClock, stage: SimulationStage
) -> None:
    subject = await welcome(engine, caller)

    found = await simulate(engine, HOME, subject, Scenario(days=30, data=(ADA, ADA | {"name": "Ben"})), stage)

    assert (found.kind, found.name, found.version, found.complete) == ("workflow", "welcome", 1, True)
    assert (found.start, found.end) == (clock.time, clock.time + timedelta(days=30))
    assert [(hour.day, hour.hour, hour.step, hour.count) for hour in found.calendar] == [
        (date(2026, 3, 2), 9, "hello", 2),
        (date(2026, 3, 5), 9, "nudge", 2),
    ]
    assert found.ended == {"completed": 2}
    assert sorted(one.payload["body"] for one in found.messages if one.step == "nudge") == [
        *("Still there, Ada?", "Still there, Ben?"),
    ]


async def test_nothing_leaves_and_nothing_in_the_live_tables_changes(
    engine: Engine,
    caller: Caller,
    provider: FakeProvider,
    stage: SimulationStage,
    sql: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    subject = await welcome(engine, caller)
    await engine.contacts.create(caller, {"externalId": "ada", "email": "ada@example.com"})
    await engine.trigger("welcome", ADA, "live")
    before = await state_of(sql)

    found = await simulate(engine, HOME, subject, Scenario(data=(ADA,)), stage)

    assert found.sent == 2
    assert await state_of(sql) == before
    assert provider.calls == []


async def test_a_simulated_run_and_a_real_one_send_the_same_at_the_same_times(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider, stage: SimulationStage
) -> None:
    subject = await welcome(engine, caller)
    found = await simulate(engine, HOME, subject, Scenario(days=10, data=(ADA,)), stage)

    await engine.trigger("welcome", ADA, "live")
    real = await really_send(engine, clock, provider, clock.time + timedelta(days=10))

    assert calls_of(found) == real
    assert len(real) == 2


async def test_no_function_is_called_and_what_it_would_answer_decides(engine: Engine, stage: SimulationStage) -> None:
    subject = SimulatedWorkflow.of("score", BRANCHING)

    high = await simulate(engine, HOME, subject, Scenario(data=(ADA,), results={"score": {"points": 7}}), stage)
    none = await simulate(engine, HOME, subject, Scenario(data=(ADA,)), stage)

    assert [one.step for one in high.messages] == ["score", "praise"]
    assert high.messages[-1].payload["body"] == "7"
    assert [one.step for one in none.messages] == ["score", "comfort"]
    assert high.version is None


async def test_what_would_fail_is_told_with_its_reason(engine: Engine, stage: SimulationStage) -> None:
    definition = {
        "entryNodeId": "wait",
        "nodes": [
            {"id": "wait", "type": "delay", "until": "{{ renewal }}"},
            {"id": "tell", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "It is time"},
        ],
        "edges": [{"from": "wait", "to": "tell"}],
    }
    data = ({**ADA, "renewal": "2026-05-01T08:00:00Z"}, {**ADA, "renewal": "soon"})

    found = await simulate(engine, HOME, SimulatedWorkflow.of("renewal", definition), Scenario(data=data), stage)

    [reason] = found.failed_because
    assert (reason.step, reason.count) == ("wait", 1)
    assert "'soon' is not a time" in reason.reason
    assert [(hour.day, hour.hour) for hour in found.calendar] == [(date(2026, 5, 1), 8)]


async def test_it_begins_when_it_is_asked_to_and_what_lies_beyond_the_days_is_under_way(
    engine: Engine, caller: Caller, stage: SimulationStage
) -> None:
    start = datetime(2027, 1, 1, 12, tzinfo=UTC)
    scenario = Scenario(start=start, days=2, data=(ADA,))

    found = await simulate(engine, HOME, await welcome(engine, caller), scenario, stage)

    assert [one.at for one in found.messages] == [start]
    assert found.ended == {"enqueued": 1}


async def test_when_its_time_is_over_it_says_how_far_it_came(
    engine: Engine, caller: Caller, clock: ManualClock, server: str
) -> None:
    subject = await welcome(engine, caller)

    found = await simulate(engine, HOME, subject, Scenario(data=(ADA,)), SimulationStage(server=server, seconds=0))

    assert not found.complete
    assert clock.time <= found.reached < found.end
    assert found.sent == 1


async def test_bad_input_is_refused_before_anything_is_made(
    engine: Engine, caller: Caller, stage: SimulationStage
) -> None:
    subject = await welcome(engine, caller)

    with pytest.raises(ScenarioInvalid, match="days"):
        await simulate(engine, HOME, subject, Scenario(days=0, data=(ADA,)), stage)
    with pytest.raises(ScenarioInvalid, match="nothing would start it"):
        await simulate(engine, HOME, subject, Scenario(), stage)
    with pytest.raises(DataMissing, match="phone"):
        await simulate(engine, HOME, subject, Scenario(data=({"name": "Ada", "email": "a@example.com"},)), stage)
    with pytest.raises(InputInvalid, match="no contacts"):
        await simulate(
            engine, HOME, subject, Scenario(contacts=Audience(filters=(Where("tag", "nobody"),)), data=(ADA,)), stage
        )
    with pytest.raises(InputInvalid, match="messagesOf: there is no contact"):
        await simulate(engine, HOME, subject, Scenario(messages_of=(uuid4(),), data=(ADA,)), stage)
    with pytest.raises(NotFound):
        await SimulatedWorkflow.find(engine, HOME, uuid4())
    with pytest.raises(DefinitionInvalid):
        SimulatedWorkflow.of("broken", {"nodes": []})


# The simulator of a server


async def test_there_is_one_simulation_at_a_time(engine: Engine, caller: Caller, server: str) -> None:
    made = await engine.workflows.create(caller, "welcome", WELCOME)
    simulator = Simulator(server=server)
    first = asyncio.create_task(simulator.workflow(engine, HOME, made.id, Scenario(data=(ADA,))))
    await asyncio.sleep(0.05)

    with pytest.raises(Conflict, match="one at a time"):
        await simulator.workflow(engine, HOME, made.id, Scenario(data=(ADA,)))

    assert (await first).sent == 2
    assert (await simulator.workflow(engine, HOME, made.id, Scenario(data=(ADA,)))).sent == 2


async def test_where_no_server_can_be_started_it_says_so(engine: Engine, caller: Caller, tmp_path: Path) -> None:
    made = await engine.workflows.create(caller, "welcome", WELCOME)

    with pytest.raises(SimulationUnavailable, match="no simulation can run on this machine"):
        await Simulator(pg_bin=tmp_path).workflow(engine, HOME, made.id, Scenario(data=(ADA,)))


async def test_a_workflow_is_triggered_for_each_contact_with_each_data(
    engine: Engine, caller: Caller, stage: SimulationStage
) -> None:
    people = [{"externalId": name, "name": name, "email": f"{name}@example.com"} for name in ("ada", "ben", "cyd")]
    ada, *_ = await engine.contacts.upsert_many(caller, people)
    definition = {
        "entryNodeId": "hello",
        "nodes": [{"id": "hello", "type": "email", "subject": "{{ topic }}", "body": "Dear {{ contact.name }}"}],
        "edges": [],
    }
    subject = SimulatedWorkflow.of("letter", definition)
    scenario = Scenario(contacts=Audience(all=True), data=({"topic": "A"}, {"topic": "B"}), messages_of=(ada.id,))

    found = await simulate(engine, HOME, subject, scenario, stage)

    assert (found.audience, found.contacts, found.sent) == (3, 3, 6)
    assert sorted(one.payload["subject"] for one in found.messages) == ["A", "B"]
    assert {(one.recipient, one.payload["body"]) for one in found.messages} == {
        ("ada@example.com", "Dear ada"),
    }


@pytest.mark.parametrize(
    ("node", "data", "reason"),
    [
        (
            {"subject": "Dear {{ name }}", "body": "Hello"},
            ADA | {"name": "a\nb"},
            "subject has a control character",
        ),
        ({"subject": "Hi", "body": "Hello", "to": "{{ name }}"}, ADA, "recipient is not an e-mail address"),
    ],
)
async def test_an_e_mail_that_fails_for_real_fails_in_the_simulation_for_the_same_reason(
    node: dict[str, str], data: dict[str, str], reason: str, engine: Engine, caller: Caller, stage: SimulationStage
) -> None:
    nodes = [{"id": "hello", "type": "email", "to": "{{ email }}", **node}]
    subject = SimulatedWorkflow.of("welcome", {"entryNodeId": "hello", "nodes": nodes, "edges": []})

    found = await simulate(engine, HOME, subject, Scenario(days=1, data=(data,)), stage)

    assert (found.sent, found.failed) == (0, 1)
    assert [(one.step, one.reason) for one in found.failed_because] == [("hello", reason)]
    assert found.ended == {"failed": 1}
