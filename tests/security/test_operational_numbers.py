"""What a tenant learns of others from operational answers: nothing. The operator sees the whole installation."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeAlias

import asyncpg
import httpx2

from tests.conftest import ManualClock, make_engine
from tests.http.conftest import ADA, HOME, OTHER_TENANT, OTHER_WORKSPACE, WELCOME, Person, caller, person, start
from tests.http.test_permissions import operations
from tests.kernel.scenes import deploy
from tests.kernel.test_outages import HASTY, look_at_each_rest
from tidings.config import Config
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Rejected, Unavailable
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
CANARY = "xyzzy"
"""In every name and text that the stranger or the operator has."""
OF_THE_TENANT = {"list_keys", "list_audit_log", "list_workspaces"}
OF_THE_INSTALLATION = {"get_rule_matrix"}
"""It says which fallbacks the host application serves: they decide what becomes of the tenant's own events."""
ASKED = ["/metrics", "/v1/health", "/v1/providers", "/v1/workers"]


@asynccontextmanager
async def asking(engine: Engine) -> AsyncIterator[httpx2.AsyncClient]:
    """The API as a process that has just started has it: nothing is remembered."""
    app = create_app(engine, Config(rate_limit=0))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://tidings") as http:
        yield http


async def walk(engine: Engine, people: dict[str, Person]) -> dict[str, str]:
    """What everybody is told by every operation that asks about nothing in particular."""
    told = {}
    async with asking(engine) as http:
        for name, somebody in people.items():
            for operation, (method, path) in operations().items():
                if method != "GET" or "{" in path or operation in {"explain_enrollment", *OF_THE_INSTALLATION}:
                    continue
                answer = await Person(http, somebody.secret, somebody.workspace).get(path)
                told[f"{name} {operation}"] = re.sub(r'"requestId":"\w+"', "", f"{answer.status_code} {answer.text}")
        told["nobody get_health"] = (await http.get("/v1/health")).text
    return told


async def work_as(engine: Engine, home: Workspace, provider: FakeProvider) -> None:
    """Everything that leaves a number: work that waits, is done, has failed and is paused, people, names."""
    await engine.workflows.create(caller(home), "welcome", WELCOME)
    await engine.contacts.create(caller(home), {"externalId": f"{CANARY}-contact"})
    for number in range(4):
        await start(engine, home, f"{CANARY}-{number}")
    provider.script = {ADA["email"]: [Rejected(f"550 {CANARY}")]}
    await engine.work_everything()
    await start(engine, home, f"{CANARY}-waits")


async def disturb(engine: Engine, sql: Sql, clock: ManualClock) -> None:
    """What the operator's side has to tell: workers, a share, a stranger's route and a provider that rests."""
    soon = clock.time + timedelta(minutes=1)
    await sql.execute(
        "insert into routes values ($1, $2, 'sms', $3, 'settings', $4)",
        *(OTHER_TENANT.tenant, OTHER_TENANT.name, f"{CANARY}-relay", clock.time),
    )
    await sql.execute(
        "insert into provider_pauses values ($1, $2, $3, $4)", f"{CANARY}-relay", soon, CANARY, clock.time
    )
    await sql.execute("insert into fallbacks values ('quote', 'email', 'lead', $1)", clock.time)
    await engine.access.create_key(caller(OTHER_TENANT), f"{CANARY} key", Role.SYSTEM_ADMIN)


async def test_nothing_that_a_stranger_does_changes_what_a_tenant_is_told(
    engine: Engine, sql: Sql, clock: ManualClock, provider: FakeProvider
) -> None:
    async with asking(engine) as http:
        people = {f"{role}": await person(engine, http, role) for role in Role if role is not Role.OPERATOR}
        host = await person(engine, http, Role.OPERATOR, OTHER_TENANT)
    await walk(engine, people)  # each key has now been used
    before = await walk(engine, people)
    seen_before = await walk(engine, {"operator": host})

    await work_as(engine, OTHER_TENANT, provider)
    await disturb(engine, sql, clock)

    after, seen = await walk(engine, people), await walk(engine, {"operator": host})
    assert {asked: answer for asked, answer in after.items() if answer != before[asked] or CANARY in answer} == {}
    changed = {asked for asked, answer in seen.items() if answer != seen_before[asked]}
    assert {"operator get_metrics", "operator list_providers", "operator get_health"} <= changed


async def test_another_workspace_of_the_tenant_is_as_strange(engine: Engine, provider: FakeProvider) -> None:
    async with asking(engine) as http:
        people = {f"{role}": await person(engine, http, role) for role in Role if role is not Role.OPERATOR}
    await walk(engine, people)
    before = await walk(engine, people)

    await work_as(engine, OTHER_WORKSPACE, provider)

    after = await walk(engine, people)
    told = {asked: answer for asked, answer in after.items() if asked.split()[1] not in OF_THE_TENANT}
    assert {asked: answer for asked, answer in told.items() if answer != before[asked] or CANARY in answer} == {}


async def test_a_tenant_s_metrics_are_its_own_numbers(engine: Engine, provider: FakeProvider) -> None:
    await work_as(engine, OTHER_TENANT, provider)
    await engine.work_everything()
    await work_as(engine, HOME, provider)
    async with asking(engine) as http:
        own = (await (await person(engine, http, Role.WORKER_SERVICE)).get("/metrics")).text
        everything = (await (await person(engine, http, Role.OPERATOR)).get("/metrics")).text

    for text, completed, failed in ((own, 3, 1), (everything, 7, 2)):
        assert f'tidings_executions{{status="completed"}} {completed:.1f}' in text
        assert f'tidings_executions{{status="failed"}} {failed:.1f}' in text
        assert 'tidings_executions{status="enqueued"} 1.0' in text
        assert f'tidings_outbox{{status="sent"}} {completed:.1f}' in text
        assert f'tidings_outbox{{status="failed"}} {failed:.1f}' in text
    assert "tidings_http_requests" not in own
    assert "tidings_queue" not in own
    assert 'tidings_provider_ready{provider="fake"} 0.0' in own
    assert "tidings_http_requests" in everything


async def test_a_tenant_sees_of_a_resting_provider_only_until_when(
    engine: Engine, sql: Sql, clock: ManualClock
) -> None:
    await live(sql, clock)
    async with asking(engine) as http:
        admin, host = [await person(engine, http, role) for role in (Role.SYSTEM_ADMIN, Role.OPERATOR)]
        ready = (await admin.get("/v1/providers")).json()["data"][0]
    until = clock.time + timedelta(minutes=1)
    await sql.execute("insert into provider_pauses values ('fake', $1, $2, $3)", until, CANARY, clock.time)
    async with asking(engine) as http:
        asked = {path: await Person(http, admin.secret, HOME).get(path) for path in ASKED}
        shown = {path: await Person(http, host.secret, HOME).get(path) for path in ASKED}
    resting = asked["/v1/providers"].json()["data"][0]

    assert (ready["name"], ready["state"], ready["restsUntil"]) == ("fake", "ready", None)
    assert (resting["state"], resting["restsUntil"]) == ("resting", "2026-03-02T09:01:00Z")
    assert [name for name, value in resting.items() if value] == ["name", "state", "channels", "restsUntil"]
    assert asked["/v1/health"].json()["problems"] == ["the provider fake rests until 2026-03-02T09:01:00+00:00"]
    assert 'tidings_provider_ready{provider="fake"} 0.0' in asked["/metrics"].text
    assert {path for path, answer in asked.items() if CANARY in answer.text} == set()
    assert {path for path, answer in shown.items() if CANARY in answer.text} == {
        "/metrics",
        "/v1/providers",
        "/v1/workers",
    }


async def test_a_tenant_sees_of_workers_neither_host_nor_process(engine: Engine, sql: Sql, clock: ManualClock) -> None:
    await live(sql, clock)
    async with asking(engine) as http:
        [own] = (await (await person(engine, http, Role.WORKER_SERVICE)).get("/v1/workers")).json()["data"]
        [shown] = (await (await person(engine, http, Role.OPERATOR)).get("/v1/workers")).json()["data"]

    assert (own["host"], own["pid"]) == (None, None)
    assert [served["provider"] for served in own["serves"]] == ["fake"]
    assert (shown["host"], shown["pid"]) == (f"{CANARY}-host", 4711)
    assert [served["provider"] for served in shown["serves"]] == ["fake", f"fallback:{CANARY}/email/lead"]


async def test_health_tells_a_stranger_only_that_it_is_up(engine: Engine, sql: Sql, clock: ManualClock) -> None:
    await live(sql, clock)
    async with asking(engine) as http:
        told = [await http.get("/v1/health", headers=one) for one in ({}, {"Authorization": "Bearer tid_nobody"})]

    for one in told:
        assert {name: value for name, value in one.json().items() if value} == {"status": "healthy"}


async def live(sql: Sql, clock: ManualClock) -> None:
    """A worker of the operator's."""
    serves = (
        '{"fake": {"class": "blind", "channels": ["email"], "concurrency": 1, "limit": null},'
        f' "fallback:{CANARY}/email/lead": {{"class": "blind", "channels": [], "concurrency": 1, "limit": null}}}}'
    )
    await sql.execute(
        "insert into workers values (gen_random_uuid(), $1, 4711, '1', '{0,1,2,3}', $2, $3, $3)",
        *(f"{CANARY}-host", serves, clock.time),
    )


async def test_an_item_that_gives_up_waiting_quotes_no_other_s_call(
    db: Database, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    engine = await make_engine(db, clock, provider, Limits(outage_patience=HASTY))
    provider.answer = lambda item: Unavailable(f"421 not for {item.recipient}")
    await deploy(engine, 20)
    await engine.work_everything()
    await look_at_each_rest(engine, clock, sql, minutes=12)

    failed = await sql.fetch("select recipient, error from outbox where status = 'failed'")
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()
    assert len(failed) == 20
    assert [dict(row) for row in failed if "@" in row["error"] and row["recipient"] not in row["error"]] == []
