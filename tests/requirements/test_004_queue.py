"""004, phase 1: the queue, definitions, executions, and how work is found; section by section."""

import asyncio
import json
from datetime import datetime, timedelta

import pytest

from tests.conftest import ManualClock
from tests.http.conftest import HOME, Person
from tests.providers.function_server import FunctionServer, Silence, answer
from tests.requirements.conftest import (
    FrontEnd,
    Json,
    MakeEngine,
    Sql,
    called,
    define,
    in_call,
    step,
    steps,
    work_for,
)
from tests.worker.conftest import running, until
from tidings import Engine
from tidings.providers.fake import FakeProvider
from tidings.worker.loop import Worker

FAILURE = answer({"success": False, "error": "mail is down"})
GUEST = {"guest_email": "ada@example.com", "guest_name": "Ada"}
LONGER_THAN_A_TEST = 300.0


def greeting(**more: object) -> Json:
    return steps(step("send-email", to="{{guest_email}}", name="{{guest_name}}"), **more)


def times(later: str, earlier: str) -> timedelta:
    return datetime.fromisoformat(later) - datetime.fromisoformat(earlier)


# 1.1 Queues


async def test_004_1_1_a_message_whose_worker_died_reappears_and_is_done(
    manager: Person, front_end: FrontEnd, engine: Engine, clock: ManualClock, functions: FunctionServer
) -> None:
    """1.1, overview: "auto-reappear on failure"."""
    functions.answers = [Silence(), answer({"ok": True})]
    await define(manager, steps(step("send-email"), timeout_seconds=3600))
    started = await front_end.enqueue("flow", {})

    async with in_call(engine, lambda: len(functions.requests)):
        assert (await front_end.status(started["execution_id"]))["status"] == "running"
    await work_for(engine, clock, minutes=10)

    assert (await front_end.status(started["execution_id"]))["status"] == "completed"
    assert len({request.headers["idempotency-key"] for request in functions.requests}) == 1
    assert called(functions) == ["send-email"] * 2


async def test_004_1_1_failed_workflows_are_kept_as_dead_letters(
    manager: Person, operator: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.1: "dead letter queue for failed workflows"; they can be run again from there."""
    functions.answers = [FAILURE, answer({"ok": True})]
    await define(manager, steps(step("send-email", "abort")))
    id = (await front_end.enqueue("flow", {}))["execution_id"]
    await engine.work_everything()

    letters = (await operator.get("/v1/dead-letters")).json()["data"]
    await operator.post("/v1/dead-letters/replay", {"where": {"workflow": "flow"}})
    await engine.work_everything()

    assert [(one["id"], one["errorMessage"]) for one in letters] == [(id, "mail is down")]
    assert (await front_end.status(id))["status"] == "completed"
    assert (await operator.get("/v1/dead-letters")).json()["data"] == []


# 1.2 Definitions


async def test_004_1_2_a_definition_keeps_its_name_description_steps_and_settings(manager: Person) -> None:
    """1.2: the columns of workflow_definitions."""
    given = greeting(required_fields=["guest_email"], timeout_seconds=600, visibility_timeout=30, max_retries=1)

    made = await define(manager, {"description": "Says hello", **given}, "proposal_accepted")
    shown = (await manager.get(f"/v1/workflows/{made['id']}")).json()

    assert {name: shown[name] for name in given} == given
    assert (shown["name"], shown["description"]) == ("proposal_accepted", "Says hello")


async def test_004_1_2_a_name_is_unique(manager: Person) -> None:
    """1.2: `name TEXT UNIQUE NOT NULL`."""
    await define(manager, greeting())

    assert (await manager.post("/v1/workflows", {"name": "flow", **greeting()})).status_code == 409
    assert (await manager.post("/v1/workflows", greeting())).status_code == 422


async def test_004_1_2_a_definition_begins_active_and_at_version_1(manager: Person) -> None:
    """1.2: `active DEFAULT true`, `version DEFAULT 1`."""
    made = await define(manager, greeting())

    assert (made["active"], made["version"]) == (True, 1)


async def test_004_1_2_each_update_adds_1_to_the_version_and_sets_updated_at(
    manager: Person, clock: ManualClock
) -> None:
    """1.2: update_workflow_definitions_timestamp()."""
    made = await define(manager, greeting())
    clock.advance(minutes=1)
    changed = (await manager.ask("PUT", f"/v1/workflows/{made['id']}", json=greeting(max_retries=1))).json()

    assert (changed["version"], changed["createdAt"]) == (2, made["createdAt"])
    assert times(changed["updatedAt"], made["updatedAt"]) == timedelta(minutes=1)


async def test_004_1_2_who_created_a_definition_is_kept(manager: Person, admin: Person, sql: Sql) -> None:
    """1.2: `created_by`; whoever changed it since stands in the audit log."""
    made = await define(manager, greeting())
    await admin.ask("PUT", f"/v1/workflows/{made['id']}", json=greeting(max_retries=1))

    lines = (await admin.get("/v1/audit-log")).json()["data"]

    by = {line["event"]: line["actor"] for line in lines if line["subjectId"] == made["id"]}
    assert await sql.fetchval("select created_by from workflow_definitions") == by["created"] != by["updated"]
    assert "workflowManager" in by["created"]


DEFINITION_COLUMNS = {
    "id": "uuid",
    "name": "text",
    "description": "text",
    "steps": "jsonb",
    "required_fields": "ARRAY",
    "timeout_seconds": "integer",
    "visibility_timeout": "integer",
    "max_retries": "integer",
    "active": "boolean",
    "created_at": "timestamp with time zone",
    "updated_at": "timestamp with time zone",
    "created_by": "text",
    "version": "integer",
}
EXECUTION_COLUMNS = {
    "id": "uuid",
    "workflow_name": "text",
    "workflow_version": "integer",
    "status": "text",
    "current_step": "integer",
    "total_steps": "integer",
    "input_payload": "jsonb",
    "context": "jsonb",
    "error_message": "text",
    "error_step": "text",
    "retry_count": "integer",
    "created_at": "timestamp with time zone",
    "started_at": "timestamp with time zone",
    "completed_at": "timestamp with time zone",
    "correlation_id": "text",
    "triggered_by": "text",
}


@pytest.mark.parametrize(
    ("view", "columns"), [("workflow_definitions", DEFINITION_COLUMNS), ("workflow_executions", EXECUTION_COLUMNS)]
)
async def test_004_1_2_and_1_3_both_tables_have_their_printed_columns(
    engine: Engine, sql: Sql, view: str, columns: Json
) -> None:
    """1.2, 1.3: the names and types that are printed; the workspace stands beside them."""
    rows = await sql.fetch("select column_name, data_type from information_schema.columns where table_name = $1", view)

    assert {row["column_name"]: row["data_type"] for row in rows} == columns | {
        "tenant_id": "text",
        "workspace_id": "text",
    }


async def test_004_1_2_definitions_can_be_read_as_printed(manager: Person, sql: Sql) -> None:
    """2.1: `.from("workflow_definitions").eq("name", workflow).eq("active", true)`, with what is the default."""
    given = steps(step("a"), required_fields=["x", "y"], timeout_seconds=600, visibility_timeout=30, max_retries=1)
    await define(manager, {"description": "Says hello", **given}, "given")
    await define(manager, greeting(), "plain")
    made = await define(manager, {"steps": [step("b")], "maxRetries": 7, "requiredFields": ["z"]}, "changed")
    await manager.ask("PUT", f"/v1/workflows/{made['id']}", json={"steps": [step("c")], "retry": {"attempts": 3}})
    await manager.post(f"/v1/workflows/{made['id']}/deactivate")

    rows = await sql.fetch(
        """
        select name, description, steps -> 0 ->> 'name' as first, required_fields, timeout_seconds, visibility_timeout,
               max_retries, active, version
          from workflow_definitions order by name
        """
    )

    assert [tuple(row) for row in rows] == [
        ("changed", None, "c", [], 300, 60, 2, False, 2),
        ("given", "Says hello", "a", ["x", "y"], 600, 30, 1, True, 1),
        ("plain", None, "send-email", [], 300, 60, 3, True, 1),
    ]


async def test_004_1_3_executions_can_be_read_as_printed(
    manager: Person,
    operator: Person,
    front_end: FrontEnd,
    engine: Engine,
    clock: ManualClock,
    functions: FunctionServer,
    sql: Sql,
) -> None:
    """2.1, handleStatus: `.from("workflow_executions").select("*").eq("id", …)` is what the status answers."""
    functions.answers = [answer({"data": {"id": 7, "name": "Eve"}}), FAILURE, answer({"data": [1]}), FAILURE]
    await define(manager, steps(step("one"), step("two", "continue"), step("three"), step("four", "abort")), "failing")
    await define(manager, steps(step("one")))
    await define(
        manager, {"entryNodeId": "a", "nodes": [{"id": "a", "type": "delay", "delayMs": 0}], "edges": []}, "graph"
    )
    failed = await front_end.enqueue("failing", {"name": "Ada"}, correlation_id="c-1")
    await engine.work_everything()
    retried = await front_end.enqueue("flow", {"name": "Ada"})
    await engine.work_everything()
    paused = await front_end.enqueue("flow", {"name": "Bob"})
    await operator.post(f"/v1/executions/{paused['execution_id']}/pause")
    await engine.work_everything()
    graph = await front_end.enqueue("graph", {"name": "Ada"})
    await engine.work_everything()
    functions.answers = [answer({"data": {"id": 7}})]
    clock.advance(minutes=1)
    pending = await front_end.enqueue("flow", {})

    for started in (failed, retried, paused, graph, pending):
        shown = await front_end.status(started["execution_id"])
        [row] = await sql.fetch("select to_jsonb(e) as row from workflow_executions e where id = $1", shown["id"])
        told = json.loads(row["row"])
        if started is retried:  # it has begun, whatever it waits for
            shown["status"] = "running"
        for name in EXECUTION_COLUMNS:
            as_time = name.endswith("_at") and shown[name] is not None
            assert (datetime.fromisoformat(told[name]) if as_time else told[name]) == (
                datetime.fromisoformat(shown[name]) if as_time else shown[name]
            ), name
    shown = await front_end.status(failed["execution_id"])
    assert shown["context"].keys() >= {"id", "step_0_result", "step_1_error", "step_2_result", "step_3_error"}
    assert (shown["status"], shown["correlation_id"]) == ("failed", "c-1")


async def test_004_1_2_timeout_seconds_is_300_unless_given(
    manager: Person, front_end: FrontEnd, engine: Engine, clock: ManualClock, functions: FunctionServer
) -> None:
    """1.2: `timeout_seconds INTEGER DEFAULT 300`."""
    functions.answers = [answer({"error": "busy"}, 429, headers=["Retry-After: 3600"])]
    await define(manager, steps(step("send-email")))
    id = (await front_end.enqueue("flow", {}))["execution_id"]
    await engine.work_everything()
    clock.advance(seconds=299)
    await engine.work_everything()
    before = await front_end.status(id)
    clock.advance(seconds=1)
    await engine.work_everything()

    assert (before["status"], (await front_end.status(id))["status"]) == ("running", "failed")


async def test_004_1_2_max_retries_is_3_unless_given(
    manager: Person, front_end: FrontEnd, engine: Engine, clock: ManualClock, functions: FunctionServer
) -> None:
    """1.2: `max_retries INTEGER DEFAULT 3`, per step and after the first attempt."""
    functions.answers = [FAILURE]
    await define(manager, steps(step("send-email"), timeout_seconds=3600))
    await define(manager, steps(step("slack"), timeout_seconds=3600, max_retries=1), "other")
    await front_end.enqueue("flow", {})
    await front_end.enqueue("other", {})
    await work_for(engine, clock, minutes=10)

    assert sorted(called(functions)) == ["send-email"] * 4 + ["slack"] * 2


async def test_004_1_2_visibility_timeout_is_60_unless_given(
    manager: Person, front_end: FrontEnd, engine: Engine, sql: Sql, functions: FunctionServer
) -> None:
    """1.2: `visibility_timeout INTEGER DEFAULT 60`, the time one step has."""
    await define(manager, steps(step("send-email")))
    await define(manager, steps(step("slack"), visibility_timeout=5), "other")
    await front_end.enqueue("flow", {})
    await front_end.enqueue("other", {})
    await engine.work_everything()

    rows = await sql.fetch("select recipient, payload->>'timeout' from outbox order by 1")
    assert [tuple(row) for row in rows] == [("send-email", "60"), ("slack", "5")]


async def test_004_1_2_row_level_security_closes_definitions_and_executions(
    manager: Person, front_end: FrontEnd, sql: Sql
) -> None:
    """1.2, 1.3: ENABLE ROW LEVEL SECURITY."""
    await define(manager, greeting())
    await front_end.enqueue("flow", GUEST)
    count = """
        select (select count(*) from workflows) + (select count(*) from executions)
               + (select count(*) from workflow_definitions) + (select count(*) from workflow_executions)
    """

    await sql.execute("set role tidings_reader")
    closed = await sql.fetchval(count)
    await sql.execute(f"set tidings.tenant = '{HOME.tenant}'; set tidings.workspace = '{HOME.name}'")

    assert (closed, await sql.fetchval(count)) == (0, 4)


# 1.3 Executions


async def test_004_1_3_an_execution_is_pending_running_and_then_completed(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.3: the states of an execution, with `current_step` and the three times."""
    functions.answers = [answer({"ok": True}), Silence()]
    await define(manager, steps(step("one"), step("two")))
    id = (await front_end.enqueue("flow", {}))["execution_id"]

    pending = await front_end.status(id)
    async with in_call(engine, lambda: len(functions.requests), calls=2):
        running_ = await front_end.status(id)
    shown = [(one["status"], one["current_step"], one["total_steps"]) for one in (pending, running_)]

    assert shown == [("pending", 0, 2), ("running", 1, 2)]
    assert (pending["started_at"], pending["completed_at"], running_["completed_at"]) == (None, None, None)
    assert running_["started_at"] is not None


async def test_004_1_3_a_completed_execution_has_all_its_times(
    manager: Person, front_end: FrontEnd, engine: Engine
) -> None:
    """1.3: `completed`, `created_at`, `started_at`, `completed_at`."""
    await define(manager, greeting())
    id = (await front_end.enqueue("flow", GUEST))["execution_id"]
    await engine.work_everything()

    done = await front_end.status(id)

    assert (done["status"], done["current_step"], done["error_message"]) == ("completed", 0, None)
    assert all(datetime.fromisoformat(done[name]) for name in ("created_at", "started_at", "completed_at"))


async def test_004_1_3_an_execution_is_failed_with_its_error_and_step(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.3: `failed`, `error_message`, `error_step`."""
    functions.answers = [FAILURE]
    await define(manager, steps(step("send-email", "abort")))
    id = (await front_end.enqueue("flow", {}))["execution_id"]
    await engine.work_everything()

    failed = await front_end.status(id)

    assert (failed["status"], failed["error_message"], failed["error_step"]) == ("failed", "mail is down", "send-email")
    assert failed["completed_at"] is not None


async def test_004_1_3_an_execution_is_cancelled_by_hand(
    manager: Person, operator: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.3: `cancelled`: "manually cancelled"."""
    await define(manager, greeting())
    id = (await front_end.enqueue("flow", GUEST))["execution_id"]
    await operator.post(f"/v1/executions/{id}/cancel")
    await engine.work_everything()

    assert (await front_end.status(id))["status"] == "cancelled"
    assert functions.requests == []


async def test_004_1_3_an_execution_keeps_its_version_and_input(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.3: `workflow_version`, `input_payload`: "original payload from frontend"."""
    made = await define(manager, steps(step("old", to="{{guest_email}}")))
    id = (await front_end.enqueue("flow", GUEST))["execution_id"]
    await manager.ask("PUT", f"/v1/workflows/{made['id']}", json=steps(step("new")))
    await engine.work_everything()

    shown = await front_end.status(id)

    assert called(functions) == ["old"]
    assert (shown["workflow_name"], shown["workflow_version"], shown["input_payload"]) == ("flow", 1, GUEST)


async def test_004_1_3_an_execution_says_who_triggered_it(
    manager: Person, operator: Person, front_end: FrontEnd
) -> None:
    """1.3: `triggered_by`: "'frontend', 'cron', 'manual'"."""
    await define(manager, greeting())
    mine = await front_end.enqueue("flow", GUEST)
    other = (await operator.post("/v1/triggers", {"workflow": "flow", "data": GUEST})).json()

    assert (await front_end.status(mine["execution_id"]))["triggered_by"] == "frontend"
    assert (await front_end.status(other["id"]))["triggered_by"] == "api"


# 1.4 and 1.5: at once, and if need be by looking


async def test_004_1_4_an_enqueued_workflow_is_executed_immediately(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.4: "Immediate Workflow Trigger"; the worker would look by itself only minutes later."""
    await define(manager, greeting())

    async with running(Worker(engine, poll_seconds=LONGER_THAN_A_TEST)):
        await asyncio.sleep(0.3)
        await front_end.enqueue("flow", GUEST)
        await until(lambda: len(functions.requests) == 1)


async def test_004_1_5_a_workflow_is_processed_even_if_nobody_was_told(
    manager: Person,
    front_end: FrontEnd,
    engine: Engine,
    clock: ManualClock,
    functions: FunctionServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1.5: "Ensures workflows are processed even if pg_net trigger fails"."""

    async def hear_nothing(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("tidings.worker.loop.listen", hear_nothing)
    await define(manager, greeting())

    def is_called_in_a_minute() -> bool:
        clock.advance(seconds=0.1)
        return len(functions.requests) == 1

    async with running(Worker(engine, poll_seconds=0.1)):
        await asyncio.sleep(0.3)
        await front_end.enqueue("flow", GUEST)
        await until(is_called_in_a_minute)


async def test_004_1_5_what_keeps_killing_its_worker_ends_as_a_dead_letter(
    manager: Person,
    operator: Person,
    front_end: FrontEnd,
    engine: Engine,
    clock: ManualClock,
    functions: FunctionServer,
) -> None:
    """1.5: move_failed_workflows_to_dlq(); nothing is tried for ever."""
    functions.answers = [Silence()]
    await define(manager, steps(step("send-email"), timeout_seconds=86_400))
    id = (await front_end.enqueue("flow", {}))["execution_id"]

    for _ in range(20):
        if (await front_end.status(id))["status"] == "failed":
            break
        async with in_call(engine, lambda: len(functions.requests)):
            pass
        clock.advance(minutes=10)

    letters = (await operator.get("/v1/dead-letters")).json()["data"]
    assert [one["id"] for one in letters] == [id]
    assert len(functions.requests) <= 6


async def test_004_hollow_orchestrator_two_workers_share_the_queue(
    manager: Person, front_end: FrontEnd, make_engine: MakeEngine, engine: Engine, functions: FunctionServer
) -> None:
    """Overview: any number of workers read one queue, and each message is read by one."""
    other = await make_engine(FakeProvider())
    await define(manager, greeting())
    for number in range(12):
        await front_end.enqueue("flow", GUEST, correlation_id=f"c-{number}")

    await asyncio.gather(engine.work_everything(limit=1), other.work_everything(limit=1))

    assert len(functions.requests) == 12
    assert len({request.headers["idempotency-key"] for request in functions.requests}) == 12
