"""002's own examples: its recovery scenarios (§9) one by one, seen through its trace query (§10) as it is printed."""

from collections import Counter
from typing import Any
from uuid import UUID

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tests.kernel.scenes import assert_kept, claim, crash_in_call, plan_runs
from tests.requirements.conftest import Json, MakeEngine, Sql
from tests.requirements.test_002_contract import deployed, shown, work_on
from tidings import Engine
from tidings.domain.flow.queue import Lane
from tidings.providers.fake import FakeProvider

TRACE = """
-- Full execution trace
SELECT
  cr.id as run_id, cr.status as run_status,
  jq.id as job_id, jq.status as job_status, jq.attempts,
  co.id as outbox_id, co.status as outbox_status, co.provider_message_id
FROM campaign_runs cr
JOIN job_queue jq ON jq.run_id = cr.id
LEFT JOIN channel_outbox co ON co.run_id = cr.id
WHERE cr.campaign_id = 'CAMPAIGN_UUID'
ORDER BY cr.created_at DESC, jq.created_at, co.created_at;
"""


async def trace(sql: Sql, run: Json) -> list[dict[str, Any]]:
    """The query as printed, with the campaign's id where it says so. It pairs each job of a run with each item."""
    return [dict(row) for row in await sql.fetch(TRACE.replace("CAMPAIGN_UUID", run["campaignId"]))]


def items_of(traced: list[dict[str, Any]]) -> Counter[str]:
    return Counter({row["outbox_id"]: row["outbox_status"] for row in traced}.values())


def jobs_of(traced: list[dict[str, Any]]) -> dict[UUID, tuple[str, int]]:
    return {row["job_id"]: (row["job_status"], row["attempts"]) for row in traced}


async def test_002_9_crash_after_outbox_insert_before_provider_call(
    admin: Person, engine: Engine, make_engine: MakeEngine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """The rows are `queued`. 002 would skip them; a row that was never marked was never called for, so it is sent."""
    run = await deployed(admin, engine, 8)
    await plan_runs(engine)
    await claim(engine)  # and the worker dies here
    found = await trace(sql, run)
    elsewhere = FakeProvider()
    other = await make_engine(elsewhere)
    clock.advance(minutes=6)

    ended = await work_on(other, clock, admin, run)

    assert items_of(found) == {"queued": 8}
    assert ended["counts"]["sent"] == len(elsewhere.calls) == len({call.key for call in elsewhere.calls}) == 8
    assert provider.calls == []
    assert items_of(await trace(sql, run)) == {"sent": 8}
    await assert_kept(engine)


async def test_002_9_crash_after_provider_call_before_outbox_update(
    admin: Person, engine: Engine, make_engine: MakeEngine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """The row stays `queued` and nobody is called again; somebody checks the provider's logs and says so."""
    run = await deployed(admin, engine, 3)
    await plan_runs(engine)
    await crash_in_call(engine, provider, calls=1)
    elsewhere = FakeProvider()
    other = await make_engine(elsewhere)
    clock.advance(minutes=6)
    for _ in range(6):
        await other.work_everything()
        clock.advance(minutes=1)

    held, traced = await shown(admin, run), await trace(sql, run)
    doubtful = (await admin.get("/v1/outbox", params={"inDoubt": "true"})).json()["data"]
    called_twice = {item["recipient"] for item in doubtful} & {call.recipient for call in elsewhere.calls}
    for item in doubtful:
        await admin.post(f"/v1/outbox/{item['id']}/resolve", {"outcome": "sent", "note": "the provider's log has it"})
    ended = await work_on(other, clock, admin, run)

    assert held["status"] == traced[0]["run_status"] == "running"
    assert held["statusText"].endswith("in doubt")
    assert items_of(traced)["queued"] == held["counts"]["inDoubt"] == len(doubtful) >= 1
    assert called_twice == set()
    assert (ended["status"], ended["counts"]["sent"]) == ("completed", 3)
    assert items_of(await trace(sql, run)) == {"sent": 3}
    await assert_kept(engine)


async def test_002_9_stale_lock_recovery(
    admin: Person, engine: Engine, make_engine: MakeEngine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """A job that is locked for more than five minutes is taken again with `attempts++`, and its items are sent once."""
    run = await deployed(admin, engine, 4)
    await plan_runs(engine)
    for shard in engine.kernel.every_shard():
        for lease in await engine.claim(shard, Lane.CAMPAIGNS):
            await sql.execute(
                "update jobs set status = 'locked', attempts = 1, started_at = created_at where id = $1", lease.id
            )
    locked = jobs_of(await trace(sql, run))
    elsewhere = FakeProvider()
    other = await make_engine(elsewhere)

    clock.advance(minutes=4, seconds=59)
    await other.work_everything()
    before = len(elsewhere.calls)
    clock.advance(seconds=2)
    ended = await work_on(other, clock, admin, run)

    assert set(locked.values()) == {("locked", 1)}
    assert before == 0
    assert ended["counts"]["sent"] == len(elsewhere.calls) == len({call.key for call in elsewhere.calls}) == 4
    assert set(jobs_of(await trace(sql, run)).values()) == {("completed", 2)}


async def test_002_10_attempts_are_not_added_by_waiting(
    admin: Person, engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    """A job of a run with a rate is claimed for each of its items, and after a pause; all of that is one attempt."""
    run = await deployed(admin, engine, 6, rate=6)
    await engine.work_everything()
    await admin.post(f"/v1/runs/{run['id']}/pause")
    await engine.work_everything()
    await admin.post(f"/v1/runs/{run['id']}/resume")

    await work_on(engine, clock, admin, run)

    assert set(jobs_of(await trace(sql, run)).values()) == {("completed", 1)}


async def test_002_10_the_trace_query_runs_as_printed(
    admin: Person, engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    """Its four tables are there, and what it shows is what the API's trace has."""
    run = await deployed(admin, engine, 5)
    await work_on(engine, clock, admin, run)

    rows = await trace(sql, run)
    traced = (await admin.get(f"/v1/runs/{run['id']}/trace")).json()["data"]
    events = [row["event"] for row in await sql.fetch("select event from campaign_audit_log order by created_at, id")]

    assert list(rows[0]) == [
        *("run_id", "run_status", "job_id", "job_status", "attempts"),
        *("outbox_id", "outbox_status", "provider_message_id"),
    ]
    assert {(str(row["run_id"]), row["run_status"]) for row in rows} == {(run["id"], "completed")}
    assert items_of(rows) == {"sent": 5}
    assert all(row["provider_message_id"] for row in rows)
    assert {str(row["outbox_id"]) for row in rows} == {line["outboxId"] for line in traced}
    assert {"created", "deployed", "running", "completed"} <= set(events)
