"""Runs as people watch and control them: counts, pause, cancel, retry, doubt, trace."""

import asyncio
import csv
import io
from datetime import timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, assert_kept
from tests.resources.asking import audited, items_of, runs_of
from tests.resources.campaign_scenes import ANN, BOB, CLARA, deploy, make_contacts, numbers, work_until_ended
from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.errors import Conflict, InputInvalid, NotFound
from tidings.domain.flow.ids import bucket_of_id
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unknown
from tidings.engine import Deployment, Engine, Recipient, Resolution
from tidings.kernel.campaigns.retry_turn import require_turn, take_turn
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import OutboxFilter
from tidings.resources.run_retry import read_where
from tidings.resources.run_trace import csv_header, csv_lines
from tidings.resources.runs import RetryFilter, TraceFilter, TraceLine


async def lines_of(engine: Engine, run: UUID, where: TraceFilter | None = None) -> list[TraceLine]:
    return [line async for lines in engine.runs.trace(ANN.workspace, run, where) for line in lines]


async def test_a_mixed_run_is_partial_and_its_counts_add_up(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 6)
    provider.script = {"p1@example.com": [Rejected("550 no such user")], "p2@example.com": [Unknown("cut off")]}
    run = await deploy(engine)
    await engine.work_everything()

    shown = await engine.runs.get(ANN.workspace, run)

    assert numbers(shown, "planned", "sent", "failed", "in_doubt", "queued") == [6, 4, 1, 1, 0]
    assert shown.status is RunStatus.RUNNING
    assert shown.status_text == "running, 1 in doubt"
    assert shown.in_doubt_since == clock.time


async def test_doubt_is_resolved_in_bulk_and_the_run_ends(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 5)
    provider.answer = Unknown("cut off")
    run = await deploy(engine)
    await engine.work_everything()
    [one, *_] = (await engine.runs.items(ANN.workspace, run, OutboxFilter(in_doubt=True))).items

    first = await engine.runs.resolve(ANN, run, Resolution.FAILED, "asked them", [one.id])
    rest = await engine.runs.resolve(ANN, run, Resolution.SENT, "the provider's list has them")
    shown = await work_until_ended(engine, clock, run)

    assert (first.resolved, rest.resolved, rest.refused) == (1, 4, 0)
    assert numbers(shown, "planned", "sent", "failed", "in_doubt") == [5, 4, 1, 0]
    assert shown.status is RunStatus.PARTIAL
    assert len(await audited(engine, ANN, "resolved_")) == 5


async def test_ending_doubt_needs_a_reason(engine: Engine, provider: FakeProvider) -> None:
    await make_contacts(engine, 1)
    provider.answer = Unknown("cut off")
    run = await deploy(engine)
    await engine.work_everything()

    with pytest.raises(InputInvalid, match="note"):
        await engine.runs.resolve(ANN, run, Resolution.SENT, " ")


async def test_paused_nothing_leaves_and_resumed_nobody_gets_it_twice(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 10)
    run = await deploy(engine, rate=10)
    await engine.work_everything()
    sent = len(provider.calls)

    paused = await engine.runs.pause(ANN, run)
    clock.advance(minutes=30)
    await engine.work_everything()
    still = len(provider.calls)
    await engine.runs.resume(ANN, run)
    shown = await work_until_ended(engine, clock, run)

    assert 0 < sent == still < 10
    assert paused.paused
    assert "paused" in paused.status_text
    assert len({call.recipient for call in provider.calls}) == len(provider.calls) == 10
    assert shown.status is RunStatus.COMPLETED
    await assert_kept(engine)


async def test_cancelled_what_is_left_is_skipped_with_the_reason(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 10)
    run = await deploy(engine, rate=10)
    await engine.work_everything()
    sent = len(provider.calls)

    await engine.runs.cancel(ANN, run)
    shown = await work_until_ended(engine, clock, run)

    assert numbers(shown, "planned", "sent", "skipped") == [10, sent, 10 - sent]
    assert shown.cancelled
    skipped = await items_of(engine, ANN.workspace, OutboxFilter(status=ItemStatus.SKIPPED))
    assert {one.error for one in skipped} == {"cancelled"}
    with pytest.raises(Conflict):
        await engine.runs.resume(ANN, run)
    await assert_kept(engine)


# Retrying


async def failed_run(engine: Engine, clock: ManualClock, provider: FakeProvider) -> UUID:
    """Ten people: two bounced, one was throttled to the end, one is in doubt, six got it."""
    await make_contacts(engine, 10)
    provider.script = {
        "p1@example.com": [Rejected("550 no such user")],
        "p2@example.com": [Rejected("550 no such user")],
        "p3@example.com": [Rejected("429 too many")],
        "p4@example.com": [Unknown("cut off")],
    }
    run = await deploy(engine)
    await engine.work_everything()
    return run


async def test_a_retry_is_a_new_run_of_exactly_the_failed(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    run = await failed_run(engine, clock, provider)
    provider.calls.clear()

    plan = await engine.runs.plan_retry(ANN.workspace, run, RetryFilter())
    before = await runs_of(engine, ANN.workspace)
    new, told, duplicate = await engine.runs.retry(ANN, run, RetryFilter())
    shown = await work_until_ended(engine, clock, new.id)

    assert (plan.count, plan.by_error) == (3, {"550 no such user": 2, "429 too many": 1})
    assert [one.id for one in before] == [run]
    assert (told.count, duplicate, new.retry_of) == (3, False, run)
    assert sorted(call.recipient for call in provider.calls) == [f"p{n}@example.com" for n in (1, 2, 3)]
    assert {call.payload["subject"] for call in provider.calls} == {f"Hello Person {n}" for n in (1, 2, 3)}
    assert numbers(shown, "planned", "sent") == [3, 3]
    assert (await engine.runs.get(ANN.workspace, run)).counts.failed == 3
    await assert_kept(engine)


async def test_a_retry_takes_only_what_matches_and_nothing_a_second_time(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    run = await failed_run(engine, clock, provider)
    provider.calls.clear()

    throttled, *_ = await engine.runs.retry(ANN, run, read_where("error=429"), idempotency_key="r1")
    again, _, duplicate = await engine.runs.retry(ANN, run, read_where("error=429"), idempotency_key="r1")
    await work_until_ended(engine, clock, throttled.id)
    plan = await engine.runs.plan_retry(ANN.workspace, run, RetryFilter())
    rest, *_ = await engine.runs.retry(ANN, run, RetryFilter())
    await work_until_ended(engine, clock, rest.id)

    assert (again.id, duplicate) == (throttled.id, True)
    assert (plan.count, plan.retried_before) == (2, 1)
    assert sorted(call.recipient for call in provider.calls) == [f"p{n}@example.com" for n in (1, 2, 3)]
    with pytest.raises(Conflict, match="tried again before"):
        await engine.runs.retry(ANN, run, RetryFilter())
    with pytest.raises(Conflict, match="no failed item"):
        await engine.runs.retry(ANN, run, RetryFilter(error="nothing of the kind"))


async def test_of_two_retries_at_once_one_has_its_turn_and_the_other_leaves_nothing(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await failed_run(engine, clock, provider)
    provider.calls.clear()

    both = await asyncio.gather(*(engine.runs.retry(ANN, run, RetryFilter()) for _ in range(2)), return_exceptions=True)
    [(new, *_)] = [one for one in both if not isinstance(one, BaseException)]
    [refusal] = [one for one in both if isinstance(one, BaseException)]
    with pytest.raises(Conflict, match=f"run {new.id} is taking"):  # until a worker has planned it
        await engine.runs.retry(ANN, run, read_where("error=429"))
    shown = await work_until_ended(engine, clock, new.id)

    assert isinstance(refusal, Conflict)
    assert numbers(shown, "planned", "sent") == [3, 3]
    assert len(provider.calls) == 3
    assert {one.id for one in await runs_of(engine, ANN.workspace)} == {run, new.id}
    assert await sql.fetchval("select count(*) from run_parts where run_id <> all($1)", [run, new.id]) == 0
    await assert_kept(engine)


async def test_a_retry_that_died_as_it_began_keeps_its_turn_for_a_minute_only(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    run = await failed_run(engine, clock, provider)
    kernel = engine.kernel
    dead = kernel.new_id(bucket_of_id(run), clock.time)
    await take_turn(kernel, run, None, dead)

    with pytest.raises(Conflict, match=f"run {dead} is taking"):
        await engine.runs.retry(ANN, run, RetryFilter())
    clock.advance(minutes=2)
    new, *_ = await engine.runs.retry(ANN, run, RetryFilter())

    assert new.retry_of == run
    with pytest.raises(Conflict, match="somebody else retried"):  # it was only frozen, and comes to itself now
        await kernel.db.persist(lambda tx: require_turn(kernel, tx, run, dead))


async def test_a_retry_goes_to_where_the_contact_is_reached_now_and_leaves_out_who_is_gone(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    run = await failed_run(engine, clock, provider)
    moved = await engine.contacts.find(ANN.workspace, "p1")
    gone = await engine.contacts.find(ANN.workspace, "p2")
    await engine.contacts.update(ANN, moved.id, {"email": "new@example.com"})
    await engine.contacts.delete(ANN, gone.id)
    provider.calls.clear()

    new, *_ = await engine.runs.retry(ANN, run, RetryFilter())
    shown = await work_until_ended(engine, clock, new.id)

    assert sorted(call.recipient for call in provider.calls) == ["new@example.com", "p3@example.com"]
    assert numbers(shown, "planned", "sent", "skipped") == [3, 2, 1]


async def test_a_retry_of_a_plain_list_has_its_data(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    people = [Recipient(f"p{n}@example.com", {"name": f"N{n}"}) for n in range(1, 9)]
    wish = Deployment(UUID(int=7), "k", Channel.EMAIL, {"subject": "{{ name }}", "body": "x"}, people)
    provider.script = {"p5@example.com": [Rejected("no")]}
    run = (await engine.deploy(wish, ANN.workspace)).id
    await work_until_ended(engine, clock, run)
    provider.calls.clear()

    new, *_ = await engine.runs.retry(ANN, run, RetryFilter())
    shown = await work_until_ended(engine, clock, new.id)
    [call] = provider.calls

    assert (call.recipient, call.payload["subject"]) == ("p5@example.com", "N5")
    assert shown.status is RunStatus.COMPLETED


@pytest.mark.parametrize("text", ["", "error", "error=", "status=failed", "=429"])
def test_a_filter_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputInvalid, match="error=429"):
        read_where(text)


# Reading


async def test_a_trace_has_every_item_with_its_job_and_can_be_narrowed(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await failed_run(engine, clock, provider)

    lines = await lines_of(engine, run)
    failed = await lines_of(engine, run, TraceFilter(status=ItemStatus.FAILED))
    doubtful = await lines_of(engine, run, TraceFilter(in_doubt=True))
    job = await lines_of(engine, run, TraceFilter(job_id=lines[0].job_id))

    assert len(lines) == len({line.outbox_id for line in lines}) == 10
    assert {line.recipient for line in failed} == {f"p{n}@example.com" for n in (1, 2, 3)}
    assert [line.recipient for line in doubtful] == ["p4@example.com"]
    assert {line.job_id for line in job} == {lines[0].job_id}
    assert await sql.fetchval("select count(*) from campaign_trace where run_id = $1", run) == 10


async def test_an_export_is_csv_that_no_program_takes_for_formulas(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 2)
    provider.script = {"p1@example.com": [Rejected('=cmd|" /C calc"!A0')]}
    run = await deploy(engine)
    await engine.work_everything()

    text = csv_header() + csv_lines(await lines_of(engine, run))
    rows = list(csv.DictReader(io.StringIO(text)))

    assert len(rows) == 2
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    assert {row["error"] for row in rows} == {"", '\'=cmd|" /C calc"!A0'}


async def test_lists_and_pages(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await make_contacts(engine, 12)
    made = [await deploy(engine, name=f"c{number}") for number in range(3)]
    for run in made:
        await work_until_ended(engine, clock, run)
    first = await engine.runs.get(ANN.workspace, made[0])

    page = await engine.runs.list(ANN.workspace, limit=2)
    rest = await engine.runs.list(ANN.workspace, limit=2, cursor=page.next_cursor)
    of_campaign = await engine.runs.list(ANN.workspace, campaign_id=first.campaign_id)
    items = await engine.runs.items(ANN.workspace, made[0], limit=7)
    more = await engine.runs.items(ANN.workspace, made[0], limit=7, cursor=items.next_cursor)
    jobs = await engine.runs.jobs(ANN.workspace, made[0])

    assert {one.id for one in (*page.items, *rest.items)} == set(made)
    assert [one.id for one in of_campaign.items] == [made[0]]
    assert len({one.id for one in (*items.items, *more.items)}) == 12
    assert sum(job.counts.planned for job in jobs.items) == 12
    assert (await engine.runs.list(ANN.workspace, status=RunStatus.FAILED)).items == []


@pytest.mark.parametrize("stranger", [BOB, CLARA], ids=["of another tenant", "of the same tenant"])
async def test_another_workspace_sees_no_run(engine: Engine, stranger: Caller) -> None:
    await make_contacts(engine, 1)
    run = await deploy(engine)

    for ask in (
        engine.runs.get(stranger.workspace, run),
        engine.runs.jobs(stranger.workspace, run),
        engine.runs.items(stranger.workspace, run),
        engine.runs.pause(stranger, run),
        engine.runs.cancel(stranger, run),
        engine.runs.retry(stranger, run, RetryFilter()),
        engine.runs.resolve(stranger, run, Resolution.SENT, "x"),
        engine.runs.history(stranger.workspace, run),
        engine.runs.job_history(stranger.workspace, run),
    ):
        with pytest.raises(NotFound):
            await ask
    assert (await engine.runs.list(stranger.workspace)).items == []


async def test_history_tells_who_did_what(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await make_contacts(engine, 2)
    run = await deploy(engine, rate=1)
    clock.advance(seconds=1)
    await engine.work_everything()
    for act in (engine.runs.pause, engine.runs.resume):
        clock.advance(seconds=1)
        await act(ANN, run)
    await work_until_ended(engine, clock, run)

    told = [(entry.event, entry.actor) for entry in await engine.runs.history(ANN.workspace, run)]

    assert told == [
        ("deployed", "ann"),
        ("running", "engine"),
        ("pause", "ann"),
        ("resume", "ann"),
        ("completed", "engine"),
    ]


async def told_of_jobs(engine: Engine, run: UUID) -> dict[UUID, list[tuple[str, str]]]:
    """What the history of each job tells, read two lines at a time."""
    told: dict[UUID, list[tuple[str, str]]] = {}
    cursor: str | None = None
    while True:
        page = await engine.runs.job_history(ANN.workspace, run, limit=2, cursor=cursor)
        for entry in page.items:
            told.setdefault(entry.job_id, []).append((entry.event, entry.actor))
        cursor = page.next_cursor
        if cursor is None:
            return told


async def test_every_job_tells_each_change_of_its_state_once(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """With a rate, a job is claimed for each of its items; it has begun once all the same."""
    await make_contacts(engine, 8)
    provider.script = {
        "p1@example.com": [Rejected("550")],
        "p2@example.com": [RetryLater("busy", timedelta(seconds=5))],
    }
    run = await deploy(engine, rate=60)
    clock.advance(seconds=1)
    await engine.work_everything()
    await engine.runs.pause(ANN, run)
    await engine.runs.pause(ANN, run)
    await engine.work_everything()
    await engine.runs.resume(ANN, run)
    await work_until_ended(engine, clock, run)

    told = await told_of_jobs(engine, run)

    jobs = (await engine.runs.jobs(ANN.workspace, run)).items
    ended = {job.id: job.status for job in jobs}
    assert told.keys() == ended.keys()
    assert sorted(ended.values())[-1] in {"partial", "failed"}
    for id, lines in told.items():
        assert lines[0] == ("queued", "engine")
        assert lines[-1] == (ended[id], "engine")
        assert sorted(lines[1:-1]) == [("locked", "engine"), ("pause", "ann"), ("resume", "ann")]
    assert {job.attempts for job in jobs} == {1}  # none was lost
    seen = await sql.fetch("select event from campaign_audit_log where subject_kind = 'job'")
    assert len(seen) == sum(map(len, told.values()))
    [one, *_] = told
    only = await engine.runs.job_history(ANN.workspace, run, job_id=one)
    assert [(entry.event, entry.actor) for entry in only.items] == told[one]


async def test_a_cancelled_and_a_dead_job_say_so_and_the_tenant_s_log_stays_readable(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await make_contacts(engine, 1)
    provider.answer = RetryLater("busy", timedelta(hours=1))
    run = await deploy(engine)
    await engine.work_everything()
    [open_job] = (await engine.runs.jobs(ANN.workspace, run)).items
    clock.advance(seconds=1)
    await engine.runs.cancel(ANN, run)
    await sql.execute("update queue set crashes = 5 where id = $1", open_job.id)
    clock.advance(seconds=1)
    await work_until_ended(engine, clock, run)

    log = await engine.access.audit(ANN)
    of_job = await engine.access.audit(ANN, subject=open_job.id)

    assert "job" not in {line.subject_kind for line in log.items}
    assert {line.subject_id for line in of_job.items} == {open_job.id}
    assert [line.event for line in reversed(of_job.items)] == ["queued", "locked", "cancel", "dead"]


async def test_the_outbox_shows_items_with_what_went_wrong(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 1)
    provider.script = {"p1@example.com": [RetryLater("busy", timedelta(seconds=5)), Accepted("m-1")]}
    run = await deploy(engine)
    await work_until_ended(engine, clock, run)
    [item] = (await engine.outbox.list(ANN.workspace, OutboxFilter(run_id=run))).items

    detail = await engine.outbox.get(ANN.workspace, item.id)

    assert (detail.item.status, detail.item.provider_message_id) == (ItemStatus.SENT, "m-1")
    assert [attempt.error for attempt in detail.failed_attempts] == ["busy"]
    assert detail.item.payload == {"subject": "Hello Person 1", "body": "News"}
    with pytest.raises(NotFound):
        await engine.outbox.get(BOB.workspace, item.id)
