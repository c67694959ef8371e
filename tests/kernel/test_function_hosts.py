"""A host that does not answer is left alone: for one workspace, by all workers, and until it answers again."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql
from tests.providers.function_server import HangUp, Say, answer, function_server
from tidings import Config, open_engine
from tidings.domain.caller import Caller
from tidings.domain.errors import NotFound
from tidings.domain.flow.hosts import FAILURES_BEFORE_REST
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.retry import UNREACHED
from tidings.domain.workflows.function import Endpoint
from tidings.engine import Engine

ACME, RIVAL = Workspace("acme", "main"), Workspace("rival", "main")
CALL = {"steps": [{"name": "one", "function": "f", "action": "go"}], "timeoutSeconds": 86_400}
ITEMS = "select status, attempts from outbox where tenant_id = $1"
OPEN = "select provider, times, tried_at is not null from provider_pauses"


@asynccontextmanager
async def opened(config: Config, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = await open_engine(config, clock=clock)
    try:
        yield engine
    finally:
        await engine.close()


@pytest.fixture
def config(dsn: str) -> Config:
    return Config(database_url=dsn, allow_unsafe_storage=True, rate_limit=0)


async def a_closed_port() -> int:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def prepare(engine: Engine, workspace: Workspace, url: str) -> None:
    await engine.workspaces.set(Caller(workspace, "ops"), workspace, private_addresses=["127.0.0.1"])
    await engine.functions.set(Caller(workspace, "ann"), "f", url)
    await engine.define("call", CALL, workspace)


async def call(engine: Engine, workspace: Workspace, times: int, key: str = "k") -> None:
    for number in range(times):
        await engine.trigger("call", {}, f"{key}{number}", workspace)
        await engine.work_everything()


async def items(sql: Sql, workspace: Workspace) -> Counter[tuple[str, int]]:
    """How many items of a workspace have which status and have used how many attempts."""
    return Counter(tuple(record) for record in await sql.fetch(ITEMS, workspace.tenant))


async def test_after_a_few_calls_that_nothing_answers_the_others_wait_and_use_no_attempt(
    config: Config, clock: ManualClock, sql: Sql
) -> None:
    port = await a_closed_port()
    async with function_server() as server, opened(config, clock) as engine, opened(config, clock) as other:
        await prepare(engine, ACME, f"http://127.0.0.1:{port}/f")
        await prepare(engine, RIVAL, server.url())
        await call(engine, ACME, FAILURES_BEFORE_REST)
        await call(engine, ACME, 10, "later")
        await call(other, ACME, 10, "elsewhere")
        await call(other, RIVAL, 3)

        assert await items(sql, ACME) == {("queued", 1): FAILURES_BEFORE_REST, ("queued", 0): 20}
        assert await items(sql, RIVAL) == {("sent", 1): 3}
        [host] = await other.functions.hosts(ACME)
        assert (host.host, host.failures) == (f"127.0.0.1:{port}", 1)
        assert host.rests_until == clock.time + UNREACHED.shortest
        assert await other.functions.hosts(RIVAL) == []
        assert [one.rests_until for one in await other.functions.list(ACME)] == [host.rests_until]


async def test_one_call_tries_when_a_rest_is_over_rests_grow_and_the_first_answer_ends_them(
    config: Config, clock: ManualClock, sql: Sql
) -> None:
    async with function_server(HangUp()) as server, opened(config, clock) as engine, opened(config, clock) as other:
        await prepare(engine, ACME, server.url())
        await asyncio.gather(
            *(engine.trigger("call", {}, f"k{number}", ACME) for number in range(FAILURES_BEFORE_REST))
        )
        await engine.work_everything()
        await call(engine, ACME, 10, "later")
        before = len(server.requests)
        rests = []
        for worker in (engine, other):
            [host] = await worker.functions.hosts(ACME)
            assert host.rests_until
            rests.append(host.rests_until - clock.time)
            clock.time = host.rests_until
            await worker.work_everything()
        tried = len(server.requests) - before
        server.answers[:] = [answer({"data": 1})]
        for _ in range(3):
            clock.advance(seconds=30)
            await other.work_everything()

        assert tried == 2
        assert rests == [UNREACHED.after(1), UNREACHED.after(2)]
        assert await engine.functions.hosts(ACME) == []
        found = await items(sql, ACME)
        assert {status for status, _ in found} == {"sent"}
        assert found["sent", 1] >= 8


async def test_another_workspace_s_rest_of_the_same_host_is_not_ours(
    config: Config, clock: ManualClock, sql: Sql
) -> None:
    async with function_server(HangUp()) as server, opened(config, clock) as engine:
        for home in (ACME, RIVAL):
            await prepare(engine, home, server.url())
        await call(engine, ACME, FAILURES_BEFORE_REST)
        server.answers[:] = [answer({"data": 1})]
        await call(engine, RIVAL, 2)
        await call(engine, ACME, 1, "again")

        assert await items(sql, RIVAL) == {("sent", 1): 2}
        assert await items(sql, ACME) == {("queued", 1): FAILURES_BEFORE_REST, ("queued", 0): 1}
        assert [one.host for one in await engine.functions.hosts(ACME)] == [f"127.0.0.1:{server.port}"]


async def test_any_answer_even_a_refusal_keeps_a_host_in_use(config: Config, clock: ManualClock, sql: Sql) -> None:
    says: list[Say] = [HangUp(), HangUp(), HangUp(), HangUp(), answer({"error": "no"}, 500)] * 3
    async with function_server(*says) as server, opened(config, clock) as engine:
        await prepare(engine, ACME, server.url())
        await call(engine, ACME, 3 * FAILURES_BEFORE_REST)

        assert len(server.requests) == 3 * FAILURES_BEFORE_REST
        assert await sql.fetch(OPEN) == []


async def test_a_person_resets_a_host_and_what_waits_is_called_at_once(
    config: Config, clock: ManualClock, sql: Sql
) -> None:
    async with function_server(HangUp()) as server, opened(config, clock) as engine, opened(config, clock) as other:
        await prepare(engine, ACME, server.url())
        await call(engine, ACME, FAILURES_BEFORE_REST)
        await call(engine, ACME, 3, "later")
        server.answers[:] = [answer({"data": 1})]
        host = f"127.0.0.1:{server.port}"
        with pytest.raises(NotFound):
            await other.functions.reset_host(Caller(RIVAL, "mallory"), host)

        await other.functions.reset_host(Caller(ACME, "ann"), host)
        clock.advance(milliseconds=1)
        await engine.work_everything()

        assert await items(sql, ACME) == {("queued", 1): FAILURES_BEFORE_REST, ("sent", 1): 3}
        line = await sql.fetchrow("select event, actor, detail ->> 'host' from audit_log where event = 'host_reset'")
        assert line is not None
        assert tuple(line) == ("host_reset", "ann", host)


async def test_a_function_whose_host_is_down_for_long_is_given_up_like_any_other_wait(
    config: Config, clock: ManualClock, sql: Sql
) -> None:
    port = await a_closed_port()
    hasty = replace(config, outage_hours=dict.fromkeys(config.outage_hours, 0.1))
    async with opened(hasty, clock) as engine:
        await prepare(engine, ACME, f"http://127.0.0.1:{port}/f")
        await call(engine, ACME, FAILURES_BEFORE_REST)
        await call(engine, ACME, 2, "later")
        ends_at = clock.time + timedelta(minutes=20)
        while (due := await sql.fetchval("select min(due_at) from queue")) and due < ends_at:
            clock.time = max(clock.time, due)
            await engine.work_everything()

        assert {status for status, _ in await items(sql, ACME)} == {"failed"}


def test_a_host_is_its_name_and_its_port() -> None:
    assert Endpoint("https://A.example./x").host == "a.example:443"
    assert Endpoint("http://a.example:8080/x").host == "a.example:8080"
