"""What is refused at the door although it could be read: parameters nobody knows, fields given twice, odd names."""

import asyncio
import json
from typing import Any

from fastapi import FastAPI

from tests.http.conftest import ADA, WELCOME, Person, listening
from tests.http.test_requests import assert_problem
from tidings.config import Config
from tidings.engine import Engine


def problems(answer: Any) -> dict[str, str]:
    body = assert_problem(answer, 422, answer.json()["code"])
    return {one["place"]: one["message"] for one in body["errors"]}


UNKNOWN = {
    "/v1/outbox?indobt=true": "inDoubt",
    "/v1/executions?stats=failed": "status",
    "/v1/contacts?limits=5": "limit",
    "/v1/campaigns?chanel=email": "channel",
}


async def test_a_parameter_that_nobody_knows_is_refused_with_the_nearest_name(admin: Person) -> None:
    for path, meant in UNKNOWN.items():
        [(name, told)] = problems(await admin.get(path)).items()

        assert name == path.partition("?")[2].partition("=")[0]
        assert told.startswith("is not a parameter here; use ")
        assert told.endswith(f"; did you mean '{meant}'?"), told


async def test_a_parameter_where_there_is_none_is_refused(admin: Person, workflow: object) -> None:
    for path in ("/v1/triggers", "/v1/triggers/bulk", "/v1/workflows"):
        found = problems(await admin.post(f"{path}?dryRun=true", {"workflow": "welcome", "data": ADA}))

        assert found == {"dryRun": "is not a parameter here; this takes none"}
    assert (await admin.get("/v1/executions")).json()["data"] == []


async def test_a_parameter_in_snake_case_filters_like_the_other(admin: Person) -> None:
    await admin.post("/v1/contacts", {"externalId": "a"})
    await admin.post("/v1/contacts", {"externalId": "b c&d"})

    listed = [
        (await admin.get("/v1/contacts", params={name: "b c&d"})).json()["data"]
        for name in ("externalId", "external_id")
    ]

    assert [[one["externalId"] for one in page] for page in listed] == [["b c&d"], ["b c&d"]]


def test_every_parameter_is_declared_in_camel_case(app: FastAPI) -> None:
    """What comes in snake_case is spelled so for every route alike."""
    declared = [
        one["name"]
        for methods in app.openapi()["paths"].values()
        for operation in methods.values()
        for one in operation.get("parameters", [])
        if one["in"] == "query"
    ]

    assert len(declared) > 20
    assert not [name for name in declared if "_" in name]


async def test_a_parameter_given_twice_is_refused(admin: Person) -> None:
    repeated = await admin.get("/v1/outbox?status=failed&status=sent")
    spelled = await admin.get("/v1/outbox?inDoubt=true&in_doubt=false")

    assert problems(repeated) == {"status": "is given twice; give it once"}
    assert problems(spelled) == {"in_doubt": "is given twice, the other time as inDoubt; give it once"}


async def test_nobody_learns_about_parameters_without_a_key(admin: Person) -> None:
    assert (await admin.http.get("/v1/outbox?x=1")).status_code == 401
    assert (await admin.http.get("/v1/health?x=1")).status_code == 200


TWICE: list[tuple[str, dict[str, Any], str]] = [
    ("/v1/triggers", {"workflow": "welcome", "idempotencyKey": "1", "idempotency_key": "2"}, "idempotency_key"),
    (
        "/v1/triggers/bulk",
        {"triggers": [{"workflow": "w", "contactId": None, "contact_id": None}]},
        "triggers[0].contact_id",
    ),
    ("/v1/events", {"trigger": "a", "idempotencyKey": "1", "idempotency_key": "2"}, "idempotency_key"),
    ("/v1/events", {"trigger": "a", "lead": {"pushTokens": [], "push_tokens": []}}, "lead.push_tokens"),
    ("/v1/contacts", {"externalId": "1", "external_id": "2"}, "external_id"),
    ("/v1/api-keys", {"name": "k", "role": "systemAdmin", "expiresAt": None, "expires_at": None}, "expires_at"),
    ("/v1/workflows", {"name": "w", **WELCOME, "entry_node_id": "hello"}, "entry_node_id"),
    ("/v1/sequences", {"name": "s", "offsetFrom": "previous", "offset_from": "previous"}, "offset_from"),
    (
        "/v1/sequences",
        {"name": "s", "steps": [{"dayOffset": 0, "day_offset": 3, "channel": "sms", "content": "Hi"}]},
        "steps[0].day_offset",
    ),
]


async def test_one_field_in_two_spellings_is_refused(admin: Person) -> None:
    for path, body, place in TWICE:
        found = problems(await admin.post(path, body))

        assert found[place].startswith("is given twice, the other time as "), path


async def test_one_name_twice_in_a_body_is_refused(admin: Person) -> None:
    for path in ("/v1/triggers", "/v1/workflows", "/v1/contacts", "/v1/events", "/v1/campaigns"):
        answer = await admin.ask("POST", path, content='{"name": "a", "data": {"x": 1, "x": 2}, "name": "b"}')

        assert problems(answer) == {"name": "is there twice; give it once"}


async def test_a_large_body_is_not_read_twice(admin: Person, workflow: object) -> None:
    text = json.dumps({"workflow": "welcome", "data": {**ADA, "more": "x" * 64_000}})

    answer = await admin.ask("POST", "/v1/triggers", content=f'{{"workflow": "welcome", {text[1:]}')

    assert answer.status_code == 201


NAMED: list[tuple[str, dict[str, Any], str]] = [
    ("/v1/workflows", {**WELCOME}, "name"),
    ("/v1/sequences", {}, "name"),
    ("/v1/campaigns", {"channel": "sms", "content": {"body": "Hi"}, "audience": {"all": True}}, "name"),
    ("/v1/segments", {"audience": {"all": True}}, "name"),
    ("/v1/api-keys", {"role": "systemAdmin"}, "name"),
    ("/v1/api-keys", {"role": "systemAdmin", "name": "k"}, "workspace"),
]


async def test_a_name_that_cannot_be_shown_is_refused(admin: Person) -> None:
    for path, body, field in NAMED:
        for name in (" ", "\u200b", "a\u202eb", "a\x07b", "a\nb"):
            found = problems(await admin.post(path, {**body, field: name}))

            assert found.keys() == {field}, (path, name)
            assert found[field].endswith(("leave it out", "use at least one character that can be seen"))


async def test_a_contact_s_name_does_not_turn_a_list_around(admin: Person) -> None:
    found = problems(await admin.post("/v1/contacts", {"name": "Ada \u202eecalevoL"}))

    assert found["name"].startswith(r"holds '\u202e'")


async def test_a_filter_that_nothing_can_match_is_refused(admin: Person) -> None:
    for query in ("rules?channel=fax", "rules?audience=everyone", "outbox?channel=fax", "campaigns?channel=fax"):
        found = problems(await admin.get(f"/v1/{query}"))

        [name] = found
        assert query.partition("?")[2].startswith(name)
        assert "'email'" in found[name] or "'lead'" in found[name]


MISSING: list[tuple[str, dict[str, Any], set[str]]] = [
    ("/v1/workflows", {}, {"name", "nodes", "entryNodeId"}),
    ("/v1/workflows", {"name": " ", "nodes": [{"id": "a", "type": "fax"}]}, {"name", "nodes[0].type", "entryNodeId"}),
    (
        "/v1/sequences",
        {"steps": [{"content": 5}]},
        {"name", "steps[0].dayOffset", "steps[0].channel", "steps[0].content"},
    ),
    ("/v1/campaigns", {}, {"name", "channel", "content", "audience"}),
    ("/v1/campaigns", {"channel": "sms", "content": {"body": "{{ nmae }}"}}, {"name", "content.body", "audience"}),
    ("/v1/segments", {}, {"name", "audience"}),
    ("/v1/rules", {}, {"trigger", "channel", "audience", "steps"}),
    ("/v1/api-keys", {}, {"name", "role"}),
]


async def test_everything_that_is_missing_is_told_at_once(admin: Person) -> None:
    for path, body, places in MISSING:
        assert problems(await admin.post(path, body)).keys() == places


async def test_what_is_missing_is_called_so_and_what_is_given_is_quoted(admin: Person) -> None:
    found = problems(await admin.post("/v1/dead-letters/replay", {"dryRun": "yes", "were": {}}))

    assert found["where"] == "is missing"
    assert found["dryRun"] == "'yes': input should be a valid boolean"
    assert found["were"] == "is not a field here; use where, dryRun; did you mean 'where'?"


async def test_a_body_that_is_no_object_has_a_place(admin: Person) -> None:
    answer = await admin.ask("POST", "/v1/workflows", content="[]")

    assert not answer.json()["detail"].startswith(":")
    assert problems(answer).keys() == {"body"}


async def test_a_secret_is_not_repeated_in_what_is_wrong_with_it(admin: Person) -> None:
    answer = await admin.ask("PUT", "/v1/functions/f", json={"url": "https://example.com", "secret": "s" * 5_000})

    assert answer.status_code == 422
    assert "sss" not in answer.text


HEADS = {
    "GET /v1/health HTTP/1.1\r\nConnection: close\r\n\r\n": 400,
    "GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n": 400,
    "POST /v1/triggers HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}": 400,
    "GET /v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n": 200,
    "GET /v1/health HTTP/1.0\r\n\r\n": 200,
}


async def test_http_1_1_without_one_host_is_refused(engine: Engine, config: Config) -> None:
    async with listening(engine, config) as url:
        for head, status in HEADS.items():
            said = await _say(url, head)

            assert said.count("HTTP/1.1 ") == 1
            assert said.startswith(f"HTTP/1.1 {status}"), head
            assert ("send one, such as Host: example.com" in said) is (status == 400)


async def _say(url: str, text: str) -> str:
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(text.encode())
    try:
        async with asyncio.timeout(20):
            return (await reader.read()).decode()
    finally:
        writer.close()
