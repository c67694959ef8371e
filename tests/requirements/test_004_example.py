"""004's own example: its three definitions, its client and the acceptance of a proposal, field by field as printed.

Played twice: by the real supabase-js, where it is installed (`make test-supabase`), and always in plain HTTP.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import httpx2
import pytest

from tests.http.conftest import Person, listening
from tests.providers.function_server import FunctionServer, answer
from tests.requirements.conftest import ENQUEUE, Json, Sql, bodies, called, define
from tests.requirements.supabase_client import require_supabase, supabase_client
from tests.worker.conftest import running
from tidings import Config, Engine
from tidings.worker.loop import Worker

Call: TypeAlias = Callable[..., Awaitable[Any]]
Front: TypeAlias = Callable[[str, str], AbstractAsyncContextManager[Call]]

SEEDS: list[Json] = [
    {
        "name": "proposal_accepted",
        "description": "Sends email notification when a proposal is accepted",
        "steps": [
            {
                "name": "send_acceptance_email",
                "function": "send-email",
                "action": "send",
                "payload_template": {
                    "template_id": "{{email_template_id}}",
                    "to_email": "{{guest_email}}",
                    "to_name": "{{guest_name}}",
                    "variables": {
                        "guest_name": "{{guest_name}}",
                        "host_name": "{{host_name}}",
                        "listing_address": "{{listing_address}}",
                        "start_date": "{{start_date}}",
                        "end_date": "{{end_date}}",
                        "monthly_rent": "{{monthly_rent}}",
                    },
                },
                "on_failure": "retry",
            }
        ],
        "required_fields": ["guest_email", "guest_name", "email_template_id"],
        "timeout_seconds": 300,
        "visibility_timeout": 60,
        "max_retries": 3,
    },
    {
        "name": "listing_submitted",
        "description": "Handles post-listing submission tasks: email confirmation, Slack notification, Bubble sync",
        "steps": [
            {
                "name": "send_confirmation_email",
                "function": "send-email",
                "action": "send",
                "payload_template": {
                    "template_id": "{{email_template_id}}",
                    "to_email": "{{host_email}}",
                    "to_name": "{{host_name}}",
                    "variables": {
                        "host_name": "{{host_name}}",
                        "listing_address": "{{listing_address}}",
                        "listing_id": "{{listing_id}}",
                    },
                },
                "on_failure": "continue",
            },
            {
                "name": "notify_slack",
                "function": "slack",
                "action": "faq_inquiry",
                "payload_template": {
                    "message": "New listing submitted: {{listing_address}} by {{host_name}}",
                    "channel": "acquisition",
                },
                "on_failure": "continue",
            },
        ],
        "required_fields": ["host_email", "host_name", "listing_address", "listing_id", "email_template_id"],
        "timeout_seconds": 600,
        "visibility_timeout": 60,
        "max_retries": 3,
    },
    {
        "name": "user_signup_complete",
        "description": "Post-signup tasks: welcome email, Bubble sync",
        "steps": [
            {
                "name": "send_welcome_email",
                "function": "send-email",
                "action": "send",
                "payload_template": {
                    "template_id": "{{welcome_email_template_id}}",
                    "to_email": "{{user_email}}",
                    "to_name": "{{user_name}}",
                    "variables": {"first_name": "{{first_name}}", "signup_date": "{{signup_date}}"},
                },
                "on_failure": "retry",
            }
        ],
        "required_fields": ["user_email", "user_name", "first_name", "welcome_email_template_id"],
        "timeout_seconds": 300,
        "visibility_timeout": 60,
        "max_retries": 3,
    },
]
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
ENDED = {"completed", "failed", "cancelled"}


@asynccontextmanager
async def plain_http(url: str, key: str) -> AsyncIterator[Call]:
    """The client of 4.1 without its library: the same requests, written by hand."""
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "x-client-info": "plain"}
    async with httpx2.AsyncClient(base_url=url, headers=headers) as http:

        async def invoke(body: Json) -> Any:
            response = await http.post(ENQUEUE, json=body)
            if response.is_error:
                raise RuntimeError("Edge Function returned a non-2xx status code")
            return response.json()["data"]

        async def wait(id: str, options: Json) -> Json:
            progress = []
            async with asyncio.timeout(options["timeout"] / 1000):
                while True:
                    status = await invoke({"action": "status", "payload": {"execution_id": id}})
                    progress.append(f"Step {status['current_step'] + 1}/{status['total_steps']}")
                    if status["status"] in ENDED:
                        return {"progress": progress, "status": status}
                    await asyncio.sleep(options["pollInterval"] / 1000)

        async def call(name: str, *given: Any) -> Any:
            if name == "trigger":
                workflow, data, *correlation = given
                payload = {"workflow": workflow, "data": data, "correlation_id": (*correlation, None)[0]}
                return await invoke({"action": "enqueue", "payload": payload})
            return await wait(*given)

        yield call


@asynccontextmanager
async def supabase_js(url: str, key: str) -> AsyncIterator[Call]:
    """The same by the real library."""
    async with supabase_client(url, key) as client:
        yield client.call


@pytest.fixture(params=["plain_http", "supabase_js"])
def front(request: pytest.FixtureRequest) -> Front:
    """Either client."""
    if request.param == "supabase_js":
        require_supabase()
    return {"plain_http": plain_http, "supabase_js": supabase_js}[request.param]


async def test_004_the_printed_example_runs_field_by_field(
    front: Front, manager: Person, operator: Person, engine: Engine, functions: FunctionServer, sql: Sql
) -> None:
    """3.1, 4.1 and 4.2: seed, triggerWorkflow, waitForWorkflow with onProgress, and what each function was asked."""
    for seed in SEEDS:
        await define(manager, {name: value for name, value in seed.items() if name != "name"}, seed["name"])
    functions.answers = [
        answer({"success": True, "data": {"message_id": "m-1"}}),
        answer({"success": False, "error": "mail is down"}),
        answer({"success": True, "data": {"ts": "1.2"}}),
        answer({"success": True, "data": {"message_id": "m-2"}}),
    ]
    patient = {"pollInterval": 50, "timeout": 60000}

    async with (
        listening(engine, Config(rate_limit=0)) as url,
        running(Worker(engine)),
        front(url, operator.secret) as call,
    ):
        result = await call("trigger", "proposal_accepted", PROPOSAL, "proposal-17")
        accepted = await call("wait", result["execution_id"], patient)
        again = await call("trigger", "user_signup_complete", SIGNUP, "proposal-17")
        listing = await call("wait", (await call("trigger", "listing_submitted", LISTING))["execution_id"], patient)
        signup = await call("wait", (await call("trigger", "user_signup_complete", SIGNUP))["execution_id"], patient)
        with pytest.raises(RuntimeError, match="non-2xx"):
            await call("trigger", "proposal_accepted", {"guest_email": "ada@example.com"})

    assert {name: value for name, value in result.items() if name != "execution_id"} == {
        "workflow_name": "proposal_accepted",
        "status": "queued",
        "total_steps": 1,
    }
    assert again == {
        "execution_id": result["execution_id"],
        "workflow_name": "user_signup_complete",
        "status": "completed",
        "message": "Workflow already exists (idempotent)",
    }
    assert (accepted["status"]["status"], set(accepted["progress"])) == ("completed", {"Step 1/1"})
    assert accepted["status"]["context"] == PROPOSAL | {
        "message_id": "m-1",
        "step_0_result": {"message_id": "m-1"},
        "send_acceptance_email": {"message_id": "m-1"},
    }
    assert (listing["status"]["status"], listing["progress"][-1]) == ("completed", "Step 2/2")
    assert listing["status"]["context"]["step_0_error"] == "mail is down"
    assert signup["status"]["status"] == "completed"
    assert called(functions) == ["send-email", "send-email", "slack", "send-email"]
    assert [body["action"] for body in bodies(functions)] == ["send", "send", "faq_inquiry", "send"]
    assert bodies(functions)[0]["payload"]["variables"] == {
        "guest_name": "Ada",
        "host_name": "Grace",
        "listing_address": "12 St James's Square",
        "start_date": "2026-03-01",
        "end_date": "2026-06-01",
        "monthly_rent": "2400",
    }
    assert bodies(functions)[2]["payload"] == {
        "message": "New listing submitted: 12 St James's Square by Grace",
        "channel": "acquisition",
    }
    rows = await sql.fetch(
        "select name, description, steps, required_fields, timeout_seconds, visibility_timeout, max_retries"
        "  from workflow_definitions order by created_at, name desc"
    )
    stored = [dict(row) | {"steps": json.loads(row["steps"])} for row in rows]
    assert sorted(stored, key=lambda one: one["name"]) == sorted(SEEDS, key=lambda one: one["name"])
