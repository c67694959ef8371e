"""Attacks on people's sessions: each fails, and tells nothing."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, TypeAlias

import asyncpg
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.http.conftest import HOME, OTHER_TENANT, caller
from tests.http.people import PASSWORD, InBrowser, browser, member
from tidings.config import Config
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.http.sign_in_tries import OF_AN_ACCOUNT, OF_AN_ADDRESS
from tidings.resources import passwords
from tidings.resources.passwords import AT_ONCE, Passwords

pytestmark = pytest.mark.usefixtures("cheap_passwords")
Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
ADA = "ada@example.com"
CHANGE = {"name": "new", "audience": {"all": True}}


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "MEMORY_KIB", 8)
    monkeypatch.setattr(passwords, "ITERATIONS", 1)


@pytest.fixture
def app(engine: Engine) -> FastAPI:
    return create_app(engine, Config(rate_limit=0))


@pytest.fixture
async def ada(app: FastAPI) -> AsyncIterator[InBrowser]:
    async with browser(app) as made:
        yield made


# Fixation


async def test_a_token_that_was_planted_before_the_sign_in_opens_nothing_after_it(
    engine: Engine, ada: InBrowser
) -> None:
    await member(engine, ADA, Role.READER)
    ada.http.cookies.set("tidings_session", "x" * 43, domain="tidings.local")

    answer = await ada.sign_in(ADA)

    assert "x" * 43 not in answer.headers["set-cookie"]
    assert ada.token != "x" * 43
    assert await engine.sessions.authenticate("x" * 43) is None


async def test_a_sign_in_ends_the_session_that_the_browser_had(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.READER)
    await member(engine, "eve@example.com", Role.READER)
    await ada.sign_in("eve@example.com")
    planted = ada.token
    assert planted

    await ada.sign_in(ADA)

    assert await engine.sessions.authenticate(planted) is None
    assert (await ada.get("/v1/session")).json()["user"]["email"] == ADA


async def test_under_tls_a_cookie_that_a_neighbouring_host_may_have_set_does_not_count(
    engine: Engine, ada: InBrowser, app: FastAPI
) -> None:
    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    async with browser(app, "https://tidings") as secure:
        answer = await secure.get("/v1/session", Cookie=f"tidings_session={ada.token}")

    assert answer.status_code == 401


# Requests of other pages


@pytest.mark.parametrize("csrf", [None, "", "x", "é"])
async def test_a_change_without_the_token_of_the_session_is_refused(
    csrf: str | None, engine: Engine, ada: InBrowser
) -> None:
    await member(engine, ADA, Role.OPERATOR)
    await ada.sign_in(ADA)
    headers: dict[str, Any] = {} if csrf is None else {"X-Tidings-CSRF": csrf.encode()}
    asked = [("POST", "/v1/segments"), ("PATCH", "/v1/session/user"), ("DELETE", "/v1/sessions"), ("POST", "/v1/users")]

    answers = [await ada.http.request(method, path, json=CHANGE, headers=headers) for method, path in asked]
    lean = await ada.http.post("/v1/events", json={"trigger": "x"}, headers=headers)

    assert {(one.status_code, one.json()["code"]) for one in (*answers, lean)} == {(403, "csrf_missing")}
    assert (await ada.get("/v1/session")).status_code == 200


async def test_the_token_of_another_session_is_none_of_this_one(engine: Engine, ada: InBrowser, app: FastAPI) -> None:
    await member(engine, ADA, Role.OPERATOR)
    await member(engine, "eve@example.com", Role.OPERATOR)
    await ada.sign_in(ADA)
    async with browser(app) as eve:
        await eve.sign_in("eve@example.com")
        ada.csrf = eve.csrf

    assert (await ada.post("/v1/segments", CHANGE)).json()["code"] == "csrf_missing"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://tidings.evil.example", "http://tidings:81"])
async def test_a_cookie_counts_for_no_page_of_another_origin(origin: str, engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.OPERATOR)
    await ada.sign_in(ADA)

    read = await ada.get("/v1/segments", Origin=origin)
    changed = await ada.post("/v1/segments", CHANGE, Origin=origin)
    made_to_sign_in = await ada.http.post(
        "/v1/sessions", json={"email": ADA, "password": PASSWORD, "tenant": "acme"}, headers={"Origin": origin}
    )
    answers = (read, changed, made_to_sign_in)

    assert {one.status_code for one in answers} == {403}
    assert not any(name.startswith("access-control") for one in answers for name in one.headers)
    assert "set-cookie" not in made_to_sign_in.headers


async def test_our_own_page_is_known_by_its_host_or_by_the_setting(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    behind = create_app(engine, Config(rate_limit=0, public_url="https://news.example.com"))
    async with browser(behind) as proxied:
        by_setting = await proxied.post(
            "/v1/sessions", {"email": ADA, "password": PASSWORD, "tenant": "acme"}, Origin="https://news.example.com"
        )

    assert (await ada.get("/v1/segments", Origin="http://tidings")).status_code == 200
    assert by_setting.status_code == 201


# Who is there


async def test_whatever_is_wrong_is_answered_in_the_same_words_after_the_same_number_of_hashes(
    engine: Engine, ada: InBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    await member(engine, ADA, Role.READER)
    disabled = await member(engine, "off@example.com", Role.READER)
    await engine.users.update(caller(), disabled.id, disabled=True)
    await engine.users.invite(caller(), "invited@example.com", "Invited", {})
    await member(engine, "other@example.com", Role.READER, home=OTHER_TENANT)
    counted: list[str] = []
    verify = Passwords._verify

    def counting(self: Passwords, stored: str, password: str) -> bool:
        counted.append(stored.rpartition("$")[0].rpartition("$")[0])
        return verify(self, stored, password)

    monkeypatch.setattr(Passwords, "_verify", counting)
    tried = ["nobody@example.com", ADA, "off@example.com", "invited@example.com", "other@example.com", "no address"]
    answers = [await ada.sign_in(email, "the wrong password") for email in tried]
    answers.append(await ada.sign_in("off@example.com"))
    answers.append(await ada.sign_in(ADA, tenant="nowhere"))

    assert len({(one.status_code, str(one.json() | {"requestId": ""})) for one in answers}) == 1
    assert answers[0].json()["code"] == "sign_in_failed"
    assert len(counted) == len(answers)
    assert len(set(counted)) == 1  # argon2id with the same parameters


async def test_an_address_of_other_letters_is_nobody_elses(engine: Engine, ada: InBrowser) -> None:
    await member(engine, "kim@example.com", Role.READER)

    answer = await ada.sign_in("\u212aim@example.com")  # the sign for kelvin, which is K to some

    assert answer.status_code == 401


async def test_passwords_are_hashed_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, most, under_way = Passwords(), 0, 0
    real = asyncio.to_thread

    async def counting(*given: Any) -> Any:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        try:
            return await real(*given)
        finally:
            under_way -= 1

    monkeypatch.setattr(asyncio, "to_thread", counting)
    await asyncio.gather(*(kept.is_right(None, str(number)) for number in range(20)))

    assert most == AT_ONCE


# Guessing


async def test_tries_are_limited_for_an_account_from_wherever_they_come_whether_or_not_it_exists(
    engine: Engine, app: FastAPI
) -> None:
    await member(engine, ADA, Role.READER)
    for email in (ADA, "nobody@example.com"):
        statuses = []
        for number in range(int(OF_AN_ACCOUNT.at_once) + 1):
            async with browser(app, address=f"198.51.100.{number}") as guesser:
                answer = await guesser.sign_in(f" {email.upper()}", "the wrong password")
                statuses.append(answer.status_code)
        assert statuses == [401] * int(OF_AN_ACCOUNT.at_once) + [429], email
        assert 1 <= int(answer.headers["retry-after"]) <= 30
        assert email not in answer.text


async def test_tries_are_limited_for_an_address_whatever_account_they_are_for(app: FastAPI) -> None:
    async with browser(app) as guesser, browser(app, address="198.51.100.9") as other:
        statuses = [
            (await guesser.sign_in(f"person{number}@example.com")).status_code
            for number in range(int(OF_AN_ADDRESS.at_once) + 5)
        ]
        links = await guesser.post("/v1/sessions/redeem", {"token": "guessed"})
        elsewhere = await other.sign_in("somebody@example.com")

    assert statuses == [401] * int(OF_AN_ADDRESS.at_once) + [429] * 5
    assert (links.status_code, elsewhere.status_code) == (429, 401)


async def test_who_signs_in_rightly_uses_up_no_tries(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.READER)

    assert {(await ada.sign_in(ADA)).status_code for _ in range(30)} == {201}


async def test_a_flood_of_wrong_cookies_is_limited_like_one_of_wrong_keys(
    engine: Engine, app: FastAPI, ada: InBrowser
) -> None:
    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    async with browser(app) as guesser:
        statuses = [
            (await guesser.get("/v1/session", Cookie=f"tidings_session=guess{number}")).status_code
            for number in range(25)
        ]
    engine.users.memory.forget()

    assert statuses == [401] * 20 + [429] * 5
    assert (await ada.get("/v1/session")).status_code == 200  # from the same address


async def test_a_thief_of_a_session_cannot_try_passwords_for_long(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)

    statuses = [
        (
            await ada.ask("PATCH", "/v1/session/user", {"password": PASSWORD + "!", "currentPassword": f"try {n}"})
        ).status_code
        for n in range(12)
    ]

    assert statuses == [422] * 10 + [429] * 2


# Links


async def test_a_link_works_once_however_many_try_at_the_same_time(engine: Engine, app: FastAPI) -> None:
    linked = await engine.users.invite(caller(), ADA, "Ada", {"main": [Role.READER]})
    async with browser(app) as one:
        answers = await asyncio.gather(*(one.post("/v1/sessions/redeem", {"token": linked.token}) for _ in range(8)))
        replayed = await one.http.post("/v1/sessions/redeem", json={"token": linked.token})

    assert sorted(answer.status_code for answer in answers) == [201] + [401] * 7
    assert (replayed.status_code, replayed.json()["code"]) == (401, "link_invalid")


async def test_a_link_that_is_past_replaced_or_of_somebody_disabled_opens_nothing(
    engine: Engine, ada: InBrowser, clock: ManualClock
) -> None:
    invited = await engine.users.invite(caller(), ADA, "Ada", {})
    id = invited.user.id
    newer = await engine.users.link(caller(), id)
    replaced = await ada.post("/v1/sessions/redeem", {"token": invited.token})
    clock.advance(days=3)
    past = await ada.post("/v1/sessions/redeem", {"token": newer.token})
    newest = await engine.users.link(caller(), id)
    await engine.users.update(caller(), id, disabled=True)
    disabled = await ada.post("/v1/sessions/redeem", {"token": newest.token})
    await engine.users.update(caller(), id, disabled=False)
    enabled_again = await ada.post("/v1/sessions/redeem", {"token": newest.token})

    assert [one.json()["code"] for one in (replaced, past, disabled, enabled_again)] == ["link_invalid"] * 4


async def test_a_link_for_a_new_password_needs_one_and_ends_every_session(
    engine: Engine, ada: InBrowser, app: FastAPI
) -> None:
    user = await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    linked = await engine.users.link(caller(), user.id)
    async with browser(app) as elsewhere:
        without = await elsewhere.post("/v1/sessions/redeem", {"token": linked.token})
        moved = await elsewhere.post(
            "/v1/sessions/redeem",
            {"token": linked.token, "password": "a sentence of its own", "email": "eve@example.com"},
        )
        reset = await elsewhere.post(
            "/v1/sessions/redeem", {"token": linked.token, "password": "a sentence of its own"}
        )

    assert (without.status_code, without.json()["errors"][0]["place"]) == (422, "password")
    assert (moved.status_code, moved.json()["errors"][0]["place"]) == (422, "email")
    assert reset.status_code == 201
    assert (await ada.get("/v1/session")).status_code == 401


# What changes while somebody is signed in


async def test_a_person_who_is_disabled_removed_or_signed_out_is_out_at_once(engine: Engine, app: FastAPI) -> None:
    found = []
    for number, end in enumerate(("disable", "remove", "sign out")):
        user = await member(engine, f"p{number}@example.com", Role.READER)
        async with browser(app) as theirs:
            await theirs.sign_in(f"p{number}@example.com")
            before = await theirs.get("/v1/segments")
            match end:
                case "disable":
                    await engine.users.update(caller(), user.id, disabled=True)
                case "remove":
                    await engine.users.remove(caller(), user.id)
                case _:
                    await engine.users.sign_out(caller(), user.id)
            found.append((end, before.status_code, (await theirs.get("/v1/segments")).status_code))
            if end == "disable":
                await engine.users.update(caller(), user.id, disabled=False)
                assert (await theirs.get("/v1/segments")).status_code == 401

    assert found == [("disable", 200, 401), ("remove", 200, 401), ("sign out", 200, 401)]


async def test_a_role_that_is_taken_is_gone_with_the_next_request_and_ends_streams(
    engine: Engine, ada: InBrowser
) -> None:
    user = await member(engine, ADA, Role.WORKFLOW_MANAGER, workspaces=["main", "second"])
    await ada.sign_in(ADA)
    assert (await ada.post("/v1/segments", CHANGE)).status_code == 201

    await engine.users.update(caller(), user.id, workspaces={"second": [Role.READER]})
    named = await ada.get("/v1/segments", X_Tidings_Workspace="main")
    unnamed = await ada.post("/v1/segments", CHANGE)

    assert (named.status_code, unnamed.status_code) == (403, 403)
    assert (await ada.get("/v1/session")).json()["workspace"] == "second"


async def test_whoever_becomes_an_operator_loses_sessions_and_links_from_before(engine: Engine, ada: InBrowser) -> None:
    user = await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    kept_by_an_administrator = await engine.users.link(caller(), user.id)

    await engine.users.update(caller(), user.id, workspaces={"main": [Role.OPERATOR]})

    assert (await ada.get("/v1/session")).status_code == 401
    used = await ada.post("/v1/sessions/redeem", {"token": kept_by_an_administrator.token, "password": PASSWORD + "!"})
    assert used.json()["code"] == "link_invalid"


# Other workspaces and tenants


@pytest.mark.parametrize("name", ["second", "absent", "", "main%00", "MAIN", "x" * 500])
async def test_the_header_opens_no_workspace_without_a_role_there(name: str, engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.OPERATOR)
    await member(engine, "bob@example.com", Role.READER, workspaces=["second"])
    await ada.sign_in(ADA)

    answer = await ada.get("/v1/segments", X_Tidings_Workspace=name)
    session = await ada.get("/v1/session", X_Tidings_Workspace=name)

    assert (answer.status_code, session.status_code) == ((200, 200) if name == "" else (403, 403))


async def test_people_of_two_tenants_with_one_address_are_two_people(engine: Engine, app: FastAPI) -> None:
    await member(engine, ADA, Role.OPERATOR)
    await member(engine, ADA, Role.READER, home=OTHER_TENANT)
    async with browser(app) as one, browser(app) as other:
        first = (await one.sign_in(ADA)).json()
        second = (await other.sign_in(ADA, tenant=OTHER_TENANT.tenant)).json()
        foreign = [await one.get(f"/v1/users/{second['user']['id']}"), await other.get("/v1/users")]
        listed = (await one.get("/v1/users")).json()["data"]

    assert (first["tenant"], second["tenant"]) == ("acme", "rival")
    assert first["user"]["id"] != second["user"]["id"]
    assert [one.status_code for one in foreign] == [404, 403]
    assert [one["id"] for one in listed] == [first["user"]["id"]]


# What is told and kept


async def test_what_the_database_holds_opens_nothing(engine: Engine, ada: InBrowser, sql: Sql) -> None:
    user = await member(engine, ADA, Role.READER)
    linked = await engine.users.link(caller(), user.id)
    await ada.sign_in(ADA)
    session = await sql.fetchrow("select * from sessions")
    person = await sql.fetchrow("select * from users")
    assert session is not None
    assert person is not None
    stolen = [session["hash"].hex(), str(session["id"]), person["link_hash"].hex(), person["password_hash"]]

    opened = [await engine.sessions.authenticate(one) for one in stolen]
    redeemed = [(await ada.post("/v1/sessions/redeem", {"token": one})).status_code for one in stolen]

    assert opened == [None] * 4
    assert redeemed == [401] * 4
    assert linked.token not in str(dict(person))
    assert str(ada.csrf) not in str(dict(session))


async def test_no_password_token_or_link_is_logged_or_told(engine: Engine, ada: InBrowser) -> None:
    with capture_logs() as lines:
        await member(engine, ADA, Role.SYSTEM_ADMIN)
        await ada.sign_in(ADA, "a wrong password of mine")
        told = [await ada.sign_in(ADA), await ada.get("/v1/users"), await ada.get("/v1/sessions")]
        invited = await ada.post("/v1/users", {"email": "bob@example.com", "name": "Bob", "workspaces": []})
        told += [await ada.get("/v1/users"), await ada.get("/v1/audit-log")]
        token = invited.json()["link"].rpartition("#")[2]
        await ada.post("/v1/sessions/redeem", {"token": token + "x"})
    secrets = (PASSWORD, "a wrong password of mine", token, ada.token or "", "argon2")
    shown = str([one.text for one in told]) + str(lines)

    assert [one for one in secrets if one in shown] == []
    assert len(token) == 43
    assert [line["event"] for line in lines].count("sign_in_failed") == 2
    assert ADA not in str(lines)


async def test_a_person_may_neither_make_nor_take_over_an_operator(engine: Engine, ada: InBrowser) -> None:
    await member(engine, ADA, Role.SYSTEM_ADMIN)
    above = await member(engine, "boss@example.com", Role.OPERATOR, workspaces=["second"])
    reader = await member(engine, "bob@example.com", Role.READER)
    await ada.sign_in(ADA)
    operator = {"workspaces": [{"workspace": "second", "roles": ["operator"]}]}
    tried = [
        await ada.post("/v1/users", {"email": "new@example.com", "name": "New", **operator}),
        await ada.ask("PATCH", f"/v1/users/{reader.id}", operator),
        await ada.ask("PATCH", f"/v1/users/{above.id}", {"email": "eve@example.com"}),
        await ada.ask("PATCH", f"/v1/users/{above.id}", {"disabled": True}),
        await ada.ask("DELETE", f"/v1/users/{above.id}"),
        await ada.post(f"/v1/users/{above.id}/link"),
        await ada.post(f"/v1/users/{above.id}/sign-out"),
    ]

    assert {(one.status_code, one.json()["code"]) for one in tried} == {(403, "forbidden")}
    assert await engine.sessions.sign_in("acme", "boss@example.com", PASSWORD, _browser()) is not None


def _browser() -> Any:
    from tests.http.people import ELSEWHERE  # noqa: PLC0415

    return ELSEWHERE


async def test_a_stream_ends_when_the_session_ends_and_keeps_no_session_alive(
    engine: Engine, ada: InBrowser, clock: ManualClock
) -> None:
    from starlette.requests import Request  # noqa: PLC0415

    from tidings.domain.roles import Permission  # noqa: PLC0415
    from tidings.http.access import let_in  # noqa: PLC0415

    await member(engine, ADA, Role.READER)
    await ada.sign_in(ADA)
    headers = [(b"cookie", f"tidings_session={ada.token}".encode()), (b"host", b"tidings")]
    app = ada.http._transport.app  # type: ignore[attr-defined]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers, "app": app}
    context = await let_in(Request({**scope, "scheme": "http", "server": ("tidings", 80)}), Permission.READ_WORK)
    lasting = await context.is_over()
    engine.users.memory.forget()
    clock.advance(hours=25)
    idle = await context.is_over()
    clock.time -= timedelta(hours=25)
    await ada.ask("DELETE", "/v1/sessions")

    assert (lasting, idle, await context.is_over()) == (False, True, True)
    assert HOME.tenant == "acme"
