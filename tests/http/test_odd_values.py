"""Numbers, texts and names that no field expects, in every place of every body: refused or taken, never a 500."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from uuid import UUID

import pytest
from fastapi import FastAPI

from tests.http.conftest import Person

ODD: list[Any] = [10**400, "\ud800", {}, [], "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"]
ID = "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f"
EMAIL = {"subject": "s", "body": "b", "html": "h"}
STEP: dict[str, Any] = {
    "dayOffset": 0,
    "stepOrder": 5,
    "sendHour": 4,
    "channel": "email",
    "subject": "s",
    "content": "c",
    "maxLateness": 5,
}
FULL: list[tuple[str, str, dict[str, Any]]] = [
    (
        "POST",
        "/v1/workflows/validate",
        {
            "entryNodeId": "a",
            "timeoutSeconds": 5,
            "visibilityTimeout": 5,
            "maxRetries": 1,
            "requiredFields": ["x"],
            "retry": {"attempts": 1, "baseSeconds": 1, "factor": 1, "capSeconds": 1, "jitter": 0},
            "nodes": [
                {"id": "a", "type": "delay", "delayMs": 5},
                {"id": "b", "type": "delay", "duration": "PT1S"},
                {"id": "c", "type": "branch"},
                {
                    "id": "d",
                    "type": "function",
                    "function": "f",
                    "action": "g",
                    "payload": {"a": [1, "x"]},
                    "timeoutSeconds": 4,
                    "onFailure": {"retry": 1, "then": "abort"},
                },
                {"id": "e", "type": "email", "to": ["a"], "subject": "s", "body": "b"},
                {"id": "f", "type": "delay", "until": "2027-01-01"},
            ],
            "edges": [
                {"from": "a", "to": "b"},
                {"from": "b", "to": "c"},
                {"from": "c", "to": "d", "condition": {"all": [{"path": "a.b", "op": "less", "value": 4}]}},
                {"from": "c", "to": "e"},
                {"from": "e", "to": "f"},
            ],
        },
    ),
    (
        "POST",
        "/v1/workflows/validate",
        {"steps": [{"name": "a", "function": "f", "payload_template": {"a": 1}, "timeoutSeconds": 1}]},
    ),
    (
        "POST",
        "/v1/rules",
        {
            "trigger": "odd2",
            "channel": "email",
            "audience": "lead",
            "steps": [
                {
                    "stepOrder": 1,
                    "template": EMAIL,
                    "delay": 5,
                    "maxAttempts": 2,
                    "createdAt": "2027-01-01",
                    "recipientConfig": {"includeLeadContact": True, "customEmails": ["a@example.com"]},
                    "attachments": [{"url": "https://example.com/a", "filename": "a", "contentType": "a/b"}],
                },
                {"sendBefore": {"time": "2027-01-01T00:00:00Z", "by": 5}, "template": EMAIL},
            ],
        },
    ),
    ("POST", "/v1/sequences/{id}/steps", STEP),
    ("POST", "/v1/sequences", {"name": "n", "timezone": "UTC", "steps": [STEP]}),
    (
        "POST",
        "/v1/campaigns",
        {
            "name": "n",
            "channel": "email",
            "content": EMAIL,
            "audience": {"tag": "x", "contactIds": [ID]},
            "data": {"a": 1},
            "sendHour": 3,
            "timeZone": "UTC",
            "rate": 5,
            "maxLateness": 5,
        },
    ),
    (
        "POST",
        "/v1/campaigns",
        {"name": "n", "channel": "social", "content": {"posts": [{"id": "a", "body": "b", "accounts": ["x"]}]}},
    ),
    (
        "POST",
        "/v1/campaigns",
        {"name": "n", "channel": "voice", "content": {"script": "b", "version": 3}, "audience": {"all": True}},
    ),
    (
        "POST",
        "/v1/contacts",
        {
            "externalId": "x",
            "timeZone": "UTC",
            "tags": ["a"],
            "attributes": {"a": 1, "b": [1]},
            "consent": {"email": {"status": "granted", "at": "2027-01-01", "source": "x"}},
            "suppressions": {"sms": {"reason": "manual", "at": "2027-01-01"}},
        },
    ),
    (
        "POST",
        "/v1/events",
        {"trigger": "odd", "idempotencyKey": "k1", "lead": {"email": "a@example.com", "n": 1}, "variables": {"a": 1}},
    ),
]
"""Bodies with the fields that examples leave out."""


def places(value: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value inside another."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in inside:
        yield (*steps, step)
        yield from places(inner, (*steps, step))


def put(body: Any, steps: tuple[str | int, ...], value: Any) -> Any:
    changed = deepcopy(body)
    inner = changed
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    return changed


def bodies(app: FastAPI) -> list[tuple[str, str, dict[str, Any]]]:
    """Every operation that takes a JSON body, with its example."""
    schemas = app.openapi()["components"]["schemas"]
    found = []
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content and "simulate" not in path:
                schema = content["application/json"]["schema"]
                schema = schemas[schema["$ref"].rsplit("/")[-1]] if "$ref" in schema else schema
                found.append((method.upper(), path, schema["examples"][0]))
    return found


async def make_all(admin: Person, workflow: UUID) -> dict[str, str]:
    """One of each thing, so that what is asked of it is read to the end."""
    made = {"workflows": str(workflow)}
    wanted: dict[str, Any] = {
        "contacts": {"externalId": "odd-1", "email": "ada@example.com"},
        "sequences": {"name": "odd"},
        "campaigns": {
            "name": "odd",
            "channel": "email",
            "content": {"subject": "Hi", "body": "…"},
            "audience": {"all": True},
        },
        "segments": {"name": "odd", "audience": {"all": True}},
        "rules": {
            "trigger": "odd",
            "channel": "email",
            "audience": "lead",
            "steps": [{"template": {"subject": "Hi", "body": "…"}}],
        },
    }
    for name, body in wanted.items():
        answer = await admin.post(f"/v1/{name}", body)
        assert answer.status_code == 201, answer.text
        made[name] = answer.json()["id"]
    step = await admin.post(
        f"/v1/sequences/{made['sequences']}/steps", {"dayOffset": 0, "stepOrder": 0, "channel": "sms", "content": "Hi"}
    )
    return made | {"step": step.json()["id"]}


def address(path: str, made: dict[str, str]) -> str:
    resource = path.split("/")[2]
    id = made.get(resource, "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f")
    return path.replace("{id}", id).replace("{stepId}", made["step"]).replace("{name}", "odd")


async def test_an_odd_value_anywhere_in_a_body_is_never_a_500(app: FastAPI, admin: Person, workflow: UUID) -> None:
    made = await make_all(admin, workflow)

    for method, path, example in [*FULL, *bodies(app)]:
        for steps in places(example):
            for value in ODD:
                body = json.dumps(put(example, steps, value))
                answer = await admin.ask(method, address(path, made), content=body)
                assert answer.status_code < 500, (method, path, steps, str(value)[:50], answer.text)


@pytest.mark.parametrize(
    "value", ["1e400", "9" * 400, "-1", "%ED%A0%80", "%00", "\u202e", "P1M", "9999-12-31T23:59:59-14:00"]
)
async def test_an_odd_value_in_any_query_parameter_is_never_a_500(app: FastAPI, admin: Person, value: str) -> None:
    for path, methods in app.openapi()["paths"].items():
        for one in methods.get("get", {}).get("parameters", []):
            if one["in"] == "query":
                answer = await admin.get(f"{path.replace('{id}', ID).replace('{stepId}', ID)}?{one['name']}={value}")
                assert answer.status_code < 500, (path, one["name"], answer.text)
