"""/v1/providers: who may call what, and what rests."""

from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tidings.engine import Engine
from tidings.kernel.kernel import Limits

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    """One with a limit."""
    return Engine(replace(engine.kernel, limits=Limits(provider_concurrency={"fake": 20})))


async def test_a_provider_is_shown_with_its_class_limit_shares_and_rest(
    admin: Person, engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    before = (await admin.get("/v1/providers")).json()["data"]
    await engine.kernel.shares.refresh(clock.time)
    until = clock.time + timedelta(minutes=1)
    await sql.execute("insert into provider_pauses values ('fake', $1, '421 to ann@rival.example')", until)
    await sql.execute("insert into provider_pauses values ('theirs', $1, '429')", until)
    answer = await admin.get("/v1/providers")
    shown, theirs = answer.json()["data"]

    assert before[0] | {"channels": []} == {
        "name": "fake",
        "providerClass": "blind",
        "channels": [],
        "concurrency": 100,
        "limit": 20,
        "workers": [],
        "restsUntil": None,
    }
    assert "email" in before[0]["channels"]
    [share] = shown["workers"]
    assert (share["workerId"], share["slots"]) == (str(engine.kernel.shares.worker_id), 20)
    assert shown["restsUntil"] == "2026-03-02T09:01:00Z"
    assert (theirs["name"], theirs["providerClass"], theirs["limit"]) == ("theirs", None, None)
    assert "rival" not in answer.text
