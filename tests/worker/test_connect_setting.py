"""Connections in the settings: added when they are missing, changed when they differ, and left alone otherwise."""

from base64 import b64encode
from typing import TypeAlias

import asyncpg
import pytest

from tests.stored import TESTER
from tidings.config import Config
from tidings.domain.errors import ConfigInvalid
from tidings.wiring import open_engine

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
OWN: dict[str, object] = {
    "provider": "resend",
    "settings": {"from": "me@example.com"},
    "credentials": {"apiKey": "$RESEND_KEY"},
}


async def start_with(dsn: str, connect: dict[str, dict[str, object]]) -> list[str]:
    key = b64encode(b"k" * 32).decode()
    config = Config(database_url=dsn, allow_unsafe_storage=True, secret_key=key, connect=connect)
    engine = await open_engine(config)
    try:
        return [f"{one.name} {one.weight}" for one in await engine.connections.list(TESTER.workspace)]
    finally:
        await engine.close()


async def test_they_are_added_once_and_changed_when_they_differ(
    dsn: str, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESEND_KEY", "re_1")
    events = (
        "select array_agg(event order by at) from audit_log where subject_kind = 'connection' and actor = 'settings'"
    )

    assert await start_with(dsn, {"own": OWN}) == ["own 1"]
    assert await start_with(dsn, {"own": OWN}) == ["own 1"]
    assert await sql.fetchval(events) == ["created"]
    assert await start_with(dsn, {"own": {**OWN, "weight": 3}}) == ["own 3"]
    monkeypatch.setenv("RESEND_KEY", "re_2")
    assert await start_with(dsn, {"own": {**OWN, "weight": 3}}) == ["own 3"]
    assert await sql.fetchval(events) == ["created", "updated", "updated"]
    assert await start_with(dsn, {}) == ["own 3"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({**OWN, "credentials": {"apiKey": "$NOT_THERE"}}, "NOT_THERE, which is not set"),
        ({**OWN, "provider": "resent"}, "did you mean"),
        ({**OWN, "settings": {"form": "me@example.com"}}, "settings.form"),
    ],
)
async def test_what_cannot_be_used_is_told_before_anything_starts(
    dsn: str, monkeypatch: pytest.MonkeyPatch, given: dict[str, object], says: str
) -> None:
    monkeypatch.setenv("RESEND_KEY", "re_1")

    with pytest.raises(ConfigInvalid, match=says):
        await start_with(dsn, {"own": given})


async def test_a_password_that_begins_like_a_variable_is_not_repeated(dsn: str) -> None:
    with pytest.raises(ConfigInvalid, match="begins with") as refused:
        await start_with(dsn, {"own": {**OWN, "credentials": {"apiKey": "$ecret-canary"}}})

    assert "canary" not in str(refused.value)
