"""Who is on the way, and what becomes of them when a new version is published."""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, row
from tests.resources.enrolling import enroll
from tests.stored import TESTER
from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import bucket_of_id
from tidings.domain.sequences.form import InFlightChoice
from tidings.engine import Engine
from tidings.kernel.manage import change_version
from tidings.views.sequences import InFlight, MoveCounts, SequenceStatus, Step
from tidings.views.sequences import Sequence as ShownSequence

ACTIVE = SequenceStatus.ACTIVE
LEAVE, MOVE = InFlightChoice.LEAVE, InFlightChoice.MOVE
DAY = timedelta(days=1)


def step(day: int, **more: Any) -> dict[str, Any]:
    return {"dayOffset": day, "channel": "email", "content": f"Day {day}", **more}


@pytest.fixture
async def drip(engine: Engine, caller: Caller) -> ShownSequence:
    """A published sequence of days 1, 3 and 7."""
    made = await engine.sequences.create(caller, "drip", steps=[step(1), step(3), step(7)])
    return await engine.sequences.update(caller, made.id, status=ACTIVE)


async def stands(sql: Sql, id: UUID) -> tuple[Any, ...]:
    return await row(
        sql,
        "select v.number, e.cursor, e.status, q.due_at from executions e "
        "join workflow_versions v on v.id = e.version_id "
        f"left join queue q on q.shard = e.shard and q.id = e.id where e.id = '{id}'",
    )


async def put_at(sql: Sql, id: UUID, node: str, due_at: datetime, **done: object) -> None:
    """As if the walk had come so far."""
    frontier = json.dumps({"ready": [[node, due_at.isoformat()]], "arrived": [], "dead": []})
    await sql.execute(
        "update executions set frontier = $2, cursor = $3, vars = $4 where id = $1",
        id,
        frontier,
        node,
        json.dumps(done),
    )
    await sql.execute("update queue set due_at = $2 where id = $1", id, due_at)


def in_flight(version: int, step: Step, count: int) -> InFlight:
    return InFlight(version=version, step_id=step.id, step_order=step.step_order, count=count)


# Who is on the way


async def test_it_shows_who_is_in_flight_at_which_step_of_which_version(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence, clock: ManualClock
) -> None:
    people = [await enroll(engine, sql, caller, drip, f"p{number}") for number in range(5)]
    first, second, third = drip.steps
    await put_at(sql, people[0], f"wait_{second.id}", clock.time + DAY)
    await put_at(sql, people[1], str(second.id), clock.time)
    await sql.execute("update executions set status = 'completed', ended_at = now() where id = $1", people[2])
    await engine.sequences.delete_step(caller, drip.id, third.id)
    await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=LEAVE)
    await enroll(engine, sql, caller, drip, "late")

    shown = await engine.sequences.get(caller.workspace, drip.id)

    assert shown.in_flight == [
        in_flight(2, first, 1),
        in_flight(1, first, 2),
        in_flight(1, second, 2),
    ]


async def test_a_new_version_is_not_published_past_those_on_the_way_without_a_word_about_them(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence
) -> None:
    id = await enroll(engine, sql, caller, drip, "ada")
    await engine.sequences.add_step(caller, drip.id, step(9))

    with pytest.raises(Conflict, match=r"1 contacts are on the way through version 1; say inFlight: leave"):
        await engine.sequences.update(caller, drip.id, status=ACTIVE)
    left = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=LEAVE)

    assert left.published is not None
    assert (left.published.version, left.moved) == (2, None)
    assert (await stands(sql, id))[0] == 1


async def test_a_sequence_that_somebody_is_on_the_way_through_is_not_deleted(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence
) -> None:
    id = await enroll(engine, sql, caller, drip, "ada")

    with pytest.raises(Conflict, match="cancel their enrollments first"):
        await engine.sequences.delete(caller, drip.id)
    await sql.execute("update executions set status = 'cancelled', ended_at = now() where id = $1", id)
    await engine.sequences.delete(caller, drip.id)


# Moving


async def test_those_on_the_way_are_moved_to_the_same_step_the_next_one_or_the_end(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence, clock: ManualClock
) -> None:
    first, second, third = drip.steps
    begun = clock.time
    names = ["at first", "at second", "at third", "in Tokyo"]
    people = {name: await enroll(engine, sql, caller, drip, name) for name in names[:3]}
    people["in Tokyo"] = await enroll(engine, sql, caller, drip, "in Tokyo", "Asia/Tokyo")
    await put_at(sql, people["at second"], f"wait_{second.id}", begun + 3 * DAY, **{str(first.id): {"status": "sent"}})
    await put_at(
        sql, people["at third"], f"wait_{third.id}", begun + 7 * DAY, **{str(first.id): {}, str(second.id): {}}
    )

    await engine.sequences.update_step(caller, drip.id, first.id, {"dayOffset": 2, "sendHour": 9})
    await engine.sequences.update_step(caller, drip.id, third.id, {"stepOrder": 1, "dayOffset": 1})
    await engine.sequences.update_step(caller, drip.id, first.id, {"stepOrder": 2})
    await engine.sequences.delete_step(caller, drip.id, second.id)
    done = await engine.sequences.update(
        caller, drip.id, settings={"timezone": "contact"}, status=ACTIVE, in_flight=MOVE
    )

    assert done.moved == MoveCounts(moved=3, completed=1, left=0)
    assert await stands(sql, people["at first"]) == (
        *(2, f"wait_{first.id}", "enqueued"),
        (begun + 2 * DAY).replace(hour=9),
    )
    assert await stands(sql, people["in Tokyo"]) == (
        *(2, f"wait_{first.id}", "enqueued"),
        (begun + 2 * DAY).replace(hour=0),
    )
    assert await stands(sql, people["at second"]) == (2, None, "completed", None)  # first was sent, second is gone
    assert await stands(sql, people["at third"]) == (2, f"wait_{third.id}", "enqueued", begun + DAY)
    assert done.in_flight == [
        InFlight(version=2, step_id=third.id, step_order=1, count=1),
        InFlight(version=2, step_id=first.id, step_order=2, count=2),
    ]
    assert await row(sql, "select detail from audit_log where event = 'moved'") == (
        '{"left": 0, "moved": 3, "version": 2, "completed": 1}',
    )


async def test_whoever_a_worker_holds_is_left_and_moved_when_it_is_asked_for_again(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence
) -> None:
    held, free = [await enroll(engine, sql, caller, drip, name) for name in ("held", "free")]
    await sql.execute("update queue set leased = true, fence = fence + 1 where id = $1", held)
    await engine.sequences.update_step(caller, drip.id, drip.steps[0].id, {"dayOffset": 0})

    first = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE)
    assert first.moved == MoveCounts(moved=1, left=1)
    assert [(await stands(sql, id))[0] for id in (held, free)] == [1, 2]

    await sql.execute("update queue set leased = false where id = $1", held)
    again = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE)
    nothing = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE)

    assert again.moved == MoveCounts(moved=1)
    assert nothing.moved == MoveCounts()
    assert nothing.published is not None
    assert nothing.published.version == 2
    assert (await stands(sql, held))[0] == 2


async def test_whose_message_is_under_way_is_left_when_its_step_is_gone(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence, clock: ManualClock
) -> None:
    first = drip.steps[0]
    id = await enroll(engine, sql, caller, drip, "ada")
    await put_at(sql, id, str(first.id), clock.time)
    await sql.execute(
        "insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, ordinal, channel, "
        "provider, recipient, payload, status, idempotency_key, created_at) "
        "select shard, $2, tenant_id, workspace_id, id, $3, 1, 0, 'email', "
        "'fake', 'a@example.com', '{}', 'queued', place_of(id) || substr(sha256('k'), 1, 24), created_at "
        "from executions where id = $1",
        *(id, engine.kernel.new_id(bucket_of_id(id), clock.time), str(first.id)),
    )
    await engine.sequences.delete_step(caller, drip.id, first.id)

    gone = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE)
    assert gone.moved == MoveCounts(left=1)
    await sql.execute("update outbox set status = 'sent', finalized_at = now()")
    after = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE)

    assert after.moved == MoveCounts(moved=1)
    assert (await stands(sql, id))[:2] == (2, f"wait_{drip.steps[1].id}")


async def test_what_was_done_on_the_version_before_stays_in_the_log(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence, clock: ManualClock
) -> None:
    first, second, _ = drip.steps
    id = await enroll(engine, sql, caller, drip, "ada")
    await put_at(sql, id, f"wait_{second.id}", clock.time + DAY, **{str(first.id): {"status": "sent"}})
    await sql.execute(
        "insert into execution_log (shard, execution_id, tenant_id, workspace_id, node, visit, status, at) "
        "select shard, id, tenant_id, workspace_id, $2, 1, 'completed', created_at from executions where id = $1",
        *(id, f"wait_{first.id}"),
    )
    await engine.sequences.delete_step(caller, drip.id, first.id)

    await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE)

    log = await engine.executions.log(caller.workspace, id)
    assert [(line.node, line.kind) for line in log] == [(f"wait_{first.id}", "delay")]


async def test_who_is_cancelled_is_not_moved_and_who_is_paused_stays_paused(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence
) -> None:
    paused, cancelled = [await enroll(engine, sql, caller, drip, name) for name in ("paused", "cancelled")]
    await engine.executions.pause(TESTER, paused)
    await engine.executions.cancel(TESTER, cancelled)
    await engine.sequences.add_step(caller, drip.id, step(9))

    done = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE)
    await engine.work_everything()

    assert done.moved == MoveCounts(moved=1)
    assert (await stands(sql, paused))[:3] == (2, f"wait_{drip.steps[0].id}", "paused")
    assert (await stands(sql, cancelled))[:3] == (1, None, "cancelled")


async def test_many_are_moved_in_batches_and_told_of(
    engine: Engine, caller: Caller, sql: Sql, drip: ShownSequence, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(23):
        await enroll(engine, sql, caller, drip, f"p{number}")
    monkeypatch.setattr(change_version, "BATCH", 2)
    await engine.sequences.add_step(caller, drip.id, step(9))
    told: list[MoveCounts] = []

    done = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE, on_progress=told.append)

    assert done.moved == told[-1] == MoveCounts(moved=23)
    assert len(told) >= 12
    assert await row(
        sql, "select count(*) from executions e join workflow_versions v on v.id = e.version_id where v.number = 2"
    ) == (23,)


async def test_nobody_elses_enrollments_are_counted_or_moved(
    engine: Engine, caller: Caller, stranger: Caller, sql: Sql, drip: ShownSequence
) -> None:
    theirs = await engine.sequences.create(stranger, "drip", steps=[step(1)])
    theirs = await engine.sequences.update(stranger, theirs.id, status=ACTIVE)
    id = await enroll(engine, sql, stranger, theirs, "eve")
    await engine.sequences.add_step(caller, drip.id, step(9))

    done = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=MOVE)

    assert (done.moved, done.in_flight) == (MoveCounts(), [])
    assert (await stands(sql, id))[0] == 1
