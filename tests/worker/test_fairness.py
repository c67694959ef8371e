"""One tenant's trouble is not another's: a flood, functions that hang and expensive templates delay nobody else.

Judged by order, never by time: whom the provider was called for before whom, and what was done while calls hang. The
flood is one tenant's, in one workspace or spread over a hundred, which must not earn it a hundred shares.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeAlias
from uuid import UUID

import asyncpg
import pytest

from tests.kernel.scenes import campaign, email, graph, plan_runs
from tests.worker.conftest import live_engine, running, until
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted
from tidings.domain.flow.queue import Claimed, Lane
from tidings.engine import Engine, Trigger
from tidings.kernel.flow import executions
from tidings.kernel.flow.case import Case
from tidings.kernel.flow.release import release_executions
from tidings.kernel.kernel import Kernel, Limits
from tidings.kernel.process import in_hand
from tidings.kernel.render.renderer import Renderer
from tidings.kernel.start.trigger import trigger
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.worker.loop import Worker

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
MakeEngine: TypeAlias = Callable[[FakeProvider, Limits], Awaitable[Engine]]

FLOOD = 1000
FEW = 20
MOST_BEFORE = 300
"""How many of the flood's messages may leave before the last of the few: batches that were claimed, and fair turns."""
BATCH = 20
HANGING = 400
HOURS = 300.0  # longer than any test: nothing here is found by polling
LONG = timedelta(seconds=200)  # no call is cut short while a test looks

FEW_IN = Workspace("small")
SPREADS = [pytest.param(1, id="one-workspace"), pytest.param(100, id="a-hundred-workspaces")]

MESSAGE = graph(email(to="{{ email }}"))
TWO_CALLS = {"steps": [{"name": name, "function": name, "action": "run"} for name in ("first", "second")]}
HANGS = {"steps": [{"name": "hang", "function": "hang", "action": "run"}]}
LOOPS = "{% for a in (1..9999) %}{% for b in nobody %}{% endfor %}{% endfor %}" * 100  # seconds of CPU time
AT_THE_LIMIT = graph(email(body=LOOPS))
LIQUID = graph(email(to="small@example.com", body="{% for name in names %}{{ name | upcase }}{% endfor %}"))


def flood_workspaces(count: int) -> list[Workspace]:
    return [Workspace("flood", f"w{number}") for number in range(count)]


def messages(count: int, prefix: str = "k") -> list[Trigger]:
    return [Trigger(f"{prefix}{number}", {"email": f"{prefix}{number}@example.com"}) for number in range(count)]


async def start_flood(
    engine: Engine, spread: int, count: int, definition: Mapping[str, object], lane: Lane = Lane.TRANSACTIONAL
) -> None:
    for workspace in flood_workspaces(spread):
        await engine.define("flood", definition, workspace)
        await trigger(engine.kernel, workspace, "flood", messages(count // spread), lane=lane)


async def start_few(engine: Engine, lane: Lane = Lane.TRANSACTIONAL) -> None:
    await engine.define("few", MESSAGE, FEW_IN)
    await trigger(engine.kernel, FEW_IN, "few", messages(FEW), lane=lane)


def called_for(provider: FakeProvider, workspace: Workspace) -> int:
    return sum(call.workspace == workspace for call in provider.calls)


def flood_before_last_of_few(provider: FakeProvider, since: int = 0) -> int:
    """How many calls were for the flood before the last one for the few."""
    tenants = [call.workspace.tenant for call in provider.calls[since:]]
    last = max(place for place, tenant in enumerate(tenants) if tenant == FEW_IN.tenant)
    return tenants[:last].count("flood")


def keys_in(engine: Engine, workspace: Workspace, shard: Shard, count: int) -> list[str]:
    """Keys that put what they start into one shard."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        if workspace.bucket_of(f"k{number}") % engine.kernel.shards == shard:
            found.append(f"k{number}")
        number += 1
    return found


async def trigger_in(
    engine: Engine, workflow: str, workspace: Workspace, shard: Shard, count: int = 1
) -> Sequence[UUID]:
    keys = keys_in(engine, workspace, shard, count)
    started = await engine.trigger_many(workflow, [Trigger(key, {"names": ["ada"]}) for key in keys], workspace)
    return [one.id for one in started]


async def status_of(sql: Sql, id: UUID) -> str:
    return str(await sql.fetchval("select status from executions where id = $1", id))


class HangingProvider(FakeProvider):
    """Never answers calls to the function `hang` until it is let go; all others at once."""

    def __init__(self, concurrency: int = 100) -> None:
        super().__init__(call_deadline=LONG, concurrency=concurrency, answer=self._answer_in_time)
        self.let_go = asyncio.Event()

    async def _answer_in_time(self, item: Marked) -> Accepted:
        if item.recipient == "hang":
            await self.let_go.wait()
        return Accepted(None, {})

    @property
    def hanging(self) -> int:
        return sum(call.recipient == "hang" for call in self.calls)


@asynccontextmanager
async def stuck(engine: Engine, provider: HangingProvider, batch: int = 100) -> AsyncIterator[None]:
    """A worker at work whose hanging calls are answered only when the block ends."""
    async with running(Worker(engine, batch=batch, poll_seconds=HOURS)):
        try:
            yield
        finally:
            provider.let_go.set()


@pytest.fixture
async def make_live(db: Database) -> AsyncIterator[MakeEngine]:
    made: list[Engine] = []

    async def make(provider: FakeProvider, limits: Limits) -> Engine:
        made.append(await live_engine(db, provider, limits))
        return made[-1]

    yield make
    for engine in made:
        await engine.kernel.notifier.close()
        await engine.kernel.renderer.close()


@pytest.fixture
def hanging() -> HangingProvider:
    return HangingProvider()


@pytest.fixture
async def stuck_engine(make_live: MakeEngine, hanging: HangingProvider) -> Engine:
    engine = await make_live(hanging, Limits())
    await engine.define("calls", TWO_CALLS, FEW_IN)
    return engine


# A backlog


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("lane", [Lane.TRANSACTIONAL, Lane.SEQUENCES])
async def test_a_few_messages_leave_before_another_tenants_backlog(
    live: Engine, provider: FakeProvider, lane: Lane, spread: int
) -> None:
    await start_flood(live, spread, FLOOD, MESSAGE, lane)
    await start_few(live, lane)

    async with running(Worker(live, batch=BATCH, poll_seconds=HOURS)):
        await until(lambda: called_for(provider, FEW_IN) == FEW)

    assert flood_before_last_of_few(provider) < MOST_BEFORE


async def test_a_newcomer_does_not_wait_for_a_backlog_that_is_being_worked_off(
    live: Engine, provider: FakeProvider
) -> None:
    await start_flood(live, 1, FLOOD, MESSAGE)

    async with running(Worker(live, batch=BATCH, poll_seconds=HOURS)):
        await until(lambda: len(provider.calls) >= 100)
        hold = provider.hang = asyncio.Event()  # the flood stands still, so that most of it is left for sure
        await start_few(live)
        before = len(provider.calls)
        provider.hang = None
        hold.set()
        await until(lambda: called_for(provider, FEW_IN) == FEW)

    assert flood_before_last_of_few(provider, before) < MOST_BEFORE


@pytest.mark.parametrize("spread", SPREADS)
async def test_a_small_campaign_leaves_before_another_tenants_large_ones(
    make_live: MakeEngine, provider: FakeProvider, sql: Sql, spread: int
) -> None:
    engine = await make_live(provider, Limits(job_size=5))
    for workspace in flood_workspaces(spread):
        await engine.deploy(campaign(FLOOD // spread), workspace)
    await plan_every_run(engine, sql)
    await engine.deploy(campaign(FEW), FEW_IN)
    await plan_every_run(engine, sql)

    async with running(Worker(engine, lanes=(Lane.CAMPAIGNS,), poll_seconds=HOURS)):
        await until(lambda: called_for(provider, FEW_IN) == FEW)

    assert flood_before_last_of_few(provider) < MOST_BEFORE


async def plan_every_run(engine: Engine, sql: Sql) -> None:
    while not await sql.fetchval("select bool_and(planned is not null) from runs"):
        await plan_runs(engine)


@pytest.mark.parametrize("spread", SPREADS)
async def test_a_few_runs_are_planned_before_another_tenants_many(live: Engine, sql: Sql, spread: int) -> None:
    workspaces = flood_workspaces(spread)
    for number in range(100):
        await live.deploy(campaign(1, f"c{number}"), workspaces[number % spread])
    keys = keys_in(live, FEW_IN, Shard(0), 3)
    few = [(await live.deploy(campaign(1, key), FEW_IN)).id for key in keys]

    async with running(Worker(live, lanes=(Lane.RUNS,), poll_seconds=HOURS)):
        await until(lambda: _are_planned(sql, few))

    before = await sql.fetchval(
        "select count(*) from jobs where tenant_id = 'flood'"
        " and created_at < (select max(created_at) from jobs where run_id = any($1))",
        few,
    )
    assert before < 40


async def _are_planned(sql: Sql, runs: Sequence[UUID]) -> bool:
    return bool(await sql.fetchval("select bool_and(planned is not null) from runs where id = any($1)", runs))


# Weights


@pytest.mark.parametrize("slots", [100, 8])
async def test_of_two_backlogs_each_gets_as_much_as_its_weight_says(
    make_live: MakeEngine, sql: Sql, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where claims are scarce, and where slots are; the weights are set when both backlogs are there already.

    Both are in one shard: of two shards one may be worked off sooner, and where the heavy one has nothing left, the
    light one is served alone. Batches are small: those under way at both ends of what is counted weigh little.
    """
    monkeypatch.setattr(in_hand, "LONG_SECONDS", HOURS)  # on a busy machine every batch takes long, and counts apart
    provider = FakeProvider(concurrency=slots, answer=_answer_soon if slots < 100 else None)
    engine = await make_live(provider, Limits())
    heavy, light = Workspace("heavy"), Workspace("light")
    for workspace in (light, heavy):
        await engine.define("few", LIQUID, workspace)
        await trigger_in(engine, "few", workspace, Shard(0), FLOOD // 2)
    await sql.execute("insert into tenants (tenant_id, weight, updated_at) values ('heavy', 3, now())")

    async with running(Worker(engine, batch=5, poll_seconds=HOURS)):
        await until(lambda: len(provider.calls) >= 600)

    shares = Counter(call.workspace for call in provider.calls[200:600])  # the first claims may take what is due first
    assert 2 <= shares[heavy] / shares[light] <= 4


async def _answer_soon(_: Marked) -> Accepted:
    await asyncio.sleep(0.005)
    return Accepted(None)


# Functions that hang


@pytest.mark.parametrize("spread", SPREADS)
async def test_a_function_is_called_while_another_tenants_functions_hang(
    stuck_engine: Engine, hanging: HangingProvider, sql: Sql, spread: int
) -> None:
    await start_flood(stuck_engine, spread, HANGING, HANGS)

    async with stuck(stuck_engine, hanging):
        await until(lambda: hanging.hanging >= 10)
        started = await stuck_engine.trigger("calls", {}, "k1", FEW_IN)
        await until(lambda: is_completed(sql, started.id))

    assert [call.recipient for call in hanging.calls if call.workspace == FEW_IN] == ["first", "second"]


async def test_a_function_is_called_where_hanging_ones_leave_one_batch_slot(make_live: MakeEngine, sql: Sql) -> None:
    """The provider has slots enough: what is scarce is the number of batches that a worker has under way."""
    provider = HangingProvider(concurrency=1000)
    engine = await make_live(provider, Limits())
    [flood] = flood_workspaces(1)
    await engine.define("flood", HANGS, flood)
    await engine.define("calls", TWO_CALLS, FEW_IN)
    *others, last = engine.kernel.every_shard()
    for shard in others:
        await trigger_in(engine, "flood", flood, shard, 20)

    async with stuck(engine, provider):
        await until(lambda: provider.hanging == 20 * len(others))
        await trigger_in(engine, "flood", flood, last, 20)
        [started] = await trigger_in(engine, "calls", FEW_IN, last)
        await until(lambda: is_completed(sql, started))


async def test_an_execution_walks_on_while_a_call_of_its_batch_hangs(
    stuck_engine: Engine, hanging: HangingProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    [flood] = flood_workspaces(1)
    await stuck_engine.define("flood", HANGS, flood)
    [slow] = await trigger_in(stuck_engine, "flood", flood, Shard(0))
    [quick] = await trigger_in(stuck_engine, "calls", FEW_IN, Shard(0))
    batches = noted_claims(stuck_engine, monkeypatch)

    async with stuck(stuck_engine, hanging):
        await until(lambda: is_completed(sql, quick))
        assert await status_of(sql, slow) == "enqueued"

    assert {slow, quick} in batches


async def test_an_execution_that_cannot_be_released_early_cuts_off_no_call(
    stuck_engine: Engine, hanging: HangingProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    [flood] = flood_workspaces(1)
    await stuck_engine.define("flood", HANGS, flood)
    [slow] = await trigger_in(stuck_engine, "flood", flood, Shard(0))
    [quick] = await trigger_in(stuck_engine, "calls", FEW_IN, Shard(0))
    refused = asyncio.Event()

    async def refuse(kernel: Kernel, shard: Shard, cases: Collection[Case]) -> None:
        if quick in {case.held.lease.id for case in cases}:
            refused.set()
            raise ValueError("what it has learned cannot be stored")
        await release_executions(kernel, shard, cases)

    monkeypatch.setattr(executions, "release_executions", refuse)
    async with stuck(stuck_engine, hanging):
        await until(refused.is_set)
        hanging.let_go.set()
        await until(lambda: is_completed(sql, slow))

    assert await sql.fetchval("select count(*) from outbox where in_doubt") == 0


def noted_claims(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[set[UUID]]:
    """The ids of every batch that is claimed from now on."""
    batches: list[set[UUID]] = []
    claim = engine.claim

    async def note(shard: Shard, lane: Lane, limit: int = 100) -> list[Claimed]:
        claimed = await claim(shard, lane, limit)
        batches.append({lease.id for lease in claimed})
        return claimed

    monkeypatch.setattr(engine, "claim", note)
    return batches


async def is_completed(sql: Sql, id: UUID) -> bool:
    return await status_of(sql, id) == "completed"


# Expensive templates


async def test_a_message_leaves_before_another_tenants_templates_at_the_limit_of_cpu_time(
    live: Engine, provider: FakeProvider, sql: Sql
) -> None:
    object.__setattr__(live.kernel, "renderer", Renderer(cpu_seconds=0.1))
    [flood] = flood_workspaces(1)
    await live.define("flood", AT_THE_LIMIT, flood)
    await live.define("liquid", LIQUID, FEW_IN)
    await trigger_in(live, "flood", flood, Shard(0), 40)
    await trigger_in(live, "liquid", FEW_IN, Shard(0))
    given_up: list[int] = []

    async def note(item: Marked) -> Accepted:
        given_up.append(await sql.fetchval("select count(*) from outbox where tenant_id = 'flood'"))
        return Accepted("m")

    provider.answer = note
    async with running(Worker(live, poll_seconds=HOURS)):
        await until(lambda: given_up)

    assert given_up[0] < 20
