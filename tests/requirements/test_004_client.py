"""004, phases 3 and 4: the three seeded definitions end to end, and the client that triggers and waits."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ManualClock
from tests.http.conftest import Person, listening
from tests.providers.function_server import FunctionServer, answer
from tests.requirements.conftest import FrontEnd, Json, bodies, called, define, step, steps, work_for
from tidings import Config, Engine
from tidings.client import Client, Execution, Invalid, WaitTimeout

DEFINITIONS = Path(__file__).parents[2] / "examples" / "workflows"
FAILURE = answer({"success": False, "error": "mail is down"})
PROPOSAL: Json = {
    "guest_email": "ada@example.com",
    "guest_name": "Ada",
    "host_name": "Grace",
    "listing_address": "12 St James's Square",
    "start_date": "2026-03-01",
    "end_date": "2026-06-01",
    "monthly_rent": 2400,
    "email_template_id": "proposal_accepted_template",
}
LISTING: Json = {
    "host_email": "grace@example.com",
    "host_name": "Grace",
    "listing_address": "12 St James's Square",
    "listing_id": "L-17",
    "email_template_id": "listing-1",
}
SIGNUP: Json = {
    "user_email": "alan@example.com",
    "user_name": "Alan Turing",
    "first_name": "Alan",
    "signup_date": "2026-02-28",
    "welcome_email_template_id": "welcome-1",
}


async def seed(manager: Person, name: str) -> Json:
    return await define(manager, yaml.safe_load((DEFINITIONS / f"{name}.yaml").read_text()), name)


# 3.1 The seeded definitions


async def test_004_3_1_proposal_accepted_runs_end_to_end(
    manager: Person, front_end: FrontEnd, engine: Engine, clock: ManualClock, functions: FunctionServer
) -> None:
    """3.1: one e-mail, tried again until it is out."""
    functions.answers = [FAILURE, answer({"success": True, "data": {"message_id": "m-1"}})]
    await seed(manager, "proposal_accepted")

    started = await front_end.enqueue("proposal_accepted", PROPOSAL)
    await work_for(engine, clock, minutes=1)

    done = await front_end.status(started["execution_id"])
    sent = {
        "action": "send",
        "payload": {
            "template_id": "proposal_accepted_template",
            "to_email": "ada@example.com",
            "to_name": "Ada",
            "variables": {
                "guest_name": "Ada",
                "host_name": "Grace",
                "listing_address": "12 St James's Square",
                "start_date": "2026-03-01",
                "end_date": "2026-06-01",
                "monthly_rent": "2400",
            },
        },
    }
    assert (done["status"], called(functions)) == ("completed", ["send-email"] * 2)
    assert bodies(functions) == [sent, sent]


async def test_004_3_1_listing_submitted_runs_end_to_end(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """3.1: the e-mail fails, and the team is told all the same."""
    functions.answers = [FAILURE, answer({"success": True})]
    await seed(manager, "listing_submitted")

    started = await front_end.enqueue("listing_submitted", LISTING)
    await engine.work_everything()

    done = await front_end.status(started["execution_id"])
    assert (done["status"], done["total_steps"]) == ("completed", 2)
    assert called(functions) == ["send-email", "slack"]
    assert bodies(functions)[0]["payload"]["variables"]["listing_id"] == "L-17"
    assert bodies(functions)[1] == {
        "action": "faq_inquiry",
        "payload": {
            "message": "New listing submitted: 12 St James's Square by Grace",
            "channel": "acquisition",
        },
    }
    assert done["context"]["step_0_error"] == "mail is down"


async def test_004_3_1_user_signup_complete_runs_end_to_end(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """3.1: a welcome."""
    await seed(manager, "user_signup_complete")

    started = await front_end.enqueue("user_signup_complete", SIGNUP)
    await engine.work_everything()

    assert (await front_end.status(started["execution_id"]))["status"] == "completed"
    assert bodies(functions)[0]["payload"] == {
        "template_id": "welcome-1",
        "to_email": "alan@example.com",
        "to_name": "Alan Turing",
        "variables": {"first_name": "Alan", "signup_date": "2026-02-28"},
    }


SEEDS: dict[str, tuple[Json, set[str], int]] = {
    "proposal_accepted": (PROPOSAL, {"guest_email", "guest_name", "email_template_id"}, 300),
    "listing_submitted": (LISTING, LISTING.keys() | set(), 600),
    "user_signup_complete": (SIGNUP, {"user_email", "user_name", "first_name", "welcome_email_template_id"}, 300),
}


@pytest.mark.parametrize("name", SEEDS)
async def test_004_3_1_the_seeds_have_the_printed_fields_and_settings(
    manager: Person, front_end: FrontEnd, name: str
) -> None:
    """3.1: required fields, timeouts, retries; each required field and each variable is asked for."""
    data, required, seconds = SEEDS[name]
    made = await seed(manager, name)

    assert set(made["required_fields"]) == required
    assert (made["timeout_seconds"], made["visibility_timeout"], made["max_retries"]) == (seconds, 60, 3)
    for missing in data:
        level = "required fields" if missing in required else "template variables"
        error = await front_end.refused(name, {field: value for field, value in data.items() if field != missing})
        assert error.startswith(f"Missing {level}: {missing}"), error


# 4.1 The client


@pytest.fixture
async def client(engine: Engine, operator: Person) -> AsyncIterator[Client]:
    """The client of a program, over a real connection."""
    async with listening(engine, Config(rate_limit=0)) as url, Client(url, operator.secret) as client:
        yield client


async def test_004_4_1_trigger_workflow_gives_the_execution(manager: Person, client: Client) -> None:
    """4.1, triggerWorkflow: by name, with data, and with a key that makes it idempotent."""
    await seed(manager, "proposal_accepted")

    first = await client.trigger("proposal_accepted", PROPOSAL, "proposal-17")
    again = await client.trigger("proposal_accepted", PROPOSAL, "proposal-17")

    assert (first.execution.workflow_name, first.execution.total_steps) == ("proposal_accepted", 1)
    assert (again.execution.id, again.duplicate) == (first.execution.id, True)


async def test_004_4_1_trigger_workflow_throws_with_the_server_s_words(manager: Person, client: Client) -> None:
    """4.1: `throw new Error(response.error.message)`."""
    await seed(manager, "proposal_accepted")

    with pytest.raises(Invalid, match="guest_email"):
        await client.trigger("proposal_accepted", {})


async def test_004_4_1_get_workflow_status_gives_every_field(
    manager: Person, client: Client, engine: Engine, functions: FunctionServer
) -> None:
    """4.1, WorkflowStatusResult."""
    functions.answers = [FAILURE]
    await define(manager, steps(step("one", "abort"), step("two")))
    started = await client.trigger("flow", {"name": "Ada"})
    await engine.work_everything()

    shown = await client.status(started.execution.id)

    assert (shown.id, shown.workflow_name, shown.status) == (started.execution.id, "flow", "failed")
    assert (shown.current_step, shown.total_steps, shown.input_payload) == (0, 2, {"name": "Ada"})
    assert (shown.error_message, shown.error_step) == ("mail is down", "one")
    assert None not in (shown.created_at, shown.started_at, shown.completed_at)


async def test_004_4_1_wait_for_workflow_polls_every_2_s_for_60_s_unless_told() -> None:
    """4.1: `{ pollInterval = 2000, timeout = 60000, onProgress }`."""
    parameters = inspect.signature(Client.wait).parameters

    assert (parameters["poll"].default, parameters["timeout"].default) == (2.0, 60.0)
    assert parameters["on_progress"].default is None


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
async def test_004_4_1_wait_for_workflow_ends_with_the_execution_and_tells_its_progress(
    manager: Person, operator: Person, client: Client, engine: Engine, functions: FunctionServer, end: str
) -> None:
    """4.1, waitForWorkflow: onProgress at each look, and the last status is the answer, whatever it is."""
    functions.answers = [FAILURE if end == "failed" else answer({"ok": True})]
    await define(manager, steps(step("one", "abort"), step("two", "abort")))
    id = (await client.trigger("flow", {})).execution.id
    seen: list[Execution] = []

    async def bring_about(one: Execution) -> None:
        seen.append(one)
        if end == "cancelled":
            await operator.post(f"/v1/executions/{id}/cancel")
        await engine.work_everything()

    ended = await client.wait(id, poll=0.01, timeout=20, on_progress=bring_about)

    assert (ended.status, seen[0].status, seen[-1].status) == (end, "enqueued", end)


async def test_004_4_1_wait_for_workflow_throws_when_the_time_is_over(manager: Person, client: Client) -> None:
    """4.1: "timed out after"; the execution itself goes on."""
    await define(manager, steps(step("one")))
    id = (await client.trigger("flow", {})).execution.id

    with pytest.raises(WaitTimeout, match=str(id)):
        await client.wait(id, poll=0.01, timeout=0.05)

    assert (await client.status(id)).status == "enqueued"


async def test_004_4_2_the_usage_example_runs_as_printed(manager: Person, client: Client, engine: Engine) -> None:
    """4.2: trigger, then wait and print `Step n/total`."""
    await seed(manager, "proposal_accepted")
    printed: list[str] = []
    begun = asyncio.Event()

    def show(status: Execution) -> None:
        printed.append(f"Step {(status.current_step or 0) + 1}/{status.total_steps}")
        begun.set()

    async def work() -> Any:
        await begun.wait()
        await engine.work_everything()

    working = asyncio.create_task(work())
    result = await client.trigger("proposal_accepted", PROPOSAL)
    final = await client.wait(result.execution.id, poll=0.05, timeout=20, on_progress=show)
    await working

    assert final.status == "completed"
    assert set(printed) == {"Step 1/1"}
