"""A sequence on the real kernel: each message on its day, at its hour, to the contact as it is then."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql
from tests.resources.asking import executions_of, items_of
from tests.resources.enrolling import enroll
from tidings.domain.caller import Caller
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.outcome import Rejected
from tidings.domain.sequences.form import InFlightChoice, SequenceStatus
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import OutboxFilter
from tidings.resources.sequences import ShownSequence

ACTIVE = SequenceStatus.ACTIVE


async def publish(engine: Engine, caller: Caller, *steps: dict[str, Any], **settings: Any) -> ShownSequence:
    made = await engine.sequences.create(caller, "drip", settings, steps)
    return await engine.sequences.update(caller, made.id, status=ACTIVE)


def step(day: int, **more: Any) -> dict[str, Any]:
    return {"dayOffset": day, "channel": "email", "content": f"Day {day}", **more}


async def run_until(engine: Engine, clock: ManualClock, end: datetime) -> None:
    """Work whatever is due, and jump from one due time to the next."""
    while True:
        await engine.work_everything()
        due = [at for shard in engine.kernel.every_shard() for at in (await engine.next_due(shard)).values()]
        if not due or min(due) > end:
            return
        clock.time = max(clock.time, min(due))


async def sent(engine: Engine, caller: Caller) -> dict[str, list[datetime]]:
    found: dict[str, list[datetime]] = {}
    for one in await items_of(engine, caller.workspace, OutboxFilter(status=ItemStatus.SENT)):
        if one.finalized_at:
            found.setdefault(one.recipient.partition("@")[0], []).append(one.finalized_at)
    return {name: sorted(times) for name, times in found.items()}


async def test_days_0_3_and_7_arrive_at_nine_in_everybodys_own_morning_across_a_change_of_clocks(
    engine: Engine, caller: Caller, sql: Sql, clock: ManualClock
) -> None:
    zones = {"berlin": "Europe/Berlin", "york": "America/New_York", "tokyo": "Asia/Tokyo", "sydney": "Australia/Sydney"}
    clock.time = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)  # Berlin changes its clocks on the 29th, Sydney on April 5
    drip = await publish(
        engine,
        caller,
        *(step(day, sendHour=9, content="Hi {{ contact.name }}") for day in (1, 3, 10)),
        timezone="contact",
    )
    for name, zone in zones.items():
        await enroll(engine, sql, caller, drip, name, zone)

    await run_until(engine, clock, clock.time + timedelta(days=30))

    times = await sent(engine, caller)
    began = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)
    for name, zone in zones.items():
        local = [at.astimezone(ZoneInfo(zone)) for at in times[name]]
        first = began.astimezone(ZoneInfo(zone)).date()
        assert [(at.hour, at.minute) for at in local] == [(9, 0)] * 3
        assert [(at.date() - first).days for at in local] == [1, 3, 10]
    assert [one.status for one in await executions_of(engine, caller.workspace)] == ["completed"] * 4
    assert len(await items_of(engine, caller.workspace)) == 12


async def test_a_step_that_fails_is_logged_and_the_next_one_comes_unless_the_sequence_stops(
    engine: Engine, caller: Caller, sql: Sql, clock: ManualClock, provider: FakeProvider
) -> None:
    drip = await publish(engine, caller, step(0), step(1), onStepFailure="continue")
    stops = await engine.sequences.create(caller, "stops", {"onStepFailure": "stop"}, [step(0), step(1)])
    stops = await engine.sequences.update(caller, stops.id, status=ACTIVE)
    await enroll(engine, sql, caller, drip, "ada")
    await enroll(engine, sql, caller, stops, "eve")
    provider.script = {f"{name}@example.com": [Rejected("no such mailbox")] for name in ("ada", "eve")}

    await run_until(engine, clock, clock.time + timedelta(days=3))

    items = sorted(await items_of(engine, caller.workspace), key=lambda one: (one.recipient, one.created_at))
    assert [(one.recipient, one.status, one.error) for one in items] == [
        ("ada@example.com", "failed", "no such mailbox"),
        ("ada@example.com", "sent", None),
        ("eve@example.com", "failed", "no such mailbox"),
    ]
    assert {one.status for one in await executions_of(engine, caller.workspace)} == {"completed", "failed"}


async def test_who_was_moved_goes_on_by_the_new_version_and_gets_no_step_twice(
    engine: Engine, caller: Caller, sql: Sql, clock: ManualClock
) -> None:
    drip = await publish(engine, caller, step(0), step(3), step(7))
    begun = clock.time
    await enroll(engine, sql, caller, drip, "ada")
    await run_until(engine, clock, begun + timedelta(days=4))
    first, second, third = (UUID(one.id) for one in drip.steps)

    # The first two change places behind the third, and a new one comes last.
    await engine.sequences.update_step(caller, drip.id, third, {"stepOrder": 1, "dayOffset": 5, "content": "New third"})
    await engine.sequences.update_step(caller, drip.id, second, {"stepOrder": 2, "dayOffset": 6})
    await engine.sequences.update_step(caller, drip.id, first, {"stepOrder": 3, "dayOffset": 6})
    await engine.sequences.add_step(caller, drip.id, step(9, content="Last"))
    moved = await engine.sequences.update(caller, drip.id, status=ACTIVE, in_flight=InFlightChoice.MOVE)
    await run_until(engine, clock, begun + timedelta(days=30))

    assert moved.moved is not None
    assert moved.moved.moved == 1
    rows = await sql.fetch("select payload ->> 'body' as body, finalized_at from outbox order by created_at")
    assert [(one["body"], (one["finalized_at"] - begun).days) for one in rows] == [
        ("Day 0", 0),
        ("Day 3", 3),
        ("New third", 5),
        ("Last", 9),
    ]
    assert [check.name for check in await engine.verify() if check.offences] == []


async def test_an_execution_and_its_enrollment_count_the_same_steps(
    engine: Engine, caller: Caller, sql: Sql, clock: ManualClock
) -> None:
    id = await enroll(engine, sql, caller, await publish(engine, caller, step(0), step(3)), "ada")

    async def counted() -> tuple[int, int, int]:
        execution = await engine.executions.get(caller.workspace, id)
        enrollment = await engine.enrollments.get(caller.workspace, id)
        return execution.current_step, execution.total_steps, enrollment.current_step_index

    before = await counted()
    await engine.work_everything()
    between = await counted()
    await run_until(engine, clock, clock.time + timedelta(days=9))

    assert (before, between, await counted()) == ((0, 2, 0), (1, 2, 1), (1, 2, 1))


async def test_the_reason_of_an_enrollment_names_the_step_that_failed_by_its_number(
    engine: Engine, caller: Caller, sql: Sql, clock: ManualClock, provider: FakeProvider
) -> None:
    drip = await publish(engine, caller, step(0), step(1), onStepFailure="stop")
    id = await enroll(engine, sql, caller, drip, "ada")
    await engine.work_everything()
    provider.answer = Rejected("no such mailbox")

    await run_until(engine, clock, clock.time + timedelta(days=9))

    reason = (await engine.enrollments.get(caller.workspace, id)).reason
    assert reason is not None
    assert reason.startswith("step 2 of 2 failed: ")
