"""/v1/functions: set, shown without its secret, and forgotten."""

from dataclasses import replace
from typing import TypeAlias

import asyncpg
import pytest

from tests.http.conftest import HOME, Person
from tests.http.test_requests import assert_problem
from tidings.engine import Engine
from tidings.storage.vault import Vault

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
PLACE = "/v1/functions/send-email"


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    """One that can seal."""
    return Engine(replace(engine.kernel, vault=Vault([b"k" * 32])))


async def test_a_function_is_set_listed_and_forgotten_and_its_secret_stays_inside(
    admin: Person, engine: Engine, sql: Sql
) -> None:
    made = await admin.ask("PUT", PLACE, json={"url": "https://example.com/f", "secret": "s3cret"})
    listed = (await admin.get("/v1/functions")).json()["data"]
    history = await admin.get("/v1/audit-log")
    stored = await sql.fetchval("select secret from functions")
    deleted = await admin.ask("DELETE", PLACE)

    assert made.status_code == 200
    assert listed == [made.json()]
    assert (made.json()["url"], made.json()["hasSecret"]) == ("https://example.com/f", True)
    assert "s3cret" not in made.text + history.text
    assert b"s3cret" not in stored
    assert deleted.status_code == 204
    assert_problem(await admin.ask("DELETE", PLACE), 404, "not_found")
    events = [line["event"] for line in (await admin.get("/v1/audit-log")).json()["data"]]
    assert sorted(events) == ["created", "deleted", "set"]


async def test_a_new_address_drops_the_old_secret(admin: Person, engine: Engine) -> None:
    await admin.ask("PUT", PLACE, json={"url": "https://example.com/f", "secret": "s3cret"})

    same = await admin.ask("PUT", PLACE, json={"url": "https://example.com/f"})
    moved = await admin.ask("PUT", PLACE, json={"url": "https://elsewhere.example/f"})

    assert (same.json()["hasSecret"], moved.json()["hasSecret"]) == (True, False)
    assert [one.url for one in await engine.functions.list(HOME)] == ["https://elsewhere.example/f"]


@pytest.mark.parametrize(
    "body",
    [{}, {"url": "ftp://example.com"}, {"url": "https://u:p@example.com"}, {"url": "https://x.y", "secret": "a b"}],
)
async def test_an_address_that_no_call_could_use_is_a_422(admin: Person, body: dict[str, str]) -> None:
    assert (await admin.ask("PUT", PLACE, json=body)).status_code == 422
    assert (await admin.get("/v1/functions")).json()["data"] == []
