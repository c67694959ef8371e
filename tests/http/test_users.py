"""/v1/users over HTTP: administrators of a tenant invite people, change them, and let them in again."""

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from fastapi import FastAPI

from tests.conftest import ManualClock
from tests.http.conftest import HOME, OTHER_TENANT, Person, caller, listening, person
from tests.http.people import PASSWORD, InBrowser, browser, member
from tidings.client import Client
from tidings.config import Config
from tidings.domain.roles import Role
from tidings.engine import Engine

pytestmark = pytest.mark.usefixtures("cheap_passwords")
ADA = {"email": "Ada@Example.com", "name": "Ada", "workspaces": [{"workspace": "main", "roles": ["reader"]}]}


@pytest.fixture
async def visitor(app: FastAPI) -> AsyncIterator[InBrowser]:
    async with browser(app) as made:
        yield made


async def test_somebody_is_invited_and_comes_in_with_a_password_of_their_own(admin: Person, visitor: InBrowser) -> None:
    made = await admin.post("/v1/users", ADA)
    link = made.json()["link"]
    first = await visitor.post("/v1/sessions/redeem", {"token": link.rpartition("#")[2], "password": PASSWORD})
    later = await visitor.sign_in("ada@example.com")
    shown = (await admin.get(f"/v1/users/{made.json()['user']['id']}")).json()

    assert made.status_code == 201
    assert link.startswith("http://tidings/welcome#")
    assert made.json()["expiresAt"] == "2026-03-05T09:00:00Z"
    assert (first.status_code, later.status_code) == (201, 201)
    assert (shown["email"], shown["hasPassword"], shown["linkExpiresAt"]) == ("ada@example.com", True, None)
    assert shown["workspaces"] == ADA["workspaces"]
    assert shown["signedInAt"] == "2026-03-02T09:00:00Z"
    assert shown["createdBy"] == "key:systemAdmin"


async def test_an_address_belongs_to_one_person_of_a_tenant_whatever_its_case(admin: Person, engine: Engine) -> None:
    first = await admin.post("/v1/users", ADA)
    again = await admin.post("/v1/users", {**ADA, "email": "ada@example.COM"})
    other = (await admin.post("/v1/users", {**ADA, "email": "bob@example.com"})).json()["user"]["id"]
    taken = await admin.ask("PATCH", f"/v1/users/{other}", json={"email": "ADA@example.com"})
    elsewhere = await engine.users.invite(caller(OTHER_TENANT), "ada@example.com", "Ada", {})

    assert first.status_code == 201
    assert {(one.status_code, one.json()["code"]) for one in (again, taken)} == {(409, "conflict")}
    assert elsewhere.user.tenant == OTHER_TENANT.tenant


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"email": "nobody"}, "email"),
        ({"email": "\u212aim@example.com"}, "email"),
        ({"name": ""}, "name"),
        ({"workspaces": [{"workspace": "main", "roles": ["king"]}]}, "workspaces[0].roles[0]"),
        ({"workspaces": [{"workspace": "main", "roles": ["workerService"]}]}, "workspaces[0].roles[0]"),
        ({"workspaces": [{"workspace": "main", "roles": ["publishable"]}]}, "workspaces[0].roles[0]"),
        ({"workspaces": [{"workspace": "main", "roles": []}]}, "workspaces[0].roles"),
        ({"workspaces": [{"workspace": "é" * 101, "roles": ["reader"]}]}, "workspaces[0].workspace"),
        ({"pasword": "x"}, "pasword"),
    ],
)
async def test_what_is_wrong_with_an_invitation_is_told_at_its_place(
    given: dict[str, object], place: str, admin: Person
) -> None:
    answer = await admin.post("/v1/users", {**ADA, **given})

    assert (answer.status_code, [one["place"] for one in answer.json()["errors"]]) == (422, [place])
    assert (await admin.get("/v1/users")).json()["data"] == []


async def test_people_are_listed_in_pages_with_their_roles(admin: Person, engine: Engine, clock: ManualClock) -> None:
    for number in range(3):
        clock.advance(seconds=1)
        await member(engine, f"p{number}@example.com", Role.READER, workspaces=["main", "second"])

    first = (await admin.get("/v1/users?limit=2")).json()
    second = (await admin.get(f"/v1/users?limit=2&cursor={first['nextCursor']}")).json()

    assert [one["email"] for one in first["data"] + second["data"]] == [
        f"p{number}@example.com" for number in (2, 1, 0)
    ]
    assert {tuple(held["workspace"] for held in one["workspaces"]) for one in first["data"]} == {("main", "second")}
    assert second["nextCursor"] is None


async def test_what_is_given_of_a_person_is_changed_and_the_rest_stays(admin: Person) -> None:
    id = (await admin.post("/v1/users", ADA)).json()["user"]["id"]
    several = [{"workspace": "main", "roles": ["triggerOperator"]}, {"workspace": "main", "roles": ["reader"]}]

    named = (await admin.ask("PATCH", f"/v1/users/{id}", json={"name": "Countess"})).json()
    held = (await admin.ask("PATCH", f"/v1/users/{id}", json={"workspaces": several})).json()
    moved = (
        await admin.ask("PATCH", f"/v1/users/{id}", json={"email": "countess@example.com", "disabled": True})
    ).json()
    none = (await admin.ask("PATCH", f"/v1/users/{id}", json={"workspaces": [], "disabled": False})).json()

    assert (named["name"], named["workspaces"]) == ("Countess", ADA["workspaces"])
    assert held["workspaces"] == [{"workspace": "main", "roles": ["reader", "triggerOperator"]}]
    assert (moved["email"], moved["disabledAt"]) == ("countess@example.com", "2026-03-02T09:00:00Z")
    assert (none["workspaces"], none["disabledAt"], none["name"]) == ([], None, "Countess")


async def test_nobody_disables_or_removes_themselves(engine: Engine, visitor: InBrowser) -> None:
    own = await member(engine, "ada@example.com", Role.SYSTEM_ADMIN)
    await visitor.sign_in("ada@example.com")

    answers = [
        await visitor.ask("PATCH", f"/v1/users/{own.id}", {"disabled": True}),
        await visitor.ask("DELETE", f"/v1/users/{own.id}"),
    ]

    assert {(one.status_code, one.json()["code"]) for one in answers} == {(409, "conflict")}
    assert (await visitor.get("/v1/session")).status_code == 200


async def test_an_administrator_changes_their_own_address_and_others_do_not(engine: Engine, app: FastAPI) -> None:
    found = {}
    for role in (Role.SYSTEM_ADMIN, Role.READER):
        await member(engine, f"{role}@example.com", role)
        async with browser(app) as theirs:
            await theirs.sign_in(f"{role}@example.com")
            given = {"email": f"new-{role}@example.com"}
            without = await theirs.ask("PATCH", "/v1/session/user", given)
            answer = await theirs.ask("PATCH", "/v1/session/user", {**given, "currentPassword": PASSWORD})
            found[role] = (without.status_code, answer.status_code)

    assert found == {Role.SYSTEM_ADMIN: (422, 200), Role.READER: (422, 422)}


async def test_what_people_did_is_in_the_audit_log_under_their_name(admin: Person, engine: Engine) -> None:
    id = UUID((await admin.post("/v1/users", ADA)).json()["user"]["id"])
    await admin.post(f"/v1/users/{id}/link")
    await admin.post(f"/v1/users/{id}/sign-out")
    await admin.ask("PATCH", f"/v1/users/{id}", json={"disabled": True})
    await admin.ask("DELETE", f"/v1/users/{id}")

    lines = (await admin.get(f"/v1/audit-log?subject={id}")).json()["data"]

    assert {line["event"] for line in lines} == {"invited", "linked", "signedOut", "updated", "removed"}
    assert {(line["actor"], line["subjectKind"]) for line in lines} == {("key:systemAdmin", "user")}
    assert (await admin.get(f"/v1/users/{id}")).status_code == 404


async def test_the_link_names_the_address_of_the_settings(engine: Engine) -> None:
    from tidings.http.app import create_app  # noqa: PLC0415

    behind = create_app(engine, Config(rate_limit=0, public_url="https://news.example.com"))
    key = (await engine.access.create_key(caller(HOME), "k", Role.SYSTEM_ADMIN)).secret
    async with browser(behind) as made:
        answer = await made.post("/v1/users", ADA, Authorization=f"Bearer {key}")

    assert answer.json()["link"].startswith("https://news.example.com/welcome#")


async def test_the_python_client_manages_people(engine: Engine, config: Config) -> None:
    key = (await engine.access.create_key(caller(HOME), "k", Role.SYSTEM_ADMIN)).secret
    async with listening(engine, config) as url, Client(url, key) as client:
        made = await client.users.invite("ada@example.com", "Ada", {"main": ["reader"]})
        changed = await client.users.update(made.user.id, workspaces={"second": ["reader"]}, disabled=False)
        again = await client.users.link(made.user.id)
        await client.users.sign_out(made.user.id)
        listed = [one async for one in client.users.list()]
        shown = await client.users.get(made.user.id)
        await client.users.remove(made.user.id)
        left = [one async for one in client.users.list()]

    assert changed.workspaces[0].workspace == "second"
    assert again.link != made.link
    assert [one.id for one in listed] == [shown.id]
    assert left == []


async def test_a_reader_sees_and_changes_nothing(engine: Engine, app: FastAPI) -> None:
    await member(engine, "ada@example.com", Role.READER)
    contact, _ = await engine.contacts.create(caller(HOME), {"externalId": "bob"})
    async with browser(app) as reader:
        await reader.sign_in("ada@example.com")
        seen = [
            (await reader.get(path)).status_code
            for path in ("/v1/contacts", f"/v1/contacts/{contact.id}", "/v1/workflows", "/v1/runs", "/v1/outbox")
        ]
        refused = [
            (await reader.ask(method, path, given)).status_code
            for method, path, given in (
                ("POST", "/v1/contacts", {"externalId": "x"}),
                ("DELETE", f"/v1/contacts/{contact.id}", None),
                ("GET", f"/v1/contacts/{contact.id}/export", None),
                ("POST", "/v1/segments", {"name": "x", "audience": {"all": True}}),
                ("POST", f"/v1/executions/{uuid4()}/cancel", None),
                ("GET", "/v1/api-keys", None),
                ("GET", "/v1/users", None),
            )
        ]

    assert (seen, refused) == ([200] * 5, [403] * 7)


async def test_a_tenants_people_are_no_others_affair(engine: Engine, admin: Person) -> None:

    stranger = await member(engine, "eve@example.com", Role.READER, home=OTHER_TENANT)
    host = await person(engine, admin.http, Role.OPERATOR)

    answers = [(await one.get(f"/v1/users/{stranger.id}")).status_code for one in (admin, host)]

    assert answers == [404, 404]
