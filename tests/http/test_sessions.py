"""People sign in, act with their roles, see where they are signed in, and sign out."""

from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest
from fastapi import FastAPI

from tests.conftest import ManualClock
from tests.http.conftest import HOME, caller
from tests.http.people import PASSWORD, InBrowser, browser, member
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.resources import passwords
from tidings.resources.passwords import Passwords

pytestmark = pytest.mark.usefixtures("cheap_passwords")
Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
ADA = "ada@example.com"


@pytest.fixture
async def ada(app: FastAPI) -> AsyncIterator[InBrowser]:
    async with browser(app) as made:
        yield made


async def test_who_signs_in_is_told_who_they_are_and_what_they_may(engine: Engine, ada: InBrowser) -> None:
    await member(engine, "Ada@Example.com", Role.WORKFLOW_MANAGER, Role.TRIGGER_OPERATOR, workspaces=["main", "second"])

    answer = await ada.sign_in("ADA@example.COM")
    shown = await ada.get("/v1/session")

    assert answer.status_code == 201
    told = answer.json()
    assert (told["user"]["email"], told["user"]["name"], told["user"]["hasPassword"]) == (ADA, "Ada", True)
    assert (told["tenant"], told["workspace"], told["isOperator"]) == ("acme", "main", False)
    assert [one["workspace"] for one in told["workspaces"]] == ["main", "second"]
    assert told["workspaces"][0]["roles"] == ["triggerOperator", "workflowManager"]
    assert {"define", "operate"} <= set(told["permissions"]) == set(told["workspaces"][0]["permissions"])
    assert "administer" not in told["permissions"]
    assert (shown.status_code, shown.json()) == (200, told)
    assert told["expiresAt"] == "2026-03-16T09:00:00Z"


async def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(
    engine: Engine, ada: InBrowser, app: FastAPI, sql: Sql
) -> None:
    await member(engine, ADA, Role.READER)

    plain = (await ada.sign_in(ADA)).headers["set-cookie"]
    async with browser(app, "https://tidings") as secure:
        under_tls = (await secure.sign_in(ADA)).headers["set-cookie"]

    name, *attributes = plain.split("; ")
    assert name.startswith("tidings_session=")
    assert attributes == ["Path=/", "Max-Age=1209600", "HttpOnly", "SameSite=Lax"]
    assert under_tls.startswith("__Host-tidings_session=")
    assert under_tls.endswith("HttpOnly; SameSite=Lax; Secure")
    assert ada.token is not None
    assert len(ada.token) == 43
    rows = [dict(row) for table in ("sessions", "users") for row in await sql.fetch(f"select * from {table}")]
    assert ada.token not in str(rows)
    assert PASSWORD not in str(rows)


async def test_a_person_acts_by_role_in_the_workspace_that_the_header_names(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.WORKFLOW_MANAGER, workspaces=["main", "zweite höhe"])
    await engine.segments.create(caller(HOME), {"name": "here", "audience": {"all": True}})
    await engine.segments.create(caller(Workspace("acme", "zweite höhe")), {"name": "there", "audience": {"all": True}})
    await ada.sign_in(ADA)

    here = await ada.get("/v1/segments")
    there = await ada.get("/v1/segments", X_Tidings_Workspace="zweite%20h%C3%B6he")
    session = await ada.get("/v1/session", X_Tidings_Workspace="zweite%20h%C3%B6he")
    made = await ada.post("/v1/segments", {"name": "new", "audience": {"all": True}})
    refused = await ada.post("/v1/triggers", {"workflow": "welcome", "data": {}})

    assert [one["name"] for one in here.json()["data"]] == ["here"]
    assert [one["name"] for one in there.json()["data"]] == ["there"]
    assert session.json()["workspace"] == "zweite höhe"
    assert made.status_code == 201
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


async def test_the_default_workspace_comes_first_where_it_is_one_of_them(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.READER, workspaces=["alpha", "default"])

    assert (await ada.sign_in(ADA)).json()["workspace"] == "default"


async def test_the_audit_log_shows_the_person(engine: Engine, ada: InBrowser) -> None:
    user = await member(engine, ADA, Role.SYSTEM_ADMIN)
    await ada.sign_in(ADA)

    made = await ada.post("/v1/segments", {"name": "new", "audience": {"all": True}})
    lines = (await ada.get(f"/v1/audit-log?subject={made.json()['id']}")).json()["data"]
    own = (await ada.get(f"/v1/audit-log?subject={user.id}")).json()["data"]

    assert [(line["event"], line["actor"]) for line in lines] == [("created", f"user:{ADA}")]
    assert {line["event"] for line in own} == {"invited", "signedIn", "signedOut"}
    assert {line["subjectName"] for line in own} == {ADA}
    assert {line["detail"]["via"] for line in own if line["event"] == "signedIn"} == {"link", "password"}


async def test_a_person_sees_their_sessions_and_ends_this_one_or_all(
    engine: Engine, ada: InBrowser, app: FastAPI, clock: ManualClock
) -> None:
    await member(engine, ADA, Role.READER)
    await member(engine, "bob@example.com", Role.READER)
    async with browser(app) as phone, browser(app) as bob:
        phone.headers = {"User-Agent": "phone\t" + "x" * 300}
        await phone.sign_in(ADA)
        await bob.sign_in("bob@example.com")
        clock.advance(minutes=5)
        await ada.sign_in(ADA)
        listed = (await ada.get("/v1/sessions")).json()["data"]

        here = await ada.ask("DELETE", "/v1/session")
        after = await ada.get("/v1/session")
        still = await phone.get("/v1/session")
        everywhere = await phone.ask("DELETE", "/v1/sessions")
        gone = await phone.get("/v1/segments")
        of_bob = await bob.get("/v1/session")

    assert [(one["current"], one["via"], one["lastUsedAt"]) for one in listed] == [
        (True, "password", "2026-03-02T09:05:00Z"),
        (False, "password", "2026-03-02T09:00:00Z"),
    ]
    assert listed[1]["userAgent"] == "phone" + "x" * 195
    assert (here.status_code, after.status_code, still.status_code) == (204, 401, 200)
    assert "Max-Age=0" in here.headers["set-cookie"]
    assert (everywhere.status_code, gone.status_code, of_bob.status_code) == (204, 401, 200)


async def test_a_session_ends_when_it_is_not_used_and_in_any_case_after_two_weeks(
    engine: Engine, ada: InBrowser, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidings.resources.session_memory.KNOWN_SECONDS", 0.0)
    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    statuses = []
    for hours in (23, 23, 25):
        clock.advance(hours=hours)
        statuses.append((await ada.get("/v1/session")).status_code)
    await ada.sign_in(ADA)
    days = 0.0
    while (await ada.get("/v1/session")).status_code == 200:
        clock.advance(hours=20)
        days += 20 / 24

    assert statuses == [200, 200, 401]
    assert 14 <= days < 15


async def test_looking_whether_a_session_lasts_is_no_use_of_it(
    engine: Engine, ada: InBrowser, sql: Sql, clock: ManualClock
) -> None:
    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    engine.users.memory.forget()
    clock.advance(hours=2)
    assert ada.token

    looked = await engine.sessions.authenticate(ada.token, is_use=False)
    before = await sql.fetchval("select used_at from sessions")
    await engine.sessions.authenticate(ada.token)
    after = await sql.fetchval("select used_at from sessions")

    assert looked is not None
    assert (before, after) == (clock.time.replace(hour=9), clock.time)


async def test_a_person_changes_name_and_password_and_keeps_this_session_alone(
    engine: Engine, ada: InBrowser, app: FastAPI
) -> None:
    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    async with browser(app) as other:
        await other.sign_in(ADA)
        token, csrf = ada.token, ada.csrf
        named = await ada.ask("PATCH", "/v1/session/user", {"name": "Countess"})
        kept = ada.token
        wrong = await ada.ask(
            "PATCH", "/v1/session/user", {"password": "another good sentence", "currentPassword": "no"}
        )
        changed = await ada.ask(
            "PATCH", "/v1/session/user", {"password": "another good sentence", "currentPassword": PASSWORD}
        )
        here, there = await ada.get("/v1/session"), await other.get("/v1/session")
        old, new = await other.sign_in(ADA), await other.sign_in(ADA, "another good sentence")

    assert (named.json()["user"]["name"], kept) == ("Countess", token)
    assert (wrong.status_code, wrong.json()["errors"][0]["place"]) == (422, "currentPassword")
    assert (changed.status_code, here.status_code, there.status_code) == (200, 200, 401)
    assert ada.token != token
    assert ada.csrf != csrf
    assert (old.status_code, new.status_code) == (401, 201)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"password": "short", "currentPassword": PASSWORD}, "password"),
        ({"password": "aaaaaaaaaaaaaaaaaa", "currentPassword": PASSWORD}, "password"),
        ({"password": "ada@example.com ada@example.com", "currentPassword": PASSWORD}, "password"),
        ({"email": "eve@example.com", "currentPassword": PASSWORD}, "email"),
        ({"name": "\u202e"}, "name"),
        ({"pasword": "x"}, "pasword"),
    ],
)
async def test_what_a_person_cannot_set_is_told_at_its_place_and_no_password_is_repeated(
    given: dict[str, str], place: str, engine: Engine, ada: InBrowser
) -> None:
    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)

    answer = await ada.ask("PATCH", "/v1/session/user", given)

    assert (answer.status_code, [one["place"] for one in answer.json()["errors"]]) == (422, [place])
    assert PASSWORD not in answer.text


async def test_a_number_as_a_password_is_refused_without_being_repeated(ada: InBrowser) -> None:
    answer = await ada.post("/v1/sessions", {"email": ADA, "password": 918273645})

    assert answer.status_code == 422
    assert "918273645" not in answer.text


async def test_the_first_operator_gives_an_address_and_signs_in_with_it(engine: Engine, ada: InBrowser) -> None:
    linked = await engine.users.first_link()
    assert linked is not None
    given = {"token": linked.token, "name": "Ada", "email": ADA, "password": PASSWORD}

    first = await ada.post("/v1/sessions/redeem", given)
    again = await engine.users.first_link()
    signed_in = await ada.sign_in(ADA, tenant="default")

    assert (first.status_code, first.json()["isOperator"], first.json()["workspace"]) == (201, True, "default")
    assert again is None
    assert (signed_in.status_code, signed_in.json()["user"]["name"]) == (201, "Ada")


async def test_until_somebody_has_a_password_each_start_has_a_new_link_for_the_same_person(
    engine: Engine, ada: InBrowser, clock: ManualClock
) -> None:
    first, second = await engine.users.first_link(), await engine.users.first_link()
    assert first is not None
    assert second is not None

    replaced = await ada.post("/v1/sessions/redeem", {"token": first.token})
    visited = await ada.post("/v1/sessions/redeem", {"token": second.token})
    set_later = await ada.ask("PATCH", "/v1/session/user", {"email": ADA, "password": PASSWORD})
    third = await engine.users.first_link()

    assert first.user.id == second.user.id
    assert (replaced.status_code, replaced.json()["code"]) == (401, "link_invalid")
    assert (visited.status_code, visited.json()["user"]["hasPassword"]) == (201, False)
    assert (set_later.status_code, third) == (200, None)


async def test_a_stored_password_is_argon2id_and_hashed_anew_when_passwords_are_by_now(
    engine: Engine, ada: InBrowser, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    await member(engine, ADA, Role.READER)
    before = await sql.fetchval("select password_hash from users")
    monkeypatch.setattr(passwords, "ITERATIONS", 2)
    monkeypatch.setattr(engine.sessions, "_passwords", Passwords())

    answers = [(await ada.sign_in(ADA)).status_code for _ in range(2)]
    after = await sql.fetchval("select password_hash from users")

    assert before.startswith("$argon2id$v=19$m=8,t=1,p=1$")
    assert after.startswith("$argon2id$v=19$m=8,t=2,p=1$")
    assert answers == [201, 201]


async def test_somebody_without_any_role_is_signed_in_and_may_nothing(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA)

    told = (await ada.sign_in(ADA)).json()
    refused = await ada.get("/v1/segments")

    assert (told["workspace"], told["workspaces"], told["permissions"]) == (None, [], [])
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


async def test_a_key_in_the_authorization_header_wins_over_a_cookie(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.OPERATOR)
    await ada.sign_in(ADA)
    key = (await engine.access.create_key(caller(HOME), "w", Role.WORKER_SERVICE)).secret

    by_key = await ada.get("/v1/users", Authorization=f"Bearer {key}")
    wrong = await ada.get("/v1/users", Authorization="Bearer tid_wrong")
    by_cookie = await ada.get("/v1/users")

    assert [one.status_code for one in (by_key, wrong, by_cookie)] == [403, 401, 200]


async def test_ways_to_sign_in_are_told_to_everybody(ada: InBrowser) -> None:
    assert (await ada.get("/v1/sign-in")).json() == {"password": True, "oidc": []}
