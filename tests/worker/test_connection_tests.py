"""`test` sends one real message through a connection and shows what was said, without any secret."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeAlias

import asyncpg
import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword

from tests.stored import TESTER
from tests.worker.test_connection_kills import mail_server
from tidings.config import Config
from tidings.domain.errors import Conflict
from tidings.engine import Engine
from tidings.testing.scripted_http import HttpReply, scripted_server
from tidings.wiring import open_engine

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
CANARY = "re_canary-7f3a91-secret"
WAIT = timedelta(seconds=30)


@pytest.fixture
async def engine(dsn: str) -> AsyncIterator[Engine]:
    key = b64encode(b"k" * 32).decode()
    config = Config(database_url=dsn, allow_unsafe_storage=True, secret_key=key, allow_private_addresses=True)
    engine = await open_engine(config)
    yield engine
    await engine.close()


@asynccontextmanager
async def at_work(engine: Engine) -> AsyncIterator[None]:
    """A worker, in this process."""

    async def work() -> None:
        while True:
            await engine.work_everything()
            await asyncio.sleep(0.02)

    working = asyncio.create_task(work())
    try:
        yield
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def add_resend(engine: Engine, url: str, name: str = "first", **more: object) -> Any:
    settings = {"from": "me@example.com", "baseUrl": url}
    given = {"name": name, "provider": "resend", "settings": settings, "credentials": {"apiKey": CANARY}}
    return await engine.connections.create(TESTER, given | more)


async def test_the_dialogue_of_a_test_is_shown_without_the_key(engine: Engine, sql: Sql) -> None:
    async with scripted_server(HttpReply(200, {"id": "m-1", "echo": f"Bearer {CANARY}"})) as server, at_work(engine):
        made = await add_resend(engine, server.url)

        found = await engine.connections.test(TESTER, made.id, "ada@example.com", wait=WAIT)

    assert (found.status, found.done, found.error) == ("sent", True, None)
    assert found.dialogue[0] == f"> POST {server.url}/emails"
    assert "> Authorization: …" in found.dialogue
    assert "< 200" in found.dialogue
    assert any("ada@example.com" in line for line in found.dialogue)
    assert CANARY not in str(found)
    assert CANARY in str(server.seen)  # it was sent, and is shown nowhere
    stored = await sql.fetch("select o::text from outbox o")
    assert CANARY not in str(stored)


async def test_a_refused_test_says_why(engine: Engine) -> None:
    refusal = HttpReply(401, {"name": "invalid_api_key", "message": f"not {CANARY}"})
    async with scripted_server(refusal) as server, at_work(engine):
        made = await add_resend(engine, server.url)

        found = await engine.connections.test(TESTER, made.id, "ada@example.com", wait=WAIT)

    assert (found.status, found.done) == ("queued", True)
    assert "invalid_api_key" in (found.error or "")
    assert "< 401" in found.dialogue
    assert CANARY not in str(found)


async def test_a_test_takes_no_other_connection(engine: Engine) -> None:
    busy = HttpReply(429, {"name": "rate_limit_exceeded"})
    async with scripted_server(HttpReply(200, {"id": "m"})) as other, scripted_server(busy) as tried, at_work(engine):
        await add_resend(engine, other.url, "other", position=2)
        made = await add_resend(engine, tried.url, "tried", position=1)

        found = await engine.connections.test(TESTER, made.id, "ada@example.com", wait=WAIT)
        await asyncio.sleep(0)

    assert found.done
    assert found.status == "queued"
    assert other.seen == []


async def test_a_disabled_connection_is_not_tried(engine: Engine) -> None:
    made = await add_resend(engine, "https://api.example.com", enabled=False)

    with pytest.raises(Conflict, match="enable it first"):
        await engine.connections.test(TESTER, made.id, "ada@example.com")


async def test_the_lines_of_smtp_are_shown_without_the_password(engine: Engine) -> None:
    def accept(_server: Any, _session: Any, _envelope: Any, _how: str, login: LoginPassword) -> AuthResult:
        return AuthResult(success=login.password == CANARY.encode())

    with mail_server(authenticator=accept, auth_require_tls=False) as (mail, port):
        settings = {"host": "127.0.0.1", "port": port, "security": "none", "from": "me@example.com", "username": "me"}
        given = {"name": "first", "provider": "smtp", "settings": settings, "credentials": {"password": CANARY}}
        made = await engine.connections.create(TESTER, given)
        async with at_work(engine):
            found = await engine.connections.test(TESTER, made.id, "ada@example.com", wait=WAIT)

    assert found.status == "sent"
    assert mail.accepted == ["ada@example.com"]
    assert any(line.startswith("> MAIL FROM") for line in found.dialogue)
    assert "> …" in found.dialogue
    assert CANARY not in str(found)
    assert b64encode(CANARY.encode()).decode() not in str(found)
