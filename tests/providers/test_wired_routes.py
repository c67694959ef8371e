"""What a process is started with is written down, unless it only looks."""

from collections.abc import Mapping
from typing import TypeAlias

import asyncpg
import pytest

from tidings.config import Config, LogFormat
from tidings.domain.channels import MESSAGE_CHANNELS
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.item import Channel
from tidings.providers.fake import FakeProvider
from tidings.wiring import App, open_engine

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
SMTP = "smtp://localhost?from=a@example.com"


@pytest.fixture
def settings(dsn: str) -> Mapping[str, object]:
    return {"database_url": dsn, "allow_unsafe_storage": True}


async def opened(settings: Mapping[str, object], app: App | None = None, **more: object) -> set[str]:
    """Open an engine and close it; give the names of what it could call."""
    may_migrate = bool(more.pop("may_migrate", True))
    engine = await open_engine(Config(**{**settings, **more}), app, may_migrate=may_migrate)  # type: ignore[arg-type]
    await engine.close()
    return set(engine.kernel.providers)


async def routes_in(sql: Sql) -> dict[str, str]:
    return {row["channel"]: row["provider"] for row in await sql.fetch("select channel, provider from routes")}


async def test_without_a_setting_there_is_no_provider_but_for_functions(
    settings: Mapping[str, object], sql: Sql
) -> None:
    assert await opened(settings) == {"functions", "functions_once"}
    assert await routes_in(sql) == {}


async def test_settings_and_the_application_s_routes_are_written_down(settings: Mapping[str, object], sql: Sql) -> None:
    mine = FakeProvider("mine")
    await opened(settings, App([mine], {Channel.SMS: "mine"}), smtp_url=SMTP)

    assert await routes_in(sql) == {"email": "smtp", "sms": "mine"}


async def test_printing_is_chosen_by_name_and_stands_in_for_no_provider_that_is_set_up(
    settings: Mapping[str, object], sql: Sql
) -> None:
    served = await opened(settings, print=True, smtp_url=SMTP, log_format=LogFormat.JSON)
    routes = await routes_in(sql)

    assert routes.pop("email") == "smtp"
    assert routes == {one: f"console-{one}" for one in MESSAGE_CHANNELS if one != "email"}
    assert {"smtp", "console-sms"} <= served


async def test_whoever_only_looks_writes_nothing(settings: Mapping[str, object], sql: Sql) -> None:
    await opened(settings, smtp_url=SMTP, print=True, may_migrate=False)

    assert await routes_in(sql) == {}


async def test_a_provider_that_sends_may_not_be_named_like_one_that_prints(settings: Mapping[str, object]) -> None:
    with pytest.raises(ConfigInvalid, match="only print"):
        await opened(settings, App([FakeProvider("console-sms")]))
