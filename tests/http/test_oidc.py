"""Signing in with a login of one's own organisation, against a real issuer, and what it refuses."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from structlog.testing import capture_logs

from tests.http.conftest import HOME, caller
from tests.http.oidc_server import (
    CLIENT,
    NOW,
    OTHER_RSA_KEY,
    SECRET,
    OidcServer,
    oidc_server,
    public_rsa,
    signed,
)
from tests.http.people import InBrowser, browser
from tidings.config import Config
from tidings.domain.people.oidc import read_login
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.http.id_tokens import TokenRefused, read_id_token

ADA = "ada@example.com"
START = "/v1/oidc/company/start"


@pytest.fixture
async def issuer() -> AsyncIterator[OidcServer]:
    async with oidc_server() as made:
        yield made


@asynccontextmanager
async def at_work(engine: Engine, issuer: OidcServer, **more: Any) -> AsyncIterator[InBrowser]:
    """A browser before an installation that has the issuer as its login."""
    given = {"issuer": issuer.url, "client_id": CLIENT, "client_secret": SECRET, "tenant": "acme", "label": "Work"}
    app = create_app(engine, Config(rate_limit=0, oidc={"company": read_login("company", given | more)}))
    async with browser(app) as made:
        yield made


async def invite(engine: Engine, email: str = ADA) -> None:
    await engine.users.invite(caller(HOME), email, "Ada", {"main": [Role.READER]})


async def go(person: InBrowser, start: str = START) -> httpx2.Response:
    """Go to the issuer and back, as a browser does."""
    return await come_back(person, await to_issuer(person, start))


async def to_issuer(person: InBrowser, start: str = START) -> str:
    away = await person.get(start)
    assert away.status_code == 303, away.text
    async with httpx2.AsyncClient() as http:
        back = await http.get(away.headers["location"])
    where = urlsplit(back.headers["location"])
    assert where.path == "/v1/oidc/company/callback"
    return f"{where.path}?{where.query}"


async def come_back(person: InBrowser, where: str) -> httpx2.Response:
    return await person.get(where)


async def test_an_invited_person_signs_in_with_the_login_of_the_organisation(
    engine: Engine, issuer: OidcServer
) -> None:
    await invite(engine)
    async with at_work(engine, issuer) as ada:
        ways = (await ada.get("/v1/sign-in?tenant=acme")).json()
        answer = await go(ada, f"{START}?next=/campaigns%3Fpage%3D2")
        session = (await ada.get("/v1/session")).json()
        listed = (await ada.get("/v1/sessions")).json()["data"]

    assert ways["oidc"] == [{"name": "company", "label": "Work", "url": START}]
    assert (answer.status_code, answer.headers["location"]) == (303, "/campaigns?page=2")
    assert session["user"]["email"] == ADA
    assert session["workspaces"][0]["roles"] == ["reader"]
    assert listed[0]["via"] == "oidc:company"
    assert "tidings_oidc=; Path=/; Max-Age=0" in str(answer.headers.get_list("set-cookie"))


async def test_a_token_signed_on_a_curve_is_as_good(engine: Engine, issuer: OidcServer) -> None:
    await invite(engine)
    issuer.header = {"alg": "ES256", "kid": "e1"}
    async with at_work(engine, issuer) as ada:
        await go(ada)
        assert (await ada.get("/v1/session")).status_code == 200


async def test_the_issuers_answers_are_kept_and_new_keys_asked_for_when_they_are_needed(
    engine: Engine, issuer: OidcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await invite(engine)
    async with at_work(engine, issuer) as ada:
        await go(ada)
        await go(ada)
        before = issuer.asked.copy()
        issuer.header, issuer.keys = {"alg": "RS256", "kid": "r2"}, [public_rsa("r2")]
        too_soon = await go(ada)
        monkeypatch.setattr("tidings.http.oidc_issuer.LEAST_SECONDS_BETWEEN_KEYS", 0.0)
        rotated = await go(ada)

    assert before == ["configuration", "token", "keys", "token"]
    assert "problem" in too_soon.headers["location"]
    assert rotated.headers["location"] == "/"


async def test_only_invited_people_come_in_unless_their_domain_may(engine: Engine, issuer: OidcServer) -> None:
    issuer.claims |= {"name": "Ada Lovelace", "email": "Ada@EXAMPLE.com"}
    async with at_work(engine, issuer) as ada:
        refused = await go(ada)
    for domain in ("sub.example.com", "ample.com"):
        async with at_work(engine, issuer, domains=[domain], roles={"main": ["reader"]}) as ada:
            other = await go(ada)
    async with at_work(engine, issuer, domains=["example.com"], roles={"main": ["reader"]}) as ada:
        let_in = await go(ada)
        again = await go(ada)
        user = (await ada.get("/v1/session")).json()["user"]

    assert refused.headers["location"] == other.headers["location"] == "/sign-in?problem=oidc_unknown_person"
    assert (let_in.headers["location"], again.headers["location"]) == ("/", "/")
    assert (user["name"], user["email"], user["hasPassword"]) == ("Ada Lovelace", ADA, False)
    assert len((await engine.users.list(caller(HOME))).items) == 1


async def test_a_disabled_person_and_one_of_another_tenant_do_not_come_in(engine: Engine, issuer: OidcServer) -> None:
    await invite(engine)
    [found] = (await engine.users.list(caller(HOME))).items
    await engine.users.update(caller(HOME), found.id, disabled=True)
    async with at_work(engine, issuer, domains=["example.com"], roles={"main": ["reader"]}) as ada:
        disabled = await go(ada)
    await engine.users.update(caller(HOME), found.id, disabled=False)
    async with at_work(engine, issuer, tenant="rival") as ada:
        elsewhere = await go(ada)

    assert {one.headers["location"] for one in (disabled, elsewhere)} == {"/sign-in?problem=oidc_unknown_person"}


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"iss": "https://evil.example"},
    {"aud": "another"},
    {"aud": [CLIENT, "another"]},
    {"aud": [CLIENT, "another"], "azp": "another"},
    {"azp": "another"},
    {"exp": NOW - 61},
    {"exp": None},
    {"exp": "soon"},
    {"iat": NOW + 120},
    {"nonce": "of another sign-in"},
    {"nonce": None},
    {"email_verified": False},
    {"email_verified": None},
    {"email_verified": "true"},
    {"email": None},
]


@pytest.mark.parametrize("claims", WRONG_CLAIMS, ids=str)
async def test_claims_that_are_not_for_this_sign_in_are_refused(
    claims: dict[str, Any], engine: Engine, issuer: OidcServer
) -> None:
    await invite(engine)
    issuer.claims |= claims
    async with at_work(engine, issuer) as ada:
        answer = await go(ada)
        session = await ada.get("/v1/session")

    assert answer.headers["location"] == "/sign-in?problem=oidc_failed"
    assert session.status_code == 401


def _unsigned(token: str) -> str:
    return token.rpartition(".")[0] + "."


def _with_other_claims(token: str) -> str:
    head, _, signature = token.split(".")
    return f"{head}.{signed({'email': 'boss@example.com'}, {'alg': 'none'}).split('.')[1]}.{signature}"


FORGED: dict[str, Callable[[OidcServer], object]] = {
    "alg none": lambda it: it.header.update(alg="none"),
    "without a signature": lambda it: setattr(it, "forge", _unsigned),
    "other claims": lambda it: setattr(it, "forge", _with_other_claims),
    "another key": lambda it: setattr(it, "key", OTHER_RSA_KEY),
    "an algorithm of the other kind of key": lambda it: it.header.update(alg="ES256"),
    "an unknown key": lambda it: it.header.update(kid="r9"),
    "a demand that we do not know": lambda it: it.header.update(crit=["b64"]),
    "no token": lambda it: setattr(it, "forge", lambda _: "not.a-token"),
    "no json": lambda it: setattr(it, "forge", lambda _: "a.b.c"),
    "a key for encryption": lambda it: it.keys[0].update(use="enc"),
}


@pytest.mark.parametrize("how", FORGED)
async def test_a_forged_token_is_refused(how: str, engine: Engine, issuer: OidcServer) -> None:
    await invite(engine)
    FORGED[how](issuer)
    async with at_work(engine, issuer) as ada:
        answer = await go(ada)

    assert answer.headers["location"] == "/sign-in?problem=oidc_failed"


async def test_a_code_that_is_pushed_into_another_browser_opens_nothing(engine: Engine, issuer: OidcServer) -> None:
    await invite(engine)
    async with at_work(engine, issuer) as mallory:
        where = await to_issuer(mallory)
        async with browser(mallory.http._transport.app) as victim:  # type: ignore[attr-defined]
            without = await come_back(victim, where)
            await victim.get(START)  # has begun one of its own
            mixed = await come_back(victim, where)
            session = await victim.get("/v1/session")
        own = await come_back(mallory, where)
        replayed = await come_back(mallory, where)

    assert {one.headers["location"] for one in (without, mixed, replayed)} == {"/sign-in?problem=oidc_failed"}
    assert (session.status_code, own.headers["location"]) == (401, "/")


async def test_the_answer_of_another_issuer_is_refused(engine: Engine, issuer: OidcServer) -> None:
    await invite(engine)
    async with at_work(engine, issuer) as ada:
        answer = await come_back(ada, f"{await to_issuer(ada)}&iss=https%3A%2F%2Fevil.example")

    assert answer.headers["location"] == "/sign-in?problem=oidc_failed"


async def test_who_refuses_at_the_issuer_is_back_at_the_sign_in(engine: Engine, issuer: OidcServer) -> None:
    issuer.denies = True
    async with at_work(engine, issuer) as ada:
        assert (await go(ada)).headers["location"] == "/sign-in?problem=oidc_denied"


@pytest.mark.parametrize(
    "next_",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\/evil.example",
        "javascript:alert(1)",
        "/%0d%0aX: y",
    ],
)
async def test_nobody_is_sent_to_another_site_afterwards(next_: str, engine: Engine, issuer: OidcServer) -> None:
    await invite(engine)
    async with at_work(engine, issuer) as ada:
        answer = await go(ada, f"{START}?next={next_}")

    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://evil.example/token"},
        {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"padding": "x" * 1_000_001},
    ],
    ids=lambda given: next(iter(given)),
)
async def test_an_issuer_that_describes_itself_oddly_is_not_used(
    discovery: dict[str, Any], engine: Engine, issuer: OidcServer
) -> None:
    issuer.discovery = discovery
    async with at_work(engine, issuer) as ada:
        answer = await ada.get(START)

    assert answer.headers["location"] == "/sign-in?problem=oidc_failed"


async def test_an_issuer_that_is_away_and_a_login_that_there_is_not_are_told(engine: Engine) -> None:
    gone = OidcServer(url="http://127.0.0.1:9")
    async with at_work(engine, gone) as ada:
        away = await ada.get(START)
        unknown = await ada.get("/v1/oidc/other/start")

    assert away.headers["location"] == "/sign-in?problem=oidc_failed"
    assert unknown.status_code == 404


async def test_neither_codes_nor_tokens_are_logged(engine: Engine, issuer: OidcServer) -> None:
    issuer.claims["nonce"] = "wrong"
    with capture_logs() as lines:
        async with at_work(engine, issuer) as ada:
            where = await to_issuer(ada)
            await come_back(ada, where)
    query = parse_qs(urlsplit(where).query)

    told = str(lines)
    assert "oidc_sign_in_failed" in told
    assert [one for one in (query["code"][0], query["state"][0], SECRET, ADA) if one in told] == []


def test_the_example_of_the_standard_is_verified_and_no_other_text_under_its_signature() -> None:
    """RFC 7515, appendix A.3."""
    key = {
        "kty": "EC",
        "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    }
    head = "eyJhbGciOiJFUzI1NiJ9"
    body = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    mark = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

    assert read_id_token(f"{head}.{body}.{mark}", [key])["iss"] == "joe"
    with pytest.raises(TokenRefused):
        read_id_token(f"{head}.{body[:-4]}{'fX0x'}.{mark}", [key])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"issuer": "http://login.example.com", "client_id": "x"}, "https"),
        ({"issuer": "https://login.example.com"}, "client_id"),
        ({"issuer": "https://login.example.com", "client_id": "x", "secret": "s3cret"}, "client_secret"),
        ({"issuer": "https://login.example.com", "client_id": "x", "domains": ["example.com"]}, "together"),
        (
            {
                "issuer": "https://login.example.com",
                "client_id": "x",
                "domains": ["example.com"],
                "roles": {"a": ["operator"]},
            },
            "whole domains",
        ),
    ],
)
def test_a_login_that_cannot_be_is_told_without_its_secret(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told) as refused:
        read_login("company", given)

    assert "s3cret" not in str(refused.value)
