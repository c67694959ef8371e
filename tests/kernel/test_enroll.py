"""Enrolling by the thousand: once each, in chunks that may be repeated, whoever else is at it."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock, make_engine
from tests.enrolling import (
    CALLER,
    HOME,
    NEIGHBOUR,
    RIVAL,
    ids,
    make_contact,
    make_contacts,
    make_sequence,
    set_status,
    step,
    texts,
    work_until,
)
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import Sql, assert_kept, listening, until, with_lossy_database
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Bucket, enrollment_id, make_id, milliseconds_of
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.kernel.kernel import Limits
from tidings.kernel.start import enroll, enroller
from tidings.kernel.start.enroller import Enroller, Enrolling, OpenSequence
from tidings.providers.fake import FakeProvider
from tidings.resources.enrollments import EnrollmentFilter
from tidings.storage.audience import Picked
from tidings.storage.database import Database
from tidings.views.enrollments import EnrolledContact as Enrolled
from tidings.views.enrollments import EnrollmentStatus


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of seven: what goes on over many of them shows with few contacts."""
    monkeypatch.setattr(enroller, "CHUNK", 7)
    monkeypatch.setattr(enroll, "CHUNK", 7)
    monkeypatch.setattr(enroll, "LOOK_CHUNK", 5)


async def enrolled(sql: Sql, sequence: UUID) -> list[tuple[UUID, str]]:
    rows = await sql.fetch(
        "select e.contact_id, e.idempotency_key from executions e join queue q on q.shard = e.shard and q.id = e.id"
        " where e.workflow_id = $1 and q.lane = 1 order by 1, 2",
        sequence,
    )
    return [(row["contact_id"], row["idempotency_key"]) for row in rows]


class Crash(Exception):
    """The process ends here."""


# Once each


@pytest.mark.usefixtures("small_chunks")
async def test_everybody_is_enrolled_once_over_many_chunks(engine: Engine, sql: Sql) -> None:
    people = await make_contacts(engine, 60)
    sequence = await make_sequence(engine)

    first = await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})
    again = await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})

    assert (first.enrolled, first.skipped) == (60, 0)
    assert (again.enrolled, again.already_enrolled) == (0, 60)
    assert await enrolled(sql, sequence) == sorted((id, f"{id}:1") for id in people)


async def test_an_enrollment_is_in_its_contact_s_bucket_and_in_the_lane_of_sequences(
    engine: Engine, sql: Sql, clock: ManualClock
) -> None:
    await make_contacts(engine, 20)
    sequence = await make_sequence(engine, step(2, 14))

    await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})

    rows = await sql.fetch(
        "select e.*, q.lane, q.due_at, q.kind from executions e join queue q on q.shard = e.shard and q.id = e.id"
    )
    assert len(rows) == 20
    due_at = (clock.time + timedelta(days=2)).replace(hour=14)
    for row in rows:
        assert row["id"].int >> 64 & 0xFFF == row["contact_id"].int >> 64 & 0xFFF
        assert (row["lane"], row["kind"], row["due_at"]) == (Lane.SEQUENCES, "execution", due_at)
        assert (row["status"], row["input"], row["created_at"]) == (ExecutionStatus.ENQUEUED, "{}", clock.time)
    await assert_kept(engine)


async def test_sql_and_python_make_the_same_id(engine: Engine, sql: Sql, clock: ManualClock) -> None:
    for number in (1, 2, 17):
        contact = make_id(Bucket(number * 7), clock.time, 2**61 + number)
        made = enrollment_id(contact, number, "a salt", clock.time)
        in_sql = await sql.fetchval(
            "select enrollment_id($1, $2, $3, 'a salt')", milliseconds_of(clock.time), contact, str(number)
        )
        assert made == in_sql
        assert made.version == 7


@pytest.mark.usefixtures("small_chunks")
async def test_fifty_who_enroll_the_same_audience_at_once_enroll_nobody_twice(
    engine: Engine, make_worker: MakeWorker, sql: Sql
) -> None:
    people = await make_contacts(engine, 40)
    sequence = await make_sequence(engine)
    others = [await make_worker(Limits()) for _ in range(4)]

    results = await asyncio.gather(
        *(
            others[number % 4].enrollments.batch_enroll(
                CALLER,
                sequence,
                {"all": True} if number % 2 else {"contactIds": ids(people[::-1])},
            )
            for number in range(50)
        )
    )

    assert sum(one.enrolled for one in results) == 40
    assert {one.enrolled + one.skipped for one in results} == {40}
    assert await enrolled(sql, sequence) == sorted((id, f"{id}:1") for id in people)


# Crashes and lost answers


@pytest.mark.usefixtures("small_chunks")
async def test_after_a_crash_between_chunks_a_repeat_enrolls_only_the_rest(engine: Engine, sql: Sql) -> None:
    await make_contacts(engine, 60)
    sequence = await make_sequence(engine)

    def die(done: enroll.Enrolling) -> None:
        if done.enrolled >= 20:
            raise Crash

    with pytest.raises(Crash):
        await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True}, on_progress=die)
    before = len(await enrolled(sql, sequence))
    rest = await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})

    assert 20 <= before < 60
    assert (rest.enrolled, rest.already_enrolled) == (60 - before, before)
    assert len(await enrolled(sql, sequence)) == 60


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("audience", [{"all": True}, {"tag": "vip", "excludeContactIds": ["outsider"]}])
async def test_an_answer_that_is_lost_changes_neither_the_rows_nor_the_count(
    engine: Engine, sql: Sql, when: str, audience: dict[str, object]
) -> None:
    people = await make_contacts(engine, 30, tags=["vip"])
    if "excludeContactIds" in audience:
        await make_contact(engine, "outsider")
    sequence = await make_sequence(engine)
    lossy = with_lossy_database(engine, lose=lambda count: count % 3 == 0, when=when)

    done = await lossy.enrollments.batch_enroll(CALLER, sequence, audience)

    assert (done.enrolled, done.skipped) == (30, 0)
    assert await enrolled(sql, sequence) == sorted((id, f"{id}:1") for id in people)


# Times


async def test_each_contact_s_first_time_is_by_its_own_clocks(engine: Engine, sql: Sql, clock: ManualClock) -> None:
    zones = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", None, "UTC"]
    for number, zone in enumerate(zones):
        await make_contact(engine, f"z{number}", timeZone=zone)
    sequence = await make_sequence(engine, step(1, 9), timezone="contact")

    await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})

    rows = await sql.fetch(
        "select c.time_zone, q.due_at, e.frontier #>> '{ready,0,1}' as planned from executions e"
        " join queue q on q.id = e.id join contacts c on c.id = e.contact_id"
    )
    midnight = (clock.time + timedelta(days=1)).replace(hour=0)
    hours = {"Europe/Berlin": 8.0, "America/New_York": 14.0, "Asia/Kolkata": 3.5, None: 9.0, "UTC": 9.0}
    assert {row["time_zone"]: row["due_at"] for row in rows} == {
        zone: midnight + timedelta(hours=hour) for zone, hour in hours.items()
    }
    assert all(row["planned"] == row["due_at"].isoformat() for row in rows)


# Coming again


async def test_a_contact_comes_again_only_where_that_is_allowed_and_when_it_has_ended(
    engine: Engine, sql: Sql, provider: FakeProvider
) -> None:
    [ada] = await make_contacts(engine, 1)
    once = await make_sequence(engine, step(0), name="once")
    often = await make_sequence(engine, step(0), name="often", allowReentry=True)

    seen = []
    for _ in range(3):
        for sequence in (once, often):
            done = await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})
            again = await engine.enrollments.batch_enroll(CALLER, sequence, {"contactIds": [str(ada)]})
            seen.append((done.enrolled, done.completed_before, again.already_enrolled))
        await engine.work_everything()

    assert seen == [(1, 0, 1), (1, 0, 1), (0, 1, 0), (1, 0, 1), (0, 1, 0), (1, 0, 1)]
    keys = await sql.fetch("select idempotency_key from executions where workflow_id = $1 order by 1", often)
    assert [row["idempotency_key"] for row in keys] == [f"{ada}:{number}" for number in (1, 2, 3)]
    assert len(provider.calls) == 4
    await assert_kept(engine)


async def test_many_who_enroll_a_cancelled_contact_at_once_make_one_new_enrollment(
    engine: Engine, sql: Sql, provider: FakeProvider
) -> None:
    [ada] = await make_contacts(engine, 1)
    sequence = await make_sequence(engine, step(0), step(1))
    first = await engine.enrollments.enroll(CALLER, sequence, ada)
    await engine.enrollments.set_status(CALLER, first.id, EnrollmentStatus.CANCELLED)

    found = await asyncio.gather(
        *(engine.enrollments.enroll(CALLER, sequence, ada) for _ in range(4)),
        *(engine.enrollments.batch_enroll(CALLER, sequence, {"all": True}, include_cancelled=True) for _ in range(2)),
    )
    await engine.work_everything()

    ones = [one for one in found if isinstance(one, Enrolled)]
    assert (
        sum(not one.duplicate for one in ones) + sum(one.reenrolled for one in found if isinstance(one, Enrolling)) == 1
    )
    assert len({one.id for one in ones}) == 1
    keys = await sql.fetch("select idempotency_key, ended_at is null as live from executions order by 1")
    assert [(row["idempotency_key"], row["live"]) for row in keys] == [(f"{ada}:1", False), (f"{ada}:2", True)]
    assert len(provider.calls) == 1  # the cancelled one had sent nothing
    await assert_kept(engine)


async def test_a_cancelled_contact_that_is_deleted_meanwhile_is_not_enrolled(engine: Engine) -> None:
    [ada] = await make_contacts(engine, 1)
    sequence = await make_sequence(engine, step(1))
    first = await engine.enrollments.enroll(CALLER, sequence, ada)
    await engine.enrollments.set_status(CALLER, first.id, EnrollmentStatus.CANCELLED)
    shown = await engine.sequences.published(HOME, sequence)
    opened = OpenSequence(HOME, sequence, shown.version_id, shown.graph, allow_reentry=False)
    entrance = Enroller(engine.kernel, opened, "api", await engine.kernel.clock.now(), include_cancelled=True)
    await engine.contacts.delete(CALLER, ada)

    share = await entrance.enroll(engine.kernel.shard_of(ada), [Picked(ada, None)])

    assert (share.new, share.gone) == ({}, [ada])


# Whom


async def test_filters_are_joined_united_with_ids_and_exclusions_removed(engine: Engine) -> None:
    people = {
        name: await make_contact(engine, name, company=company, tags=tags, status=status)
        for name, company, tags, status in (
            ("a", "Engines", ["vip"], "lead"),
            ("b", "Engines", ["vip"], "customer"),
            ("c", "Engines", [], "lead"),
            ("d", "Looms", ["vip"], "lead"),
            ("e", None, [], "lead"),
        )
    }
    of_others = {"externalId": "theirs", "company": "Engines", "tags": ["vip"], "status": "lead"}
    theirs, next_door = [(await engine.contacts.create(one, of_others))[0].id for one in (RIVAL, NEIGHBOUR)]
    await make_contacts(engine, 8, NEIGHBOUR, company="Engines", tags=["vip"], status="lead")  # in every shard

    async def count(**audience: object) -> tuple[int, int]:
        sequence = await make_sequence(engine, name=str(audience))
        done = await engine.enrollments.batch_enroll(CALLER, sequence, audience)
        return done.enrolled, done.skipped

    assert await count(all=True) == (5, 0)
    assert await count(tag="vip") == (3, 0)
    assert await count(company="Engines") == (3, 0)
    assert await count(status="lead") == (4, 0)
    assert await count(tag="vip", company="Engines") == (2, 0)
    assert await count(tag="vip", company="Engines", status="lead") == (1, 0)
    assert await count(company="Engines", status="lead") == (2, 0)
    assert await count(tag="vip", contactIds=ids([people["a"], people["e"], people["e"]])) == (4, 0)
    assert await count(tag="vip", contactIds=[str(people["e"])], excludeContactIds=ids([people["a"], people["e"]])) == (
        2,
        0,
    )
    assert await count(contactIds=ids([people["a"], theirs, next_door, UUID(int=7)])) == (1, 3)
    assert await count(tag="nobody") == (0, 0)


async def test_a_deleted_contact_is_not_enrolled(engine: Engine) -> None:
    people = await make_contacts(engine, 3)
    sequence = await make_sequence(engine)
    await engine.contacts.delete(CALLER, people[0])

    named = await engine.enrollments.batch_enroll(CALLER, sequence, {"contactIds": ids(people)})
    everyone = await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})

    assert (named.enrolled, named.not_found) == (2, 1)
    assert (everyone.enrolled, everyone.already_enrolled) == (0, 2)


async def test_a_dry_run_counts_and_changes_nothing(engine: Engine, sql: Sql) -> None:
    people = await make_contacts(engine, 5)
    sequence = await make_sequence(engine)
    await engine.enrollments.batch_enroll(CALLER, sequence, {"contactIds": ids(people[:2])})

    counted = await engine.enrollments.batch_enroll(
        CALLER, sequence, {"all": True, "contactIds": [str(UUID(int=9))]}, dry_run=True
    )

    assert (counted.enrolled, counted.already_enrolled, counted.not_found) == (3, 2, 1)
    assert len(await enrolled(sql, sequence)) == 2


# A paused sequence


async def test_a_paused_sequence_sends_nothing_and_a_resumed_one_loses_nobody(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await make_contacts(engine, 30)
    sequence = await make_sequence(engine, step(0, 12), step(1, 12))
    await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})
    await work_until(engine, clock, clock.time.replace(hour=11))

    await set_status(engine, sequence, "paused")
    await work_until(engine, clock, clock.time.replace(hour=12, minute=45))
    while_paused = len(provider.calls)
    parked = await sql.fetchval("select count(*) from queue where due_at > $1", clock.time)
    await set_status(engine, sequence, "active")
    await engine.work_everything()
    at_once = len(provider.calls)
    await work_until(engine, clock, clock.time + timedelta(days=1))

    assert (while_paused, parked, at_once) == (0, 30, 30)
    assert sorted(texts(provider)) == sorted(
        (f"p{number}@example.com", text) for number in range(30) for text in ("Day 0", "Day 1")
    )
    assert await sql.fetchval("select count(*) from executions where status = 'completed'") == 30
    await assert_kept(engine)


async def test_who_is_parked_looks_again_even_if_nobody_wakes_them(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await make_contacts(engine, 3)
    sequence = await make_sequence(engine, step(0))
    await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})
    await set_status(engine, sequence, "paused")
    await engine.work_everything()

    await sql.execute("update workflows set paused = false")  # as if the process died before it woke anybody
    await engine.work_everything()
    at_once = len(provider.calls)
    await work_until(engine, clock, clock.time + timedelta(hours=1))

    assert (at_once, len(provider.calls)) == (0, 3)


@pytest.mark.parametrize("whole", [True, False])
async def test_a_pause_in_the_middle_of_a_batch_stops_what_was_not_called_yet(
    engine: Engine, clock: ManualClock, db: Database, sql: Sql, whole: bool
) -> None:
    """Of the whole sequence, or of all its enrollments; also what is marked already and waits for its slot."""
    slow = FakeProvider(concurrency=2)
    worker = await make_engine(db, clock, slow)
    await make_contacts(engine, 60)
    sequence = await make_sequence(engine, step(0))
    await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})

    async def set_going(going: bool) -> None:
        if whole:
            await set_status(engine, sequence, "active" if going else "paused")
        else:
            status = EnrollmentStatus.ACTIVE if going else EnrollmentStatus.PAUSED
            await engine.enrollments.set_status_of_many(CALLER, sequence, EnrollmentFilter(all=True), status)

    async def pause_at_the_third(_: Marked) -> Outcome:
        if len(slow.calls) == 3:
            await set_going(False)
            await until(lambda: worker.kernel.stops.sequences > 0)
        return Accepted("m")

    slow.answer = pause_at_the_third
    async with listening(worker):
        await worker.work_everything()
    while_paused = len(slow.calls), await sql.fetchval("select count(*) from outbox where marked_at is not null")
    await set_going(True)
    await worker.work_everything()
    await worker.kernel.renderer.close()

    assert while_paused == (3, 3)
    assert sorted(call.recipient for call in slow.calls) == sorted(f"p{number}@example.com" for number in range(60))


async def test_someone_who_is_worked_on_during_the_resume_is_woken(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    await make_contacts(engine, 1)
    sequence = await make_sequence(engine, step(0))
    await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})
    await sql.execute("update queue set leased = true, due_at = $1", clock.time + timedelta(minutes=5))

    woken = await enroll.unpark(engine.kernel, sequence)

    assert woken == 1
    assert await sql.fetchval("select wake from queue")


# Many at once


@pytest.mark.usefixtures("small_chunks")
async def test_a_filtered_set_is_paused_resumed_and_cancelled_in_bounded_steps(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    vips = await make_contacts(engine, 20, tags=["vip"])
    others = [await make_contact(engine, f"o{number}") for number in range(20)]
    sequence = await make_sequence(engine, step(0, 12), step(1, 12))
    await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})
    many = engine.enrollments.set_status_of_many

    paused = await many(CALLER, sequence, EnrollmentFilter(tag="vip"), EnrollmentStatus.PAUSED)
    again = await many(CALLER, sequence, EnrollmentFilter(tag="vip"), EnrollmentStatus.PAUSED)
    await work_until(engine, clock, clock.time.replace(hour=12, minute=30))
    first = {call.recipient for call in provider.calls}
    cancelled = await many(
        CALLER, sequence, EnrollmentFilter(contact_ids=[vips[0], others[0]]), EnrollmentStatus.CANCELLED
    )
    resumed = await many(CALLER, sequence, EnrollmentFilter(status=EnrollmentStatus.PAUSED), EnrollmentStatus.ACTIVE)
    await work_until(engine, clock, clock.time + timedelta(days=2))

    assert (paused, again, cancelled, resumed) == (20, 0, 2, 19)
    assert first == {f"o{number}@example.com" for number in range(20)}
    assert len(provider.calls) == 19 * 2 + 19 * 2 + 1
    assert await sql.fetchval("select count(*) from executions where status = 'cancelled'") == 2
    assert len((await engine.enrollments.list(HOME, sequence, status=EnrollmentStatus.CANCELLED)).items) == 2
    await assert_kept(engine)
