"""maxLateness is judged whenever something is about to be marked, whatever it has waited for since it was planned."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock, make_engine
from tests.enrolling import CALLER, HOME, make_contact, make_sequence, set_status, step
from tests.kernel.scenes import Sql, row
from tests.resources.asking import items_of
from tests.resources.campaign_scenes import ANN, deploy, make_contacts
from tidings.domain.flow.item import ItemStatus, Marked
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater
from tidings.engine import Engine, Resolution
from tidings.providers.fake import FakeProvider
from tidings.resources.enrollments import EnrollmentStatus
from tidings.resources.outbox import OutboxFilter
from tidings.storage.database import Database


async def rest(sql: Sql, until: datetime) -> None:
    """Let the provider rest, as if another worker had been told to."""
    await sql.execute(
        "insert into provider_pauses (provider, paused_until, reason) values ('fake', $1, 'busy')"
        " on conflict (provider) do update set paused_until = excluded.paused_until",
        until,
    )


async def reserved(engine: Engine, sql: Sql, clock: ManualClock) -> tuple[UUID, UUID]:
    """A sequence with a step that may be two hours late, and an enrollment whose message waits for its provider."""
    sequence = await make_sequence(engine, step(0, maxLateness="PT2H"), step(9))
    await rest(sql, clock.time + timedelta(minutes=5))
    enrolled = await enroll(engine, sequence)
    await engine.work_everything()
    assert await row(sql, "select status, marked_at from outbox") == ("queued", None)
    return sequence, enrolled


async def enroll(engine: Engine, sequence: UUID, name: str = "ada") -> UUID:
    return (await engine.enrollments.enroll(CALLER, sequence, await make_contact(engine, name))).enrollment.id


async def log_of(engine: Engine, enrollment: UUID) -> list[tuple[str, str | None]]:
    return [(one.status, one.error) for one in await engine.enrollments.logs.of_enrollment(HOME, enrollment)]


@pytest.mark.parametrize("what", ["sequence", "enrollment"])
async def test_what_was_reserved_and_then_paused_for_too_long_is_skipped(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, what: str
) -> None:
    planned = clock.time
    sequence, enrolled = await reserved(engine, sql, clock)

    async def turn(status: str) -> None:
        if what == "sequence":
            await set_status(engine, sequence, status)
        else:
            await engine.enrollments.set_status(CALLER, enrolled, EnrollmentStatus(status))

    await turn("paused")
    for _ in range(3):  # it looks again and again meanwhile, and keeps its plan
        clock.advance(hours=1)
        await engine.work_everything()
    await turn("active")
    await engine.work_everything()

    assert provider.calls == []
    assert await log_of(engine, enrolled) == [
        ("skipped", f"late by 3:00:00: it was planned for {planned.isoformat()}, and may be late by 2:00:00")
    ]
    assert (await engine.enrollments.get(HOME, enrolled)).current_step_index == 1


async def test_what_waited_too_long_for_its_provider_is_skipped_and_what_did_not_is_sent(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    sequence, late = await reserved(engine, sql, clock)
    clock.advance(minutes=70)
    await rest(sql, clock.time + timedelta(minutes=60))
    await engine.work_everything()  # postponed a second time
    other = await enroll(engine, sequence, "ben")
    await engine.work_everything()

    clock.advance(minutes=61)
    await engine.work_everything()

    assert [call.recipient for call in provider.calls] == ["ben@example.com"]
    [(status, error)] = await log_of(engine, late)
    assert (status, (error or "")[:15]) == ("skipped", "late by 2:11:00")
    assert [status for status, _ in await log_of(engine, other)] == ["completed"]


async def test_a_message_that_is_refused_until_it_is_late_is_not_tried_again(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    sequence = await make_sequence(engine, step(0, maxLateness="PT1M"))
    enrolled = await enroll(engine, sequence)
    provider.answer = RetryLater("busy", delay=timedelta(seconds=50), uses_attempt=False)
    for _ in range(4):
        await engine.work_everything()
        clock.advance(seconds=50)

    assert len(provider.calls) == 2
    assert (await log_of(engine, enrolled))[-1][0] == "skipped"
    assert (await engine.enrollments.get(HOME, enrolled)).status == "completed"


async def test_a_message_that_a_person_sends_again_is_never_too_late(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    sequence = await make_sequence(engine, step(0, maxLateness="PT1M"), step(9))
    await enroll(engine, sequence)
    provider.answer = RetryLater("busy")
    await engine.work_everything()
    item = await sql.fetchval("update outbox set in_doubt = true, retry_at = null returning id")
    provider.answer = None
    clock.advance(days=2)
    await engine.work_everything()

    await engine.outbox.resolve(CALLER, item, Resolution.RESEND, "they ask for it")
    await engine.work_everything()

    assert len(provider.calls) == 2
    assert (await engine.outbox.get(HOME, item)).item.status == "sent"


async def test_the_items_of_a_run_are_judged_before_each_mark_as_well(db: Database, clock: ManualClock) -> None:
    """One slot and calls of half a minute: whoever is behind in the same batch is too late when their turn comes."""

    def slow(_: Marked) -> Outcome:
        clock.advance(seconds=30)
        return Accepted("m")

    provider = FakeProvider(concurrency=1, answer=slow)
    engine = await make_engine(db, clock, provider)
    people = [id for id in await make_contacts(engine, 40) if engine.kernel.shard_of(id) == 0][:6]
    await deploy(
        engine,
        maxLateness=75,
        content={"subject": "Hi", "body": "News"},
        audience={"contactIds": [str(id) for id in people]},
    )

    await engine.work_everything()

    skipped = await items_of(engine, ANN.workspace, OutboxFilter(status=ItemStatus.SKIPPED))
    assert len(provider.calls) == 3  # after 0, 30 and 60 seconds
    assert [str(one.error)[:15] for one in skipped] == ["late by 0:01:30"] * 3
    assert [check.name for check in await engine.verify() if check.offences] == []
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()
