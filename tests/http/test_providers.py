"""/v1/providers: who may call what, and what rests."""

from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person, caller
from tests.kernel.scenes import email, graph, work
from tidings.domain.flow.item import Channel
from tidings.domain.flow.outcome import Unavailable
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.kernel.kernel import Limits
from tidings.kernel.presence import services_of
from tidings.providers.fake import FakeProvider
from tidings.storage.vault import Vault
from tidings.storage.workers import ListedWorker, beat_worker

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


TEXT = {
    "entryNodeId": "text",
    "nodes": [{"id": "text", "type": "sms", "to": "+4917012345", "body": "Hello"}],
    "edges": [],
}


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    """One with a limit."""
    return Engine(replace(engine.kernel, limits=Limits(provider_concurrency={"fake": 20})))


async def beat(engine: Engine, clock: ManualClock) -> None:
    """Write down that a worker of this engine lives."""
    kernel = engine.kernel
    me = ListedWorker(
        kernel.shares.worker_id, "mail-1", 7, "1.0", [Lane.CAMPAIGNS], services_of(kernel), clock.time, clock.time
    )
    await kernel.db.persist(lambda tx: beat_worker(tx, worker=me), alone=True)


async def test_a_provider_is_shown_with_its_class_limit_shares_and_rest(
    host: Person, engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    before = (await host.get("/v1/providers")).json()["data"]
    await beat(engine, clock)
    await engine.kernel.shares.refresh(clock.time)
    until = clock.time + timedelta(minutes=1)
    await sql.execute("insert into provider_pauses values ('fake', $1, '429 to ann@rival.example')", until)
    await sql.execute("insert into provider_pauses values ('theirs', $1, '429')", until)
    shown, theirs = (await host.get("/v1/providers")).json()["data"]

    assert before[0] | {"channels": []} == {
        "name": "fake",
        "state": "unserved",
        "providerClass": None,
        "channels": [],
        "routedSince": "2026-03-02T09:00:00Z",
        "printing": False,
        "servedBy": [],
        "concurrency": None,
        "limit": None,
        "workers": [],
        "restsUntil": None,
        "unavailableSince": None,
        "unavailableTimes": 0,
        "unavailableReason": None,
        "isRefused": False,
        "restReason": None,
    }
    assert "email" in before[0]["channels"]
    assert shown["servedBy"] == [str(engine.kernel.shares.worker_id)]
    assert (shown["providerClass"], shown["concurrency"], shown["limit"]) == ("blind", 100, 20)
    [share] = shown["workers"]
    assert (share["workerId"], share["slots"]) == (str(engine.kernel.shares.worker_id), 20)
    assert shown["restsUntil"] == "2026-03-02T09:01:00Z"
    assert (theirs["name"], theirs["providerClass"], theirs["limit"]) == ("theirs", None, None)
    assert (shown["state"], shown["restReason"]) == ("resting", "429 to ann@rival.example")


async def test_the_workers_that_live_are_listed_with_what_they_serve(
    host: Person, engine: Engine, clock: ManualClock
) -> None:
    await beat(engine, clock)
    [worker] = (await host.get("/v1/workers")).json()["data"]
    clock.advance(seconds=31)
    gone = (await host.get("/v1/workers")).json()["data"]

    assert (worker["host"], worker["pid"], worker["version"], worker["lanes"]) == ("mail-1", 7, "1.0", ["campaigns"])
    [served] = worker["serves"]
    assert (served["provider"], served["providerClass"], served["concurrency"]) == ("fake", "blind", 100)
    assert "email" in served["channels"]
    assert worker["startedAt"] == worker["lastSeenAt"] == "2026-03-02T09:00:00Z"
    assert gone == []


async def test_no_tenant_s_administrator_takes_a_channel_s_provider_from_all_others(
    admin: Person, engine: Engine
) -> None:
    refused = await admin.ask("DELETE", "/v1/providers/routes/sms")

    assert refused.status_code in {404, 405}
    assert "sms" in (await admin.get("/v1/providers")).json()["data"][0]["channels"]


async def test_a_channel_without_a_provider_starts_nothing(admin: Person, engine: Engine, sql: Sql) -> None:
    await engine.providers.unroute(caller(), Channel.SMS)

    made = await admin.post("/v1/workflows", {"name": "text", **TEXT})
    refused = await admin.post("/v1/triggers", {"workflow": "text", "idempotencyKey": "k"})

    assert (made.status_code, made.json()["notReady"]) == (201, ["sms"])
    assert (refused.status_code, refused.json()["code"]) == (409, "channel_not_ready")
    assert "--print" in refused.json()["detail"]
    assert await sql.fetchval("select count(*) from executions") == 0


async def test_many_triggers_of_a_channel_without_a_provider_are_refused_as_one_is(
    admin: Person, engine: Engine
) -> None:
    await engine.providers.unroute(caller(), Channel.SMS)
    await admin.post("/v1/workflows", {"name": "text", **TEXT})

    bulk = [{"workflow": "text", "idempotencyKey": f"k-{number}"} for number in range(3)]
    refused = await admin.post("/v1/triggers/bulk", {"triggers": bulk})

    assert (refused.status_code, refused.json()["code"]) == (409, "channel_not_ready")


async def test_the_endpoint_of_named_workflows_refuses_in_its_own_form(admin: Person, engine: Engine) -> None:
    await engine.providers.unroute(caller(), Channel.SMS)
    await admin.post("/v1/workflows", {"name": "text", **TEXT})

    body = {"action": "enqueue", "payload": {"workflow": "text", "data": {"a": 1}}}
    refused = await admin.http.post("/functions/v1/workflow-enqueue", json=body, headers={"apikey": admin.secret})

    assert (refused.status_code, refused.json()["success"]) == (400, False)
    assert refused.json()["error"].startswith("Workflow not ready: no provider is set up for sms")


async def test_what_waits_for_a_worker_is_said_in_health_and_metrics(
    host: Person, engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    await sql.execute(
        "insert into workers values (gen_random_uuid(), 'h', 1, '1', '{0,1,2,3}', '{}', $1, $1)", clock.time
    )
    health = (await host.get("/v1/health")).json()
    text = (await host.get("/metrics")).text

    assert (health["status"], health["workers"], health["waiting"]) == ("healthy", 1, ["no worker serves fake"])
    assert "tidings_workers 1.0" in text
    assert 'tidings_provider_workers{provider="fake"} 0.0' in text
    assert 'tidings_waiting{reason="no worker serves fake"} 1.0' in text


async def test_a_connection_is_served_by_the_workers_that_serve_its_kind(
    host: Person, engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    engine = Engine(replace(engine.kernel, vault=Vault([b"k" * 32])))
    await beat(engine, clock)
    made = await engine.connections.create(
        caller(), {"name": "relay", "provider": "smtp", "settings": {"host": "smtp.example.com", "from": "a@b.example"}}
    )
    until = clock.time + timedelta(minutes=1)
    await sql.execute("insert into provider_pauses values ($1, $2, 'late')", f"smtp/{made.id}", until)

    listed = {one["name"]: one for one in (await host.get("/v1/providers")).json()["data"]}

    shown = listed[f"smtp/{made.id}"]
    assert (shown["state"], shown["providerClass"]) == ("resting", None)
    assert len(shown["servedBy"]) == 1


async def test_refused_credentials_show_in_the_list_in_health_and_in_the_metrics(
    host: Person, engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    provider.answer = Unavailable("535 wrong password", is_refused=True)
    await engine.define("flow", graph(email()))
    await engine.trigger("flow", {}, "k1")
    await work(engine)
    clock.advance(seconds=30)

    [shown] = (await host.get("/v1/providers")).json()["data"]
    health = await host.get("/v1/health")
    metrics = (await host.get("/metrics")).text

    assert shown["restsUntil"] == "2026-03-02T09:01:00Z"
    assert (shown["unavailableSince"], shown["unavailableTimes"]) == ("2026-03-02T09:00:00Z", 1)
    assert (shown["unavailableReason"], shown["isRefused"]) == ("535 wrong password", True)
    assert health.status_code == 200
    [problem] = health.json()["problems"]
    assert "the provider fake refuses our settings since 2026-03-02T09:00:00+00:00" in problem
    assert 'tidings_provider_unavailable_seconds{provider="fake",refused="true"} 30.0' in metrics


async def test_a_provider_that_is_back_is_no_problem_any_more(
    host: Person, engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    provider.answer = Unavailable("connection refused")
    await engine.define("flow", graph(email()))
    await engine.trigger("flow", {}, "k1")
    await work(engine)
    during = (await host.get("/v1/health")).json()["problems"]
    provider.answer = None
    clock.advance(seconds=5)
    after_the_rest = (await host.get("/v1/providers")).json()["data"][0]
    await work(engine)

    assert "the provider fake cannot be used since" in during[0]
    assert (after_the_rest["restsUntil"], after_the_rest["unavailableTimes"]) == (None, 1)
    assert (await host.get("/v1/health")).json()["problems"] == []
    assert (await host.get("/v1/providers")).json()["data"][0]["unavailableSince"] is None
