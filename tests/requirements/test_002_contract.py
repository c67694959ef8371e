"""002, the execution contract, at the level of the product: campaigns deployed to contacts, statement by statement."""

import asyncio
import random
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import get_type_hints
from uuid import UUID

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.databases import connected
from tests.http.conftest import Person
from tests.kernel.scenes import assert_kept, plan_runs, until
from tests.requirements.conftest import Json, MakeEngine, Sql
from tests.resources.campaign_scenes import letter
from tidings import Engine
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.flow.item import Channel, Marked, Reserved
from tidings.domain.flow.keys import campaign_key
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Keyed, Provider
from tidings.providers.fake import FakeProvider

ANN = Caller(Workspace("acme", "main"), "ann")
TERMINAL = ("sent", "called", "posted", "failed", "skipped")


async def people(engine: Engine, count: int) -> None:
    given = [{"externalId": f"p{n}", "name": f"P{n}", "email": f"p{n}@example.com"} for n in range(1, count + 1)]
    await engine.contacts.upsert_many(ANN, given)


async def deployed(admin: Person, engine: Engine, count: int = 5, **more: object) -> Json:
    """A run of a new campaign, as the API answers it."""
    await people(engine, count)
    made = (await admin.post("/v1/campaigns", letter(**more))).json()
    answer = await admin.post(f"/v1/campaigns/{made['id']}/deploy")
    assert answer.status_code == 201, answer.text
    run: Json = answer.json()
    return run


async def shown(admin: Person, run: Json) -> Json:
    found: Json = (await admin.get(f"/v1/runs/{run['id']}")).json()
    return found


async def work_on(engine: Engine, clock: ManualClock, admin: Person, run: Json) -> Json:
    """Work until the run has ended, however long that takes."""
    for _ in range(200):
        await engine.work_everything()
        found = await shown(admin, run)
        if found["status"] not in {"queued", "running"}:
            return found
        clock.advance(seconds=31)
    raise AssertionError(found)


def add_up(counts: Json) -> bool:
    return bool(counts["planned"] == sum(number for name, number in counts.items() if name != "planned"))


# A campaign is launched only if …


async def test_002_a_launched_campaign_is_terminal_in_every_part_and_nobody_got_it_twice(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await deployed(admin, engine, 12)

    ended = await work_on(engine, clock, admin, run)

    assert ended["status"] == "completed"
    assert await sql.fetchval("select bool_and(status = any($1)) from channel_outbox", list(TERMINAL))
    assert Counter(call.recipient for call in provider.calls) == {f"p{n}@example.com": 1 for n in range(1, 13)}


# Invariant 1


async def test_002_invariant_1_an_outbox_row_is_queued_before_the_provider_is_called(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, dsn: str
) -> None:
    """Seen from another connection at the very moment of the call: the row is committed and `queued`."""
    seen: list[str | None] = []

    async def look(item: Marked) -> Outcome:
        async with connected(dsn) as another:
            seen.append(await another.fetchval("select status from tidings.channel_outbox where id = $1", item.id))
        return Accepted("m")

    provider.answer = look
    run = await deployed(admin, engine, 3)
    await work_on(engine, clock, admin, run)

    assert seen == ["queued"] * 3


async def test_002_invariant_1_after_the_call_the_row_has_its_terminal_status(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script = {"p1@example.com": [Rejected("550 gone")]}
    run = await deployed(admin, engine, 2)
    await work_on(engine, clock, admin, run)

    rows = await sql.fetch("select recipient, status, provider_message_id is not null from channel_outbox order by 1")
    assert [tuple(row) for row in rows] == [("p1@example.com", "failed", False), ("p2@example.com", "sent", True)]


# Invariant 2


async def test_002_invariant_2_every_row_has_a_deterministic_key_that_is_unique(
    admin: Person, engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    run = await deployed(admin, engine, 6)
    await work_on(engine, clock, admin, run)

    content = await sql.fetchval("select content_id from runs")
    rows = await sql.fetch("select id, contact_id, idempotency_key from outbox")
    assert {row["idempotency_key"] for row in rows} == {
        campaign_key(Channel.EMAIL, UUID(run["id"]), bucket_of_id(row["id"]), str(row["contact_id"]), content, None)
        for row in rows
    }
    assert len(rows) == 6


# Invariant 3


async def test_002_invariant_3_a_job_completes_only_when_all_its_items_are_terminal(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script = {"p1@example.com": [Unknown("cut off")]}
    run = await deployed(admin, engine, 4)
    await engine.work_everything()

    with_doubt = await sql.fetchval("select count(*) from job_queue where status in ('queued', 'locked')")
    await admin.post(f"/v1/runs/{run['id']}/resolve", {"outcome": "failed", "note": "asked them"})
    ended = await work_on(engine, clock, admin, run)

    assert with_doubt == 1
    assert ended["status"] == "partial"
    assert not await sql.fetchval("select count(*) from job_queue where status in ('queued', 'locked')")


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ({}, "completed"),
        ({"p1@example.com": [Rejected("no")]}, "partial"),
        ({f"p{n}@example.com": [Rejected("no")] for n in (1, 2, 3)}, "failed"),
    ],
)
async def test_002_invariants_3_and_4_what_jobs_and_the_run_come_to_follows_from_the_items(
    admin: Person,
    engine: Engine,
    clock: ManualClock,
    provider: FakeProvider,
    answers: dict[str, list[Outcome]],
    status: str,
) -> None:
    provider.script = {name: list(outcomes) for name, outcomes in answers.items()}
    run = await deployed(admin, engine, 3)

    ended = await work_on(engine, clock, admin, run)

    assert ended["status"] == status
    assert add_up(ended["counts"])


# Invariant 4 and the transitions


async def test_002_invariant_4_a_run_is_queued_then_running_then_terminal_and_counts_always_add_up(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    run = await deployed(admin, engine, 6, rate=6)
    seen = [run["status"]]
    for _ in range(60):
        await engine.work_everything()
        now = await shown(admin, run)
        assert add_up(now["counts"])
        seen += [now["status"]] if now["status"] != seen[-1] else []
        clock.advance(seconds=10)

    assert seen == ["queued", "running", "completed"]


async def test_002_never_the_deploy_itself_sets_anything_but_queued(admin: Person, engine: Engine, sql: Sql) -> None:
    run = await deployed(admin, engine, 3)

    assert run["status"] == "queued"
    assert await sql.fetchval("select status from campaign_runs") == "queued"
    assert await sql.fetchval("select count(*) from job_queue") == 0


# Never do


async def test_002_never_a_provider_call_without_an_outbox_row(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await deployed(admin, engine, 5)
    await work_on(engine, clock, admin, run)

    rows = await sql.fetch("select id from channel_outbox")
    assert {call.id for call in provider.calls} == {row["id"] for row in rows}


async def test_002_never_a_key_that_another_try_would_make_anew(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script = {"p1@example.com": [RetryLater("busy"), RetryLater("busy")]}
    run = await deployed(admin, engine, 1)
    await work_on(engine, clock, admin, run)

    assert len(provider.calls) == 3
    assert len({call.key for call in provider.calls}) == 1
    assert len({tuple(call.payload.items()) for call in provider.calls}) == 1


async def test_002_never_a_job_completed_with_items_still_queued(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """The database itself refuses it."""
    await deployed(admin, engine, 3)
    await plan_runs(engine)

    with pytest.raises(asyncpg.CheckViolationError, match="jobs_terminal_check"):
        await sql.execute("update jobs set status = 'completed', ended_at = '2026-03-02'")


# C1


def test_002_c1_a_provider_call_without_a_mark_does_not_type_check() -> None:
    """Checked by `make check`: mypy is strict, so it complains as soon as one of these is no error any more."""

    async def host_application(provider: FakeProvider, row: Reserved) -> None:
        await provider.send(row, lambda: True)  # type: ignore[arg-type]
        await provider.send(Marked(row.id), lambda: True)  # type: ignore[arg-type]
        await provider.send(Marked(), lambda: True)  # type: ignore[call-arg]
        Marked(id=row.id, owner=row.owner, recipient="ada@example.com")  # type: ignore[call-arg]

    assert get_type_hints(FakeProvider.send)["item"] is get_type_hints(Provider.send)["item"] is Marked
    assert callable(host_application)


# C2


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("status = 'delivered', finalized_at = created_at", "channel_outbox_status_check"),
        ("skipped = true", "channel_outbox_skipped_status_check"),
        ("idempotency_key = null", "idempotency_key"),
        (
            "idempotency_key = (select idempotency_key from outbox order by id limit 1)",
            "channel_outbox_idempotency_key",
        ),
    ],
)
async def test_002_c2_an_invalid_outbox_row_is_rejected_by_the_database(
    admin: Person, engine: Engine, sql: Sql, change: str, constraint: str
) -> None:
    await deployed(admin, engine, 12)
    await plan_runs(engine)
    shard = await sql.fetchval("select shard from outbox group by shard having count(*) > 1 limit 1")
    change = change.replace("from outbox", f"from outbox where shard = {shard}")
    last = f"(select id from outbox where shard = {shard} order by id desc limit 1)"

    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match=constraint):
        await sql.execute(f"update outbox set {change} where id = {last}")


# A run that a person stops


@pytest.mark.parametrize("stop", ["pause", "cancel"])
async def test_002_a_run_stopped_before_it_is_planned_accounts_for_everybody_it_is_meant_for(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, stop: str
) -> None:
    run = await deployed(admin, engine, 7)

    await admin.post(f"/v1/runs/{run['id']}/{stop}")
    for _ in range(2):
        await engine.work_everything()
        clock.advance(seconds=31)

    found = await shown(admin, run)
    assert (found["counts"]["planned"], found["counts"]["skipped" if stop == "cancel" else "queued"]) == (7, 7)
    assert add_up(found["counts"])
    assert (found["status"], found["statusText"].split(", ")[1]) == (
        ("completed", "cancelled") if stop == "cancel" else (found["status"], "paused")
    )
    assert provider.calls == []


async def test_002_the_loser_of_two_retries_at_once_gets_409_and_leaves_no_run(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script = {"p1@example.com": [Rejected("550 gone")]}
    run = await deployed(admin, engine, 3)
    await work_on(engine, clock, admin, run)

    answers = await asyncio.gather(*(admin.post(f"/v1/runs/{run['id']}/retry") for _ in range(2)))
    await engine.work_everything()

    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert [row["planned"] for row in await sql.fetch("select planned from runs order by planned desc")] == [3, 1]


# The worst of it, together


def reached(task: "asyncio.Task[int]", sink: Counter[bytes], calls: int) -> bool:
    """Whether so many calls were made, or there is nothing more to do."""
    return task.done() or sink.total() > calls


@pytest.mark.parametrize("seed", [1, 2])
async def test_002_workers_that_die_all_the_time_reach_everybody_exactly_once(
    admin: Person, engine: Engine, make_engine: MakeEngine, clock: ManualClock, sql: Sql, seed: int
) -> None:
    """Workers are cut off in the middle of whatever they do; the provider honours keys, as its sink counts them.

    Each has got some of its results into the database by then: a job that nobody gets any further with is given up
    after a few tries.
    """
    dice = random.Random(seed)
    sink: Counter[bytes] = Counter()

    async def slow(item: Marked) -> Outcome:
        await asyncio.sleep(dice.random() * 0.01)
        sink[item.key] += 1
        return Accepted(item.key.hex())

    run = await deployed(admin, engine, 150)
    for _ in range(12):
        worker = await make_engine(FakeProvider(answer=slow, provider_class=Keyed(timedelta(days=1)), concurrency=5))
        task = asyncio.create_task(worker.work_everything())
        enough = sum(sink.values()) + 30 + dice.randrange(30)
        await until(partial(reached, task, sink, enough))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        clock.advance(minutes=6)
    last = await make_engine(FakeProvider(answer=slow, provider_class=Keyed(timedelta(days=1))))

    ended = await work_on(last, clock, admin, run)

    assert (ended["status"], ended["counts"]["sent"]) == ("completed", 150)
    assert len(sink) == 150  # what the provider let through: one for each key
    assert await sql.fetchval("select count(distinct recipient) from outbox where status = 'sent'") == 150
    await assert_kept(last)
