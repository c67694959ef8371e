"""A page of a run's items costs what the page costs, and the pages together are the run."""

from uuid import UUID, uuid4

import pytest

from tests.storage.test_plans import ANY_ID, MODES, Sql, as_a_worker, buffers, explain
from tests.storage.test_young_statistics import rows_touched
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.flow.outcome import Rejected
from tidings.domain.flow.queue import Lane
from tidings.engine import Deployment, Engine, Recipient
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import OutboxFilter
from tidings.resources.run_retry import RetryFilter
from tidings.storage.statements import load

HOME = Workspace()
ANN = Caller(HOME, "ann")
CONTENT = {"subject": "Hi", "body": "Hi"}
MANY, LIMIT = 4_000, 50
STRAY = """
select count(*) from outbox o join jobs j on j.shard = o.shard and j.id = o.job_id
 where left(o.id::text, 18) <> left(j.id::text, 18)
"""


async def deploy_to_list(engine: Engine, count: int) -> UUID:
    people = [Recipient(f"p{number}@example.com") for number in range(count)]
    return (await engine.deploy(Deployment(uuid4(), uuid4().hex, Channel.EMAIL, CONTENT, people), HOME)).id


async def deploy_to_contacts(engine: Engine, count: int) -> UUID:
    people = [{"externalId": f"c{number}", "email": f"c{number}@example.com"} for number in range(count)]
    await engine.contacts.upsert_many(ANN, people)
    given = {"name": "news", "channel": "email", "content": CONTENT, "audience": {"all": True}}
    return (await engine.campaigns.deploy(ANN, (await engine.campaigns.create(ANN, given)).id)).id


async def plan(engine: Engine, run: UUID) -> None:
    while (await engine.runs.get(HOME, run)).planning:
        for shard in engine.kernel.every_shard():
            await engine.work(shard, Lane.RUNS)


async def pages(engine: Engine, run: UUID, limit: int, status: ItemStatus | None = None) -> list[UUID]:
    ids: list[UUID] = []
    cursor: str | None = None
    while True:
        where = OutboxFilter(run_id=run, status=status)
        page = await engine.outbox.list(HOME, where, limit=limit, cursor=cursor)
        ids += [item.id for item in page.items]
        if (cursor := page.next_cursor) is None:
            return ids


async def test_the_pages_of_a_run_are_its_items_newest_first_wherever_its_people_come_from(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    provider.script |= {f"c{number}@example.com": [Rejected("no such mailbox")] for number in range(10)}
    runs = [await deploy_to_list(engine, 30), await deploy_to_contacts(engine, 30)]
    await engine.work_everything()
    retried = (await engine.runs.retry(ANN, runs[1], RetryFilter())).run
    assert retried is not None
    runs.append(retried.id)
    await engine.work_everything()

    for run in runs:
        ids = [row["id"] for row in await sql.fetch("select id from outbox where run_id = $1 order by id desc", run)]
        assert len(ids) in {10, 30}
        assert await pages(engine, run, limit=7) == ids
        for status in ItemStatus:
            assert await pages(engine, run, 7, status) == await with_status(sql, run, status)
    assert await sql.fetchval(STRAY) == 0, "a page looks between the ids of a run's jobs"
    assert await pages(engine, uuid4(), limit=7) == []


async def with_status(sql: Sql, run: UUID, status: ItemStatus) -> list[UUID]:
    found = await sql.fetch("select id from outbox where run_id = $1 and status = $2 order by id desc", run, status)
    return [row["id"] for row in found]


@pytest.mark.parametrize("every", [2, 1_000], ids=["often", "rarely"])
async def test_the_pages_of_what_failed_in_a_run_are_what_failed_however_often(
    engine: Engine, provider: FakeProvider, sql: Sql, every: int
) -> None:
    provider.script |= {f"p{number}@example.com": [Rejected("no")] for number in range(0, MANY, every)}
    run = await deploy_to_list(engine, MANY)
    await plan(engine, run)
    await engine.work(Shard(0), Lane.CAMPAIGNS)
    await engine.work_everything()
    assert await sql.fetchval("select count(distinct job_id) from outbox") > 4

    for status in (ItemStatus.FAILED, ItemStatus.SENT):
        assert await pages(engine, run, 300, status) == await with_status(sql, run, status)


@pytest.mark.parametrize(("status", "most"), [("queued", LIMIT), ("failed", 500), ("skipped", 0)])
async def test_a_page_with_a_status_looks_only_into_jobs_that_have_it(
    engine: Engine, provider: FakeProvider, sql: Sql, owner_dsn: str, status: str, most: int
) -> None:
    """Of what is rare the jobs that have it are read, of what is frequent a page, and nothing where there is none."""
    run = await deploy_to_list(engine, MANY)
    await plan(engine, run)
    [job] = await sql.fetch("select shard, id from jobs where shard = 0 order by id limit 1")
    [item] = await sql.fetch("select id from outbox where shard = 0 and job_id = $1 limit 1", job["id"])
    await sql.execute("update outbox set status = 'failed', finalized_at = created_at where id = $1", item["id"])
    await sql.execute("update jobs set failed = 1 where id = $1", job["id"])
    await sql.execute("analyze")
    values: dict[str, str | None] = {"tenant": HOME.tenant, "workspace": HOME.name, "run_id": str(run), **ANY_ID}
    values |= {"limit": str(LIMIT), "shard": "0", "status": status, "channel": None, "in_doubt": None}

    async with as_a_worker(owner_dsn) as session:
        for mode in MODES:
            page = await explain(session, load("items")["list_outbox_of_run_by_status"], values, mode)
            assert page["Actual Rows"] == {"queued": LIMIT, "failed": 1, "skipped": 0}[status], mode
            assert rows_touched(page) <= max(2 * LIMIT, most + LIMIT), mode


@pytest.mark.parametrize("analyzed", [False, True])
async def test_a_page_of_a_run_does_not_read_the_run(engine: Engine, sql: Sql, owner_dsn: str, analyzed: bool) -> None:
    run = await deploy_to_list(engine, MANY)
    await plan(engine, run)
    if analyzed:
        await sql.execute("analyze")
    values = {"tenant": HOME.tenant, "workspace": HOME.name, "run_id": str(run), "limit": str(LIMIT), **ANY_ID}

    async with as_a_worker(owner_dsn) as session:
        for shard in range(4):
            for mode in MODES:
                page = await explain(
                    session, load("items")["list_outbox_of_run"], {**values, "shard": str(shard)}, mode
                )
                assert page["Actual Rows"] == LIMIT, (shard, mode)
                assert rows_touched(page) <= 2 * LIMIT, (shard, mode)
                assert buffers(page) <= 4 * LIMIT, (shard, mode)
