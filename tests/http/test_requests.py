"""What is refused before anybody looks at what is wanted: size, depth, form, rate; and how it is told."""

import asyncio
import json
import random
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.http.conftest import ADA, HOME, OTHER_TENANT, OTHER_WORKSPACE, WELCOME, Person, listening
from tidings.config import Config
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http import edge
from tidings.http.errors import TooManyRequests
from tidings.http.rate import ACTIVE_SECONDS, MOST_TENANTS, RateLimit
from tidings.resources.identity import Identity

POSTS = [
    *("/v1/workflows", "/v1/workflows/validate", "/v1/triggers", "/v1/triggers/bulk"),
    *("/v1/dead-letters/replay", "/v1/api-keys", "/v1/contacts", "/v1/contacts/bulk"),
]


def assert_problem(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["status"], body["code"]) == (status, status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert body.keys() == {"type", "title", "status", "code", "detail", "errors", "requestId"}
    assert answer.headers["x-request-id"] == body["requestId"]
    return body


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "[1,]", "nul", "\xff", '{"a": 1e999}', '{"a": NaN}'])
async def test_malformed_json_is_a_400(path: str, text: str, admin: Person) -> None:
    answer = await admin.ask("POST", path, content=text.encode("latin-1"))

    assert_problem(answer, 400, "body_malformed")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("depth", [65, 900, 100_000])
async def test_a_body_nested_too_deeply_is_a_400(path: str, depth: int, admin: Person) -> None:
    answer = await admin.ask("POST", path, content='{"data": ' + "[" * depth + "]" * depth + "}")

    assert_problem(answer, 400, "body_malformed")


async def test_a_body_nested_as_deeply_as_allowed_is_taken(admin: Person, workflow: object) -> None:
    nested: Any = 1
    for _ in range(62):
        nested = [nested]

    answer = await admin.post("/v1/triggers", {"workflow": "welcome", "data": {**ADA, "nested": nested}})

    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("path", "size"),
    [(path, 10_100_000 if "bulk" in path else 1_100_000) for path in POSTS],
)
async def test_a_body_above_its_limit_is_a_413(path: str, size: int, admin: Person) -> None:
    assert_problem(await admin.ask("POST", path, content=b" " * size), 413, "body_too_large")


async def test_a_body_above_the_limit_is_refused_although_its_size_is_not_declared(admin: Person) -> None:
    sent = 0

    async def chunks() -> Any:
        nonlocal sent
        for _ in range(1_000):
            sent += 1
            yield b" " * 100_000

    assert_problem(await admin.ask("POST", "/v1/triggers", content=chunks()), 413, "body_too_large")
    assert sent < 20


async def test_ten_megabytes_over_a_socket_get_an_answer(engine: Engine, config: Config, admin: Person) -> None:
    async with listening(engine, config) as url, httpx2.AsyncClient(base_url=url) as http:
        answer = await http.post(
            "/v1/triggers", content=b"x" * 10_000_000, headers={"Authorization": f"Bearer {admin.secret}"}
        )
        health = await http.get("/v1/health")

    assert_problem(answer, 413, "body_too_large")
    assert health.status_code == 200


@pytest.mark.parametrize("body", [[], "text", 1, None, True])
@pytest.mark.parametrize("path", POSTS)
async def test_a_body_that_is_no_object_is_a_422(path: str, body: object, admin: Person) -> None:
    assert_problem(await admin.ask("POST", path, content=json.dumps(body)), 422, "input_invalid")


async def test_every_wrong_field_is_named_with_its_place(admin: Person) -> None:
    body = assert_problem(
        await admin.post("/v1/dead-letters/replay", {"where": {"ids": ["x"], "nodes": 1}, "dryRun": "yes"}),
        422,
        "input_invalid",
    )

    assert {one["place"] for one in body["errors"]} == {"where.ids[0]", "where.nodes", "dryRun"}


async def test_a_trigger_with_a_misspelt_key_starts_nothing(admin: Person, workflow: object) -> None:
    body = assert_problem(
        await admin.post("/v1/triggers", {"workflow": "welcome", "idempotencykey": "1", "data": ADA}),
        422,
        "input_invalid",
    )

    assert [one["place"] for one in body["errors"]] == ["idempotencykey"]
    assert (await admin.get("/v1/executions")).json()["data"] == []


async def test_a_bulk_trigger_names_each_problem_with_its_place(admin: Person) -> None:
    given = [{"workflow": "welcome", "data": {}}, 5, {"data": []}, {"workflow": 3, "idempotencyKey": 4}]

    body = assert_problem(await admin.post("/v1/triggers/bulk", {"triggers": given}), 422, "input_invalid")

    assert [one["place"] for one in body["errors"]] == [
        *("triggers[1]", "triggers[2].data", "triggers[2].workflow"),
        *("triggers[3].idempotencyKey", "triggers[3].workflow"),
    ]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "limit=100000", "cursor=nonsense", "status=lost", "workflow=%00"]
)
async def test_bad_parameters_are_a_422(query: str, admin: Person) -> None:
    assert_problem(await admin.get(f"/v1/executions?{query}"), 422, "input_invalid")


async def test_a_character_that_cannot_be_stored_is_a_422(admin: Person, workflow: object) -> None:
    body = assert_problem(
        await admin.ask("POST", "/v1/triggers", content=r'{"workflow": "welcome", "data": {"a": ["\u0000"]}}'),
        422,
        "input_invalid",
    )

    assert [one["place"] for one in body["errors"]] == ["data.a[0]"]


async def test_a_path_that_is_not_there_is_a_404_and_a_method_that_is_not_a_405(admin: Person) -> None:
    assert_problem(await admin.get("/v1/nothing"), 404, "not_found")
    assert_problem(await admin.get("/v1/workflows/not-an-id"), 404, "not_found")
    refused = await admin.ask("PATCH", f"/v1/workflows/{uuid4()}")
    assert_problem(refused, 405, "method_not_allowed")
    assert refused.headers["allow"] == "DELETE, GET, PUT"


async def test_a_request_keeps_the_id_it_came_with_unless_it_is_unfit_for_a_log(http: httpx2.AsyncClient) -> None:
    kept = await http.get("/v1/health", headers={"X-Request-Id": "abc-1"})
    replaced = await http.get("/v1/health", headers={"X-Request-Id": "a b\tc"})

    assert kept.headers["x-request-id"] == "abc-1"
    assert len(replaced.headers["x-request-id"]) == 16


async def test_what_nobody_foresaw_is_a_500_without_a_trace(
    admin: Person, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(engine.workflows, "list", crash)

    body = assert_problem(await admin.get("/v1/workflows"), 500, "internal_error")

    assert "secret" not in str(body)
    assert "Zero" not in str(body)


async def test_what_takes_too_long_is_a_503(admin: Person, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(engine.workflows, "list", hang)
    monkeypatch.setattr(edge, "DEADLINE_SECONDS", 0.05)

    answer = await admin.get("/v1/workflows")

    assert_problem(answer, 503, "timeout")
    assert answer.headers["retry-after"] == "2"


def somebody(workspace: Workspace = HOME) -> Identity:
    return Identity(workspace, frozenset([Role.TRIGGER_OPERATOR]), uuid4(), "key:k")


def spent(limit: RateLimit, identity: Identity, times: int = 1_000) -> int:
    """How often it may ask before it is refused."""
    for number in range(times):
        try:
            limit.spend(identity)
        except TooManyRequests:
            return number
    return times


def test_a_tenant_may_ask_as_often_as_its_rate_and_is_told_when_to_come_again() -> None:
    now = 0.0
    limit, key = RateLimit(2, lambda: now), somebody()
    limit.spend(key)
    limit.spend(key)

    with pytest.raises(TooManyRequests) as refused:
        limit.spend(key)
    now = 0.5
    limit.spend(key)

    assert refused.value.headers() == {"Retry-After": "1"}


def test_more_keys_and_workspaces_do_not_let_a_tenant_ask_more_often() -> None:
    now = 0.0
    limit, keys = RateLimit(100, lambda: now), [somebody(Workspace("acme", f"w{one % 10}")) for one in range(500)]
    at_once = sum(spent(limit, key) for key in keys)
    over_time = 0
    for second in range(1, 11):
        now = float(second)
        over_time += sum(spent(limit, key) for key in keys)

    assert at_once <= 200  # twice a second's worth: what is kept for each may be spent ahead
    assert 800 <= over_time <= 1_000
    assert spent(limit, somebody(OTHER_TENANT)) == 100


@pytest.mark.parametrize("flood", [Workspace("acme", "main"), Workspace("acme", "second")])
def test_a_flood_leaves_every_other_key_and_workspace_its_part(flood: Workspace) -> None:
    now = 0.0
    limit, quiet = RateLimit(100, lambda: now), somebody()
    floods = [somebody(flood) for _ in range(4)]
    alone = spent(limit, floods[0])
    first = spent(limit, quiet)
    answered = 0
    for tick in range(1, 1_001):
        now = tick / 100  # ten seconds, in which the quiet key asks ten times a second
        for one in floods:
            spent(limit, one)
        answered += tick % 10 == 0 and spent(limit, quiet, 1)

    assert alone == 100  # one alone has everything
    assert first >= 1
    assert answered == 100


def test_what_others_leave_is_spent() -> None:
    now = 0.0
    limit, busy, quiet = RateLimit(100, lambda: now), somebody(), somebody(OTHER_WORKSPACE)
    spent(limit, busy)
    answered = 0
    for tick in range(1, 501):
        now = tick / 50
        if tick % 50 == 0:
            limit.spend(quiet)
        answered += spent(limit, busy)

    assert 900 <= answered <= 1_000  # all but the quiet one's, and not the half that is kept for it


async def test_there_are_no_more_buckets_than_tenants_and_keys_that_ask() -> None:
    now = 0.0
    limit = RateLimit(100, lambda: now)
    for number in range(MOST_TENANTS + 10):
        now = number / 100
        limit.spend(somebody(Workspace(f"t{number}", "main")))
    slow = RateLimit(10, lambda: now)
    for _ in range(5_000):
        now += 0.01
        spent(slow, somebody(), 1)

    assert len(limit._tenants) <= MOST_TENANTS
    assert 500 < len(slow._tenants["acme"].parts["main"].parts) <= ACTIVE_SECONDS * 100 + 1


class TestSlowly:
    @pytest.fixture
    def config(self) -> Config:
        return Config(rate_limit=1)

    async def test_too_many_requests_are_a_429(self, admin: Person) -> None:
        assert (await admin.get("/v1/workflows")).status_code == 200

        refused = await admin.get("/v1/workflows")

        assert_problem(refused, 429, "too_many_requests")
        assert refused.headers["retry-after"] == "1"


def anything(dice: random.Random, depth: int = 0) -> Any:
    """Some JSON, often with names that mean something."""
    names = [
        *("nodes", "edges", "entryNodeId", "steps", "id", "type", "to", "body", "subject", "name", "data", "triggers"),
        *("workflow", "idempotencyKey", "where", "dryRun", "ids", "role", "definition", "delayMs", "duration", "x"),
    ]
    words = [
        "",
        "a",
        "email",
        "delay",
        "{{ x",
        "{% for i in (1..9) %}",
        "\x00",
        "é" * 3,
        "welcome",
        "PT",
        "-1",
        "systemAdmin",
    ]
    kind = dice.randrange(8 if depth < 5 else 5)
    if kind < 5:
        return [None, dice.random() < 0.5, dice.choice([0, -1, 2**70, 1.5]), dice.choice(words), []][kind]
    if kind == 5:
        return [anything(dice, depth + 1) for _ in range(dice.randrange(4))]
    return {dice.choice(names): anything(dice, depth + 1) for _ in range(dice.randrange(6))}


@pytest.mark.parametrize("path", [*POSTS, "/functions/v1/workflow-enqueue"])
async def test_whatever_is_sent_the_answer_is_never_a_500(path: str, admin: Person, workflow: object) -> None:
    dice = random.Random(path)

    for _ in range(150):
        body = anything(dice)
        if isinstance(body, dict) and dice.random() < 0.3:
            body = {**WELCOME, "name": "x", **body}
        answer = await admin.ask("POST", path, content=json.dumps(body))
        assert answer.status_code < 500, (body, answer.text)
