"""A key that everybody has: it starts what it names, sees what it started, and is used from the pages it names."""

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import ADA, HOME, WELCOME, Person, caller, person, start
from tidings.config import Config
from tidings.domain.errors import FieldsInvalid
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http.app import create_app

ENQUEUE = "/functions/v1/workflow-enqueue"
PAGE, EVIL = "https://shop.example", "https://evil.example"
ASKING = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}


@pytest.fixture
async def http(engine: Engine) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_app(engine, Config(rate_limit=0)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://tidings") as client:
        yield client


@pytest.fixture
async def page(engine: Engine, http: httpx2.AsyncClient) -> Person:
    for name in ("welcome", "internal"):
        await engine.workflows.create(caller(), name, WELCOME)
    return await publishable(engine, http)


async def publishable(engine: Engine, http: httpx2.AsyncClient) -> Person:
    made = await engine.access.create_key(
        caller(), "shop", Role.PUBLISHABLE, workflows=["welcome"], origins=["HTTPS://Shop.example/"]
    )
    return Person(http, made.secret, HOME)


async def enqueue(by: Person, workflow: str = "welcome", **more: object) -> httpx2.Response:
    payload = {"workflow": workflow, "data": ADA, **more}
    return await by.post(ENQUEUE, {"action": "enqueue", "payload": payload})


async def status(by: Person, id: object) -> httpx2.Response:
    return await by.post(ENQUEUE, {"action": "status", "payload": {"execution_id": str(id)}})


async def test_it_starts_the_workflows_it_names_and_sees_what_became_of_them(
    page: Person, engine: Engine, clock: ManualClock
) -> None:
    old = (await enqueue(page, correlation_id="c-1")).json()["data"]
    again = (await enqueue(page, correlation_id="c-1")).json()["data"]
    new = await page.post("/v1/triggers", {"workflow": "welcome", "data": ADA, "idempotencyKey": "k"})
    clock.advance(hours=1)
    await engine.work_everything()
    told, shown = (await status(page, old["execution_id"])).json(), await page.get(f"/v1/executions/{new.json()['id']}")

    assert again["execution_id"] == old["execution_id"]
    assert (told["success"], told["data"]["correlation_id"], told["data"]["triggered_by"]) == (True, "c-1", "frontend")
    assert new.status_code == 201
    assert (shown.json()["idempotencyKey"], shown.json()["vars"], shown.json()["inputPayload"]) == ("k", {}, {})
    assert page.secret.startswith("tid_pub_")


async def test_it_sees_and_starts_nothing_else(page: Person, engine: Engine, http: httpx2.AsyncClient) -> None:
    other, operator = await publishable(engine, http), await person(engine, http, Role.TRIGGER_OPERATOR)
    theirs = UUID((await enqueue(other)).json()["data"]["execution_id"])
    inside = await start(engine)
    absent = uuid4()
    paths = ["/v1/executions", "/v1/contacts", "/v1/workflows", "/v1/outbox", "/v1/api-keys", "/v1/providers"]
    paths += [f"/v1/executions/{theirs}/log", f"/v1/executions/{theirs}/events", "/metrics"]

    for id in (theirs, inside, absent):
        old, new = await status(page, id), await page.get(f"/v1/executions/{id}")
        assert (old.status_code, old.json()["error"]) == (400, f"Execution not found: {id}")
        assert (new.status_code, new.json()["detail"]) == (404, f"there is no execution {id}")
    assert {(await page.get(path)).status_code for path in paths} == {403}
    for workflow in ("internal", "no such workflow"):
        assert (await enqueue(page, workflow)).status_code == 403
        assert (await page.post("/v1/triggers", {"workflow": workflow, "data": ADA})).status_code == 403
    bulk = {"triggers": [{"workflow": "welcome", "data": ADA}]}
    assert (await page.post("/v1/triggers/bulk", bulk)).status_code == 403
    for_contact = {"workflow": "welcome", "data": ADA, "contactId": "ada"}
    assert (await page.post("/v1/triggers", for_contact)).status_code == 422
    assert (await operator.get(f"/v1/executions/{theirs}")).status_code == 200


async def test_its_idempotency_keys_are_its_own_and_tell_nothing_of_another_visitor(
    page: Person, engine: Engine
) -> None:
    squatted = await enqueue(page, correlation_id="order-17")
    ours = await engine.executions.trigger(caller(), "welcome", ADA, "order-17", correlated=True)
    guessed = await enqueue(page, correlation_id="order-17", data={**ADA, "name": "Mallory"})
    guessed_too = await page.post(
        "/v1/triggers", {"workflow": "welcome", "data": {**ADA, "name": "Mallory"}, "idempotencyKey": "order-17"}
    )

    assert not ours.duplicate
    assert str(ours.id) != squatted.json()["data"]["execution_id"]
    assert (guessed.status_code, guessed_too.status_code) == (400, 409)
    for answer in (guessed, guessed_too):
        assert squatted.json()["data"]["execution_id"] not in answer.text


async def test_a_page_that_the_key_names_may_use_it_and_another_may_not(
    page: Person, engine: Engine, http: httpx2.AsyncClient
) -> None:
    execution = (await page.post("/v1/triggers", {"workflow": "welcome", "data": ADA})).json()["id"]
    body = {"workflow": "welcome", "data": ADA}

    def as_seen_from(origin: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {page.secret}", "Origin": origin}

    for path in ("/v1/triggers", f"/v1/executions/{execution}"):
        asked = await http.options(path, headers={"Origin": PAGE, **ASKING})
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (204, PAGE), path
        refused = await http.options(path, headers={"Origin": EVIL, **ASKING})
        assert "access-control-allow-origin" not in refused.headers
    for path in ("/v1/executions", "/v1/triggers/bulk", "/v1/contacts", "/v1/api-keys"):
        asked = await http.options(path, headers={"Origin": PAGE, **ASKING})
        assert "access-control-allow-origin" not in asked.headers, path
    good = await http.post("/v1/triggers", json=body, headers=as_seen_from(PAGE))
    bad = await http.post("/v1/triggers", json=body, headers=as_seen_from(EVIL))
    old = {"action": "enqueue", "payload": body}
    old_good = await http.post(ENQUEUE, json=old, headers=as_seen_from(PAGE))
    old_bad = await http.post(ENQUEUE, json=old, headers=as_seen_from(EVIL))

    assert (good.status_code, good.headers["access-control-allow-origin"]) == (201, PAGE)
    assert (bad.status_code, "access-control-allow-origin" in bad.headers) == (403, False)
    assert (old_good.status_code, old_good.headers["access-control-allow-origin"]) == (200, PAGE)
    assert old_bad.status_code == 403
    admin = await person(engine, http, Role.SYSTEM_ADMIN)
    own = await http.get(
        f"/v1/executions/{execution}", headers={"Authorization": f"Bearer {admin.secret}", "Origin": PAGE}
    )
    assert "access-control-allow-origin" not in own.headers


@pytest.mark.parametrize(
    ("role", "given", "place"),
    [
        (Role.PUBLISHABLE, {}, "workflows"),
        (Role.SYSTEM_ADMIN, {"workflows": ["welcome"]}, "workflows"),
        (Role.SYSTEM_ADMIN, {"origins": [PAGE]}, "origins"),
        (Role.PUBLISHABLE, {"workflows": ["welcome"], "origins": ["*"]}, "origins[0]"),
        (Role.PUBLISHABLE, {"workflows": ["welcome"], "origins": [f"{PAGE}/path"]}, "origins[0]"),
        (Role.PUBLISHABLE, {"workflows": [" "]}, "workflows[0]"),
    ],
)
async def test_a_key_that_would_be_limited_by_nothing_is_refused(
    engine: Engine, role: Role, given: dict[str, list[str]], place: str
) -> None:
    with pytest.raises(FieldsInvalid) as refused:
        await engine.access.create_key(caller(), "shop", role, **given)  # type: ignore[arg-type]

    assert [one.place for one in refused.value.problems] == [place]
