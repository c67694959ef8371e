"""/v1/providers: who may call what, and what rests."""

from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import asyncpg
import httpx2
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tests.kernel.scenes import email, graph, work
from tidings.domain.outcome import Unavailable
from tidings.engine import Engine
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider

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
    await sql.execute("insert into provider_pauses values ('fake', $1, '429 to ann@rival.example')", until)
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
        "unavailableSince": None,
        "unavailableTimes": 0,
        "unavailableReason": None,
        "isRefused": False,
    }
    assert "email" in before[0]["channels"]
    [share] = shown["workers"]
    assert (share["workerId"], share["slots"]) == (str(engine.kernel.shares.worker_id), 20)
    assert shown["restsUntil"] == "2026-03-02T09:01:00Z"
    assert (theirs["name"], theirs["providerClass"], theirs["limit"]) == ("theirs", None, None)
    assert "rival" not in answer.text


async def test_refused_credentials_show_in_the_list_in_health_and_in_the_metrics(
    admin: Person, http: httpx2.AsyncClient, engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    provider.answer = Unavailable("535 wrong password", is_refused=True)
    await engine.define("flow", graph(email()))
    await engine.trigger("flow", {}, "k1")
    await work(engine)
    clock.advance(seconds=30)

    [shown] = (await admin.get("/v1/providers")).json()["data"]
    health = await http.get("/v1/health")
    metrics = (await admin.get("/metrics")).text

    assert shown["restsUntil"] == "2026-03-02T09:01:00Z"
    assert (shown["unavailableSince"], shown["unavailableTimes"]) == ("2026-03-02T09:00:00Z", 1)
    assert (shown["unavailableReason"], shown["isRefused"]) == ("535 wrong password", True)
    assert health.status_code == 200
    [problem] = health.json()["problems"]
    assert "the provider fake refuses our settings since 2026-03-02T09:00:00+00:00" in problem
    assert "535" not in problem  # anybody may ask
    assert 'tidings_provider_unavailable_seconds{provider="fake",refused="true"} 30.0' in metrics


async def test_a_provider_that_is_back_is_no_problem_any_more(
    admin: Person, http: httpx2.AsyncClient, engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    provider.answer = Unavailable("connection refused")
    await engine.define("flow", graph(email()))
    await engine.trigger("flow", {}, "k1")
    await work(engine)
    during = (await http.get("/v1/health")).json()["problems"]
    provider.answer = None
    clock.advance(seconds=5)
    after_the_rest = (await admin.get("/v1/providers")).json()["data"][0]
    await work(engine)

    assert "the provider fake cannot be used since" in during[0]
    assert (after_the_rest["restsUntil"], after_the_rest["unavailableTimes"]) == (None, 1)
    assert (await http.get("/v1/health")).json()["problems"] == []
    assert (await admin.get("/v1/providers")).json()["data"][0]["unavailableSince"] is None
