"""The hot operations answer alike before the router and behind it: every good request, every kind of refusal."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.http.conftest import ADA, HOME, OTHER_TENANT, OTHER_WORKSPACE, WELCOME, caller, start
from tidings.config import Config
from tidings.domain.errors import StorageUnavailable
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.http.lean import LEAN_ROUTES, LeanRoute
from tidings.resources.contacts import Contacts
from tidings.resources.events import Events
from tidings.resources.executions import Executions

PAGE = "https://shop.example"
WAY = "WAY"
_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
"""Of what was made, and of a request that brought none of its own."""
RULE: Mapping[str, Any] = {
    "trigger": "quote_sent",
    "channel": "email",
    "audience": "lead",
    "steps": [{"template": {"subject": "Your quote", "body": "Good day {{ lead.name }}, {{ number }}."}}],
}
EVENT: Mapping[str, Any] = {"trigger": "quote_sent", "lead": dict(ADA), "variables": {"number": 17}}


@dataclass(frozen=True)
class Question:
    """One request; WAY in its words is another in each way, so that neither finds what the other made."""

    method: str
    path: str
    body: bytes | str | None = None
    key: str = "operator"
    headers: Mapping[str, str] = field(default_factory=dict)
    in_pieces: bool = False


@dataclass(frozen=True)
class Seen:
    """What a caller can see of an answer, without ids."""

    question: Question
    status: int
    headers: Sequence[tuple[str, str]]
    body: str


@dataclass(frozen=True)
class LeanScene:
    """Two apps on one engine, the keys that callers have, and things to ask for."""

    engine: Engine
    keys: Mapping[str, str]
    own: UUID
    others: UUID
    inactive: UUID


@pytest.fixture
async def scene(engine: Engine) -> LeanScene:
    keys = {}
    for role in Role:
        is_page = role is Role.PUBLISHABLE
        of_page: dict[str, Any] = {"workflows": ["welcome"], "origins": [PAGE]} if is_page else {}
        keys[str(role)] = (await engine.access.create_key(caller(), str(role), role, **of_page)).secret
    for workspace in (HOME, OTHER_WORKSPACE, OTHER_TENANT):
        await engine.workflows.create(caller(workspace), "welcome", WELCOME)
    inactive = (await engine.workflows.create(caller(), "asleep", WELCOME)).id
    await engine.executions.trigger(caller(), "asleep", ADA, "before")
    await engine.workflows.deactivate(caller(), inactive)
    await engine.contacts.create(caller(), {"externalId": "crm-1", "email": "ada@example.com"})
    await engine.rules.create(caller(), RULE)
    return LeanScene(engine, keys, await start(engine), await start(engine, OTHER_TENANT), inactive)


@asynccontextmanager
async def _asking(
    engine: Engine, lean: Sequence[LeanRoute], rate_limit: float = 0
) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(engine, Config(rate_limit=rate_limit), lean=lean)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://tidings") as client:
        yield client


async def _ask(http: httpx2.AsyncClient, scene: LeanScene, way: str, question: Question) -> Seen:
    raw = question.body if isinstance(question.body, bytes) else (question.body or "").encode()
    content = raw.replace(WAY.encode(), way.encode())
    headers = {"Content-Type": "application/json", "X-Request-Id": "r-1", **question.headers}
    if question.key:
        headers["Authorization"] = f"Bearer {scene.keys.get(question.key, question.key)}"
    answer = await http.request(
        question.method, question.path, headers=headers, content=_pieces(content) if question.in_pieces else content
    )
    shown = [(name, _without_ids(value, way)) for name, value in answer.headers.multi_items()]
    return Seen(question, answer.status_code, shown, _without_ids(answer.text, way))


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for first in range(0, len(content), 1_000):
        yield content[first : first + 1_000]


def _without_ids(text: str, way: str) -> str:
    return _ID.sub("ID", text.replace(way, WAY))


def _questions(scene: LeanScene) -> list[Question]:
    asked = [*_triggers(scene), *_executions(scene), *_contacts(), *_events()]
    roles = [
        Question(method, path, body, key=str(role))
        for role in Role
        for method, path, body in (
            ("POST", "/v1/triggers", f'{{"workflow": "welcome", "data": {_ADA}}}'),
            ("GET", f"/v1/executions/{scene.own}", None),
            ("POST", "/v1/contacts", f'{{"externalId": "{role}-WAY"}}'),
            ("POST", "/v1/events", '{"trigger": "quote_sent"}'),
        )
    ]
    return [*asked, *roles]


_ADA = '{"email": "ada@example.com", "name": "Ada"}'


def _triggers(scene: LeanScene) -> list[Question]:
    good = f'{{"workflow": "welcome", "idempotencyKey": "k-WAY", "data": {_ADA}}}'
    post = Question("POST", "/v1/triggers", good)
    bodies = [
        f'{{"workflow": "welcome", "idempotency_key": "snake-WAY", "data": {_ADA}, "contact_id": "crm-1"}}',
        f'{{"workflow": "welcome", "data": {_ADA}, "contactId": null, "idempotencyKey": null}}',
        f'{{"workflow": "welcome", "data": {_ADA}, "contactId": "nobody"}}',
        f'{{"workflow": "welcome", "idempotencyKey": "a", "idempotency_key": "b", "data": {_ADA}}}',
        f'{{"workflow": "welcome", "workflow": "welcome", "data": {_ADA}}}',
        '{"workflow": "welcome", "data": {"name": "Ada"}}',
        '{"workflow": "welcome", "data": [1]}',
        '{"workflow": 5, "idempotencyKey": 7, "contactId": 9}',
        f'{{"workflow": "nowhere", "data": {_ADA}}}',
        f'{{"workflow": "{uuid4()}", "data": {_ADA}}}',
        f'{{"workflow": "{scene.inactive}", "data": {_ADA}, "idempotencyKey": "WAY"}}',
        f'{{"workflow": "asleep", "data": {_ADA}, "idempotencyKey": "before"}}',
        f'{{"workflow": "welcome", "data": {_ADA}, "idempotencykey": "WAY"}}',
        f'{{"workflow": "welcome", "data": {_ADA}, "idempotencyKey": "{"k" * 501}"}}',
        f'{{"workflow": "welcome", "data": {_ADA}, "idempotencyKey": ""}}',
        '{"workflow": "welcome", "data": {"email": "a@example.com", "name": "\\u0000"}}',
        '{"workflow": "welcome", "data": {"email": "a@example.com", "name": "\\ud800"}}',
        '{"workflow": "welcome", "data": ' + '{"a": ' * 70 + "1" + "}" * 71,
        '{"workflow": "welcome", "data": {"a": [' + "[]," * 50_001 + "[]]}}",
        *("", "{", "[]", "null", "5", '"text"', '{"workflow": "welcome", "data": NaN}'),
        f'{{"workflow": "welcome", "data": {{"email": "a@example.com", "name": "{"n" * 100_000}"}}}}',
    ]
    whole = [replace(post, body=body) for body in bodies]
    return [
        *(post, post),
        *whole,
        replace(post, body=b'{"workflow": "welcome", "data": {"name": "\xff"}}'),
        replace(post, body=b" " * 1_000_001),
        replace(post, body=b" " * 1_000_001, in_pieces=True),
        replace(post, body=good.replace("k-WAY", "pieces-WAY"), in_pieces=True),
        replace(post, headers={"Content-Type": "text/plain"}),
        replace(post, headers={"X-Request-Id": "not a sane one"}),
        *_of_keys(post),
        *_of_pages(post),
        *(replace(post, path=f"/v1/triggers{more}") for more in ("?", "?limit=5", "?data=%00", "/", "/x")),
        *(replace(post, method=method) for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS")),
    ]


def _of_keys(one: Question) -> list[Question]:
    return [
        replace(one, key=""),
        replace(one, key="tid_wrong"),
        replace(one, key="", headers={"Authorization": "Basic abc"}),
        replace(one, key="", headers={"Authorization": "bearer"}),
        replace(one, key="k" * 600),
    ]


def _of_pages(one: Question) -> list[Question]:
    return [
        replace(one, key="publishable", headers={"Origin": origin}) for origin in (PAGE, "https://evil.example")
    ] + [
        replace(one, key="publishable", body=body)
        for body in (
            f'{{"workflow": "asleep", "data": {_ADA}}}',
            f'{{"workflow": "welcome", "data": {_ADA}, "contactId": "crm-1"}}',
            '{"workflow": "welcome", "idempotencyKey": "k-WAY", "data": {"email": "e@example.com", "name": "Eve"}}',
        )
    ]


def _executions(scene: LeanScene) -> list[Question]:
    get = Question("GET", f"/v1/executions/{scene.own}")
    paths = [
        scene.others,
        uuid4(),
        str(scene.own).upper(),
        scene.own.hex,
        f"{scene.own}/",
        f"{scene.own}?limit=5",
        f"{scene.own}%00",
        "5",
    ]
    return [
        get,
        *(replace(get, path=f"/v1/executions/{path}") for path in paths),
        *_of_keys(get),
        replace(get, key="publishable", headers={"Origin": PAGE}),
        *(replace(get, method=method) for method in ("HEAD", "POST", "OPTIONS")),
    ]


def _contacts() -> list[Question]:
    good = '{"externalId": "c-WAY", "email": "WAY@example.com", "tags": ["vip"], "attributes": {"plan": "pro"}}'
    post = Question("POST", "/v1/contacts", good)
    bodies = [
        '{"external_id": "snake-WAY", "time_zone": "Europe/Berlin", "consent": {"email": {"status": "granted"}}}',
        '{"externalId": "c-WAY", "tags": ["VIP", "new"], "suppressions": {"email": {"reason": "unsubscribed"}}}',
        '{"externalId": "c-WAY", "suppressions": {"email": null}, "name": null}',
        '{"email": "nameless@example.com"}',
        '{"externalId": "x", "external_id": "y"}',
        '{"email": "no address", "phone": "no number", "timeZone": "Mars", "emial": "x"}',
        '{"externalId": "z-WAY", "attributes": {"a": "\\u0000"}}',
        *("", "[]", "{}", "{"),
    ]
    return [post, post, *(replace(post, body=body) for body in bodies), *_of_keys(post), replace(post, method="PUT")]


def _events() -> list[Question]:
    lead = f'"lead": {_ADA}, "variables": {{"number": 17}}'
    good = f'{{"trigger": "quote_sent", "idempotencyKey": "e-WAY", {lead}}}'
    post = Question("POST", "/v1/events", good)
    bodies = [
        f'{{"trigger": "quote_sent", "idempotency_key": "e-WAY", "lead": {_ADA}, "variables": {{"number": 18}}}}',
        f'{{"trigger": "quote_sent", {lead}}}',
        '{"trigger": "quote_sent", "lead": {"contactId": "crm-1", "name": "Ada"}, "variables": {"number": 17}}',
        '{"trigger": "quote_sent", "lead": {"contactId": "nobody"}, "variables": {"number": 17}}',
        '{"trigger": "quote_sent", "idempotencyKey": "e-WAY"}',
        '{"trigger": "quote_sent", "idempotencyKey": "lacking-WAY"}',
        '{"trigger": "unheard_of"}',
        '{"trigger": "not a name!", "leed": 5}',
        '{"trigger": "quote_sent", "lead": 5}',
        *("", "[]", "{}", "{"),
    ]
    return [post, post, *(replace(post, body=body) for body in bodies), *_of_keys(post), replace(post, method="PUT")]


async def _both(scene: LeanScene, questions: Sequence[Question], rate_limit: float = 0) -> list[tuple[Seen, Seen]]:
    """The answers before the router, and those behind it; the counters of both agree."""
    answers, counted = [], []
    for lean, way in ((LEAN_ROUTES, "lean"), ((), "slow")):
        async with _asking(scene.engine, lean, rate_limit) as http:
            answers.append([await _ask(http, scene, way, one) for one in questions])
            if not rate_limit:
                told = (
                    await http.get("/v1/metrics", headers={"Authorization": f"Bearer {scene.keys['operator']}"})
                ).text
                counted.append(
                    Counter(line for line in told.splitlines() if line.startswith("tidings_http_requests_t"))
                )
    assert counted[:1] == counted[1:]
    return list(zip(*answers, strict=True))


@pytest.mark.usefixtures("guessing")
async def test_both_ways_answer_alike(scene: LeanScene) -> None:
    pairs = await _both(scene, _questions(scene))

    assert [(lean, slow) for lean, slow in pairs if lean != slow] == []
    assert {lean.status for lean, _ in pairs} == {200, 201, 400, 401, 403, 404, 405, 409, 413, 422}


async def test_both_ways_count_a_tenants_requests_alike(scene: LeanScene) -> None:
    one = Question("GET", f"/v1/executions/{scene.own}")

    pairs = await _both(scene, [one, one, replace(one, key=""), one], rate_limit=1)

    assert [(lean, slow) for lean, slow in pairs if lean != slow] == []
    assert [lean.status for lean, _ in pairs] == [200, 429, 401, 429]


@pytest.mark.parametrize(
    "error", [StorageUnavailable("the host db-1 is down"), RuntimeError("a defect"), TimeoutError()]
)
async def test_both_ways_fail_alike(scene: LeanScene, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise error

    for resource, verb in ((Executions, "trigger"), (Executions, "get"), (Contacts, "create"), (Events, "send")):
        monkeypatch.setattr(resource, verb, fail)
    asked = [_triggers(scene)[0], _executions(scene)[0], _contacts()[0], _events()[0]]

    pairs = await _both(scene, asked)

    assert [(lean, slow) for lean, slow in pairs if lean != slow] == []
    assert {lean.status for lean, _ in pairs} <= {500, 503}


async def test_the_hot_operations_do_without_the_router(scene: LeanScene) -> None:
    app = create_app(scene.engine, Config(rate_limit=0))
    app.router.routes.clear()
    asked = [_triggers(scene)[0], _executions(scene)[0], _contacts()[0], _events()[0], Question("GET", "/v1/health")]

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://tidings") as http:
        seen = [await _ask(http, scene, "lean", one) for one in asked]

    assert [one.status for one in seen] == [201, 200, 201, 201, 404]
    assert len(LEAN_ROUTES) == 4


async def test_what_is_answered_is_what_was_stored(scene: LeanScene) -> None:
    headers = {"Authorization": f"Bearer {scene.keys['operator']}"}
    contact = {
        "externalId": "c-1",
        "email": " Ada@Example.com",
        "name": "",
        "tags": ["VIP", "vip"],
        "pushTokens": ["t"],
    }
    merged = {"attributes": {"plan": "pro", "no": None}, "suppressions": {"sms": {"reason": "unsubscribed"}}}
    data = {"email": "a@example.com", "name": "Ä", "nested": {"list": [1, 2.5, None, True], "empty": {}}}

    async with _asking(scene.engine, LEAN_ROUTES) as http:

        async def post(path: str, body: Mapping[str, Any]) -> Any:
            return (await http.post(path, json=body, headers=headers)).json()

        async def get(path: str) -> Any:
            return (await http.get(path, headers=headers)).json()

        made = await post("/v1/contacts", {**contact, **merged})
        started = await post("/v1/triggers", {"workflow": "welcome", "data": data, "contactId": "c-1"})
        sent = await post("/v1/events", {"trigger": "quote_sent", "idempotencyKey": "e-1", **EVENT})
        stored = [await get(f"/v1/contacts/{made['id']}"), await get(f"/v1/executions/{started['id']}")]
        listed = await get("/v1/events")

    assert [made, started] == [stored[0], {**stored[1], "duplicate": False}]
    assert [sent] == listed["data"]
    assert (made["attributes"], made["name"], started["contact"]["name"]) == ({"plan": "pro"}, None, None)
