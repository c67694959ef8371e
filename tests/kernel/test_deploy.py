"""Deploy: a run's audience becomes jobs and items, chunk by chunk, each person once."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    deploy,
    plan_runs,
    row,
    with_lossy_database,
    work,
    work_leases,
    work_once,
)
from tests.resources.campaign_scenes import deploy as deploy_campaign
from tests.resources.campaign_scenes import make_contacts
from tests.stored import stored_run
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Channel
from tidings.engine import Engine
from tidings.kernel.campaigns import plan_audience as kernel_deploy
from tidings.kernel.campaigns.start_run import Recipient
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider
from tidings.storage.load import load_runs

SMALL = Limits(job_size=3)


async def test_rule_10_each_chunk_commits_its_job_its_items_and_the_cursor_together(
    make_worker: MakeWorker, sql: Sql
) -> None:
    engine = await make_worker(SMALL)
    await deploy(engine, 20)

    await plan_runs(engine)

    assert await sql.fetchval("select bool_and(planned <= 3) from jobs")
    assert await row(sql, "select sum(planned)::int, bool_and(finished) from run_parts") == (20, True)
    assert await row(sql, "select count(*), count(distinct ordinal) from outbox") == (20, 20)
    assert await sql.fetchval("select count(*) from jobs where id not in (select id from queue)") == 0


async def test_rule_10_planned_is_null_until_the_last_chunk_and_no_run_is_terminal_before(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await make_worker(SMALL)
    run = await deploy(engine, 20)
    original = kernel_deploy._deploy_chunk

    async def slow(*arguments: object) -> None:
        await original(*arguments)  # type: ignore[arg-type]
        clock.advance(minutes=4)  # one chunk is all that fits into a claim

    monkeypatch.setattr(kernel_deploy, "_deploy_chunk", slow)
    seen: list[tuple[int | None, RunStatus]] = [(None, RunStatus.QUEUED)]
    while seen[-1][0] is None and len(seen) < 30:
        await plan_runs(engine)
        await work_once(engine)
        shown = await stored_run(engine, run)
        seen.append((shown.run.planned, shown.run.status))

    assert {status for planned, status in seen if planned is None} <= {RunStatus.QUEUED, RunStatus.RUNNING}
    assert len(seen) > 2
    assert seen[-1][0] == 20


def post(account: str, id: object = None) -> Recipient:
    return Recipient(account, {"post": {"body": f"Post {id}"} | ({} if id is None else {"id": id})})


async def test_a_post_goes_to_an_account_once_however_often_a_list_names_both(
    engine: Engine, provider: FakeProvider
) -> None:
    posts = [post(account, id) for id in (1, "two") for account in ("Acme", "acme")]
    nameless = [post("acme"), post("acme"), post("acme", ""), Recipient("acme", {}), Recipient("acme", {})]
    run = await deploy(engine, channel=Channel.SOCIAL, content={"body": "-"}, recipients=[*posts * 20, *nameless])

    await work(engine)

    sent = Counter((call.recipient, call.payload["body"]) for call in provider.calls)
    once = {(account, f"Post {id}"): 1 for id in (1, "two") for account in ("Acme", "acme")}
    assert sent == once | {("acme", "Post None"): 2, ("acme", "Post "): 1, ("acme", "-"): 2}
    shown = (await stored_run(engine, run)).run
    assert (shown.status, shown.planned) == (RunStatus.COMPLETED, 9)


async def test_a_list_that_was_stored_with_repeats_of_a_post_ends(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    run = await deploy(engine, channel=Channel.SOCIAL, content={"body": "-"}, recipients=[post("a", 1), post("b", 1)])
    await sql.execute("insert into audience select shard, run_id, ordinal + 100, recipient, data from audience")

    await work(engine)

    assert sorted(call.recipient for call in provider.calls) == ["a", "b"]
    shown = (await stored_run(engine, run)).run
    assert (shown.status, shown.planned) == (RunStatus.COMPLETED, 2)


async def test_rule_10_two_workers_on_the_same_run_plan_nobody_twice(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    engine, other = await make_worker(SMALL), await make_worker(SMALL)
    await deploy(engine, 20)
    zombie = await claim(engine)
    clock.advance(minutes=6)
    current = await claim(other)

    await work_leases(other, current)
    await work_leases(engine, zombie)
    await work(other)

    assert await row(sql, "select count(*), count(distinct ordinal) from outbox") == (20, 20)
    assert len(provider.calls) == 20
    await assert_kept(engine)


@pytest.mark.parametrize("source", ["list", "contacts"])
async def test_rule_10_a_chunk_that_others_have_left_behind_is_not_written_and_moves_no_cursor_back(
    make_worker: MakeWorker, sql: Sql, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    engine = await make_worker(Limits(job_size=1))
    kernel, shard = engine.kernel, Shard(0)
    if source == "contacts":
        await make_contacts(engine, 200)
    id = await (deploy(engine, 60) if source == "list" else deploy_campaign(engine))
    run = (await kernel.db.persist(lambda tx: load_runs(tx, shard=kernel.shard_of(id), ids=[id])))[id]
    read = kernel_deploy._read_chunk
    state = "select planned, cursor, cursor_id, (select count(*) from jobs) from run_parts where shard = 0"
    before: list[tuple[Any, ...]] = []

    async def read_and_freeze(*arguments: Any) -> Any:
        chunk = await read(*arguments)
        monkeypatch.setattr(kernel_deploy, "_read_chunk", read)
        for _ in range(2):  # another worker goes on meanwhile
            part = await kernel_deploy._load_part(kernel, shard, id)
            await kernel_deploy._deploy_chunk(kernel, shard, run, part)
        before.append(await row(sql, state))
        return chunk

    monkeypatch.setattr(kernel_deploy, "_read_chunk", read_and_freeze)
    await kernel_deploy._deploy_chunk(kernel, shard, run, await kernel_deploy._load_part(kernel, shard, id))

    assert before[0][0] > 0
    assert await row(sql, state) == before[0]


@pytest.mark.parametrize("when", ["after", "before"])
async def test_rule_10_a_chunk_whose_commit_is_unknown_is_written_once(
    make_worker: MakeWorker, sql: Sql, when: str
) -> None:
    engine = await make_worker(SMALL)
    await deploy(engine, 20)
    lossy = with_lossy_database(engine, lose=lambda count: count % 3 == 0, when=when)

    await work_leases(lossy, await claim(engine))

    assert await row(sql, "select count(*), count(distinct ordinal) from outbox") == (20, 20)
    assert await sql.fetchval("select sum(planned) from jobs") == 20
    assert await sql.fetchval("select planned from runs") == 20


async def test_a_worker_that_dies_half_way_through_an_audience_is_followed_by_one_that_goes_on(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await make_worker(SMALL)
    await deploy(engine, 20)
    original, chunks = kernel_deploy._deploy_chunk, [0]

    async def deadly(*arguments: object) -> None:
        chunks[0] += 1
        if chunks[0] == 3:
            raise RuntimeError("dies here")
        await original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(kernel_deploy, "_deploy_chunk", deadly)
    with pytest.raises(RuntimeError):
        await plan_runs(engine)
    await assert_kept(engine)
    clock.advance(minutes=6)
    await work(engine)

    assert await row(sql, "select count(*), count(distinct ordinal) from outbox") == (20, 20)
    assert len(provider.calls) == 20


async def test_a_run_with_nobody_in_some_shards_ends_like_any_other(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await deploy(engine, 1)

    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    shown = await stored_run(engine, run)
    assert (shown.run.status, shown.run.planned, len(provider.calls)) == (RunStatus.COMPLETED, 1, 1)
    assert await sql.fetchval("select count(*) from run_parts") == 1


async def test_a_run_scheduled_for_later_plans_and_calls_nobody_before(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await deploy(engine, 3, scheduled_for=clock.time + timedelta(hours=2))

    await work(engine)
    before = (len(provider.calls), await sql.fetchval("select count(*) from outbox"))
    clock.advance(hours=2)
    await work(engine)

    assert before == (0, 0)
    assert len(provider.calls) == 3


async def test_rule_12_a_run_with_a_rate_spreads_its_jobs(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    engine = await make_worker(SMALL)
    await deploy(engine, 40, rate_per_minute=12)

    await plan_runs(engine)

    spread = "select max(due_at) - min(due_at) from queue where kind = 'job'"
    assert await sql.fetchval(spread) >= timedelta(minutes=2)
    await work(engine)
    assert len(provider.calls) <= 12
