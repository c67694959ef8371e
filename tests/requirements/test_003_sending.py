"""003, the job cycle and the states: when messages leave, what is logged, and what stops them."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import ManualClock
from tests.enrolling import texts
from tests.http.conftest import Person
from tests.kernel.scenes import assert_kept
from tests.requirements.conftest import Json, MakeEngine, Sql, in_call
from tests.requirements.test_003_enrollment import STEPS, active, batch, contact, enroll
from tidings import Engine
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.providers.fake import FakeProvider

BUSY = RetryLater("421 try again later")


async def show(reader: Person, id: str) -> Json:
    shown: Json = (await reader.get(f"/v1/enrollments/{id}")).json()
    return shown


async def logs(reader: Person, id: str) -> list[Json]:
    lines: list[Json] = (await reader.get(f"/v1/enrollments/{id}/logs")).json()["data"]
    return lines


async def set_status(operator: Person, id: str, status: str) -> int:
    return (await operator.ask("PATCH", f"/v1/enrollments/{id}", json={"status": status})).status_code


async def sent_at(
    engine: Engine, clock: ManualClock, provider: FakeProvider, until: datetime
) -> list[tuple[datetime, str]]:
    """When each message left, with a worker that looks every half hour."""
    seen: list[tuple[datetime, str]] = []
    await engine.work_everything()
    while True:
        seen += [(clock.time, call.recipient) for call in provider.calls[len(seen) :]]
        if clock.time >= until:
            return seen
        clock.advance(minutes=30)
        await engine.work_everything()


# The timer


async def test_003_day_0_3_and_7_land_on_days_0_3_and_7_at_the_hour_asked_for(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """The first page: day 0 an e-mail, day 3 an SMS, day 7 a push notification."""
    ada = await contact(manager)
    sequence = await active(manager)
    began = clock.time
    await enroll(operator, sequence, ada)

    seen = await sent_at(engine, clock, provider, began + timedelta(days=8))

    day = began.replace(hour=0)
    assert seen == [
        (began, "ada@example.com"),
        (day + timedelta(days=3, hours=9), "+442071838750"),
        (day + timedelta(days=7, hours=18), "ada"),
    ]
    assert [call.channel for call in provider.calls] == ["email", "sms", "push"]
    assert [text for _, text in texts(provider)] == ["Welcome!", "How's it going?", "Here's a tip"]


async def test_003_across_a_change_of_the_clocks_and_in_several_zones(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """The hour is the contact's own, before and after summer time begins in Europe (29 March 2026)."""
    clock.time = datetime(2026, 3, 27, 3, 0, tzinfo=UTC)
    for name, zone in (("berlin", "Europe/Berlin"), ("tokyo", "Asia/Tokyo"), ("york", "America/New_York")):
        await contact(manager, name, timeZone=zone)
    await contact(manager, "nowhere")
    steps: list[Json] = [
        {"dayOffset": day, "sendHour": 9, "stepOrder": day, "channel": "email", "content": "Hi"} for day in (0, 1, 3)
    ]
    await batch(operator, await active(manager, steps, timezone="contact"), all=True)

    seen = await sent_at(engine, clock, provider, clock.time + timedelta(days=5))

    hours: dict[str, list[str]] = {}
    for moment, recipient in seen:
        hours.setdefault(recipient.partition("@")[0], []).append(f"{moment:%d %H:%M}")
    assert hours == {
        "berlin": ["27 08:00", "28 08:00", "30 07:00"],
        # In Tokyo it is noon already: what is past is due now.
        "tokyo": ["27 03:00", "28 00:00", "30 00:00"],
        # In New York it is still the evening of the 26th, so nine o'clock of day 0 is past as well.
        "york": ["27 03:00", "27 13:00", "29 13:00"],
        "nowhere": ["27 09:00", "28 09:00", "30 09:00"],
    }


async def test_003_the_job_survives_a_restart_in_the_middle_of_a_wait(
    manager: Person,
    operator: Person,
    engine: Engine,
    make_engine: MakeEngine,
    clock: ManualClock,
    provider: FakeProvider,
) -> None:
    """2: "The app can restart, the server can reboot — the job survives.\""""
    ada = await contact(manager)
    enrollment = (await enroll(operator, await active(manager), ada)).json()["id"]
    await engine.work_everything()
    clock.advance(days=1)

    elsewhere = FakeProvider()
    restarted = await make_engine(elsewhere)
    await restarted.work_everything()
    before = len(elsewhere.calls)
    clock.advance(days=2)
    await restarted.work_everything()

    assert (len(provider.calls), before) == (1, 0)
    assert [call.channel for call in elsewhere.calls] == ["sms"]
    assert (await show(operator, enrollment))["currentStepIndex"] == 2


# The log


async def test_003_a_log_entry_is_there_before_anything_is_sent(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """4: "a record is created with status: pending … if something crashes mid-send, we know which step it was"."""
    ada = await contact(manager)
    enrollment = (await enroll(operator, await active(manager), ada)).json()
    provider.hang = asyncio.Event()

    async with in_call(engine, lambda: len(provider.calls)):
        during = await logs(operator, enrollment["id"])

    [line] = during
    assert (line["stepId"], line["status"], line["sentAt"]) == (enrollment["currentStepId"], "pending", None)
    assert (line["channel"], line["contentSnapshot"], line["recipient"]) == ("email", "Welcome!", "ada@example.com")


async def test_003_a_step_that_succeeds_is_logged_and_the_next_is_scheduled(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock
) -> None:
    """5 and 6: completed, sentAt = now; then currentStepIndex + 1 and nextStepAt; after the last step, completed."""
    ada = await contact(manager)
    began = clock.time
    id = (await enroll(operator, await active(manager), ada)).json()["id"]

    await engine.work_everything()
    after_first = await show(operator, id)
    [first] = await logs(operator, id)
    clock.time = began.replace(hour=18) + timedelta(days=7)
    await engine.work_everything()
    at_the_end = await show(operator, id)

    assert (first["status"], datetime.fromisoformat(first["sentAt"]), first["attempts"]) == ("completed", began, 1)
    assert (after_first["currentStepIndex"], after_first["status"]) == (1, "active")
    assert datetime.fromisoformat(after_first["nextStepAt"]) == (began + timedelta(days=3)).replace(hour=9)
    assert (at_the_end["status"], at_the_end["currentStepIndex"], at_the_end["nextStepAt"]) == ("completed", 2, None)
    assert datetime.fromisoformat(at_the_end["completedAt"]) == clock.time
    assert [line["status"] for line in await logs(operator, id)] == ["completed"] * 3


async def test_003_a_send_that_fails_is_logged_and_tried_again_without_skipping_a_step(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """7: "the log is marked failed … retries it (with backoff). The contact doesn't miss a step"."""
    ada = await contact(manager)
    provider.script = {"ada@example.com": [BUSY, BUSY]}
    id = (await enroll(operator, await active(manager), ada)).json()["id"]

    await engine.work_everything()
    waiting, after_one = await show(operator, id), await logs(operator, id)
    for minutes in (1, 2):
        clock.advance(minutes=minutes)
        await engine.work_everything()
    lines = await logs(operator, id)

    assert [(line["status"], line["error"]) for line in after_one] == [("failed", BUSY.reason), ("pending", None)]
    assert (waiting["currentStepIndex"], waiting["status"]) == (0, "active")
    assert [(line["status"], line["attempts"]) for line in lines] == [("failed", 1), ("failed", 2), ("completed", 3)]
    assert (await show(operator, id))["currentStepIndex"] == 1
    assert [call.channel for call in provider.calls] == ["email"] * 3


@pytest.mark.parametrize(("setting", "status", "channels"), [("continue", "active", 2), ("stop", "cancelled", 1)])
async def test_003_a_step_that_fails_for_good_is_logged_and_the_sequence_decides(
    manager: Person,
    operator: Person,
    engine: Engine,
    clock: ManualClock,
    provider: FakeProvider,
    setting: str,
    status: str,
    channels: int,
) -> None:
    ada = await contact(manager)
    provider.script = {"ada@example.com": [Rejected("550 no such mailbox")]}
    id = (await enroll(operator, await active(manager, onStepFailure=setting), ada)).json()["id"]

    await engine.work_everything()
    clock.advance(days=4)
    await engine.work_everything()

    shown, lines = await show(operator, id), await logs(operator, id)
    assert (shown["status"], lines[0]["status"], lines[0]["error"]) == (status, "failed", "550 no such mailbox")
    assert len({call.channel for call in provider.calls}) == channels
    assert ("550 no such mailbox" in (shown["reason"] or "")) is (setting == "stop")


async def test_003_an_enrollment_that_reached_nobody_does_not_read_like_a_success(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """`completed` is "All steps have been sent": where they were not, the record says so beside it."""
    refused = Rejected("550 no such mailbox")
    people = {name: await contact(manager, name) for name in ("ada", "bob", "cyd")}
    people["dan"] = await contact(manager, "dan", suppressions={"email": "unsubscribed"})
    provider.script = {"ada@example.com": [refused, refused], "bob@example.com": [refused]}
    sequence = await active(manager, [{**STEPS[0], "stepOrder": order} for order in (1, 2)])
    await batch(operator, sequence, all=True)
    await engine.work_everything()

    listed = (await operator.get(f"/v1/sequences/{sequence}/enrollments")).json()["data"]
    found = {one["contactId"]: one for one in listed}
    told = await why(operator, sequence, people["ada"])

    assert {one["status"] for one in listed} == {"completed"}
    assert [found[id]["outcome"] for id in people.values()] == ["failed", "partial", "sent", "skipped"]
    assert [found[id]["reason"] for id in people.values()] == [
        "nothing was sent: 2 of 2 messages failed: 550 no such mailbox",
        "1 of 2 messages failed: 550 no such mailbox",
        None,
        "nothing was sent: 2 of 2 messages were skipped: suppressed: unsubscribed",
    ]
    assert found[people["bob"]]["messages"] == {"sent": 1, "failed": 1, "skipped": 0, "pending": 0}
    assert told["reason"].endswith(
        "went through every step; nothing was sent: 2 of 2 messages failed: 550 no such mailbox"
    )
    assert await show(operator, found[people["ada"]]["id"]) == found[people["ada"]]


async def test_003_logs_are_readable_by_enrollment_by_contact_and_by_step(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock
) -> None:
    ada, bob = await contact(manager, "ada"), await contact(manager, "bob")
    sequence = await active(manager)
    steps = [step["id"] for step in (await manager.get(f"/v1/sequences/{sequence}")).json()["steps"]]
    await batch(operator, sequence, all=True)
    await engine.work_everything()
    clock.advance(days=4)
    await engine.work_everything()

    of_ada = (await operator.get(f"/v1/contacts/{ada}/logs")).json()["data"]
    of_first = (await operator.get(f"/v1/sequences/{sequence}/steps/{steps[0]}/logs?limit=1")).json()
    of_last = (await operator.get(f"/v1/sequences/{sequence}/steps/{steps[2]}/logs")).json()["data"]
    rest = await operator.get(f"/v1/sequences/{sequence}/steps/{steps[0]}/logs?cursor={of_first['nextCursor']}")

    assert [(line["stepId"], line["contactId"]) for line in of_ada] == [(steps[1], ada), (steps[0], ada)]
    found = [*of_first["data"], *rest.json()["data"]]
    assert {line["contactId"] for line in found} == {ada, bob}
    assert len(found) == 2
    assert of_last == []


# The states


async def test_003_paused_means_no_new_job_fires_and_resuming_keeps_the_plan(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    ada, bob = await contact(manager, "ada"), await contact(manager, "bob")
    sequence = await active(manager)
    early, late = [(await enroll(operator, sequence, id)).json()["id"] for id in (ada, bob)]
    await engine.work_everything()
    planned = (await show(operator, early))["nextStepAt"]

    assert [await set_status(operator, id, "paused") for id in (early, late)] == [200, 200]
    paused = await show(operator, early)
    clock.advance(days=1)
    await engine.work_everything()
    await set_status(operator, early, "active")  # before its time: it keeps it
    resumed = await show(operator, early)
    clock.advance(days=3)
    await engine.work_everything()
    before_late = [call.recipient for call in provider.calls]
    await set_status(operator, late, "active")  # after its time: it is due now
    await engine.work_everything()

    assert (paused["status"], paused["nextStepAt"]) == ("paused", planned)
    assert (resumed["status"], resumed["nextStepAt"]) == ("active", planned)
    assert sorted(before_late) == ["+442071838750", "ada@example.com", "bob@example.com"]
    assert len(provider.calls) == 4
    await assert_kept(engine)


async def test_003_what_is_resumed_later_than_its_step_allows_is_skipped_with_the_reason(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    ada = await contact(manager)
    steps: list[Json] = [
        {**STEPS[0], "dayOffset": 1, "maxLateness": "PT2H"},
        {**STEPS[0], "dayOffset": 5, "stepOrder": 2},
    ]
    id = (await enroll(operator, await active(manager, steps), ada)).json()["id"]
    await set_status(operator, id, "paused")
    clock.advance(days=2)
    await engine.work_everything()

    await set_status(operator, id, "active")
    await engine.work_everything()

    [line] = await logs(operator, id)
    assert line["status"] == "skipped"
    assert line["error"].startswith("late by 1 day")
    assert (await show(operator, id))["currentStepIndex"] == 1
    assert provider.calls == []


async def test_003_cancelled_means_removed_before_finishing(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    ada = await contact(manager)
    id = (await enroll(operator, await active(manager), ada)).json()["id"]
    await engine.work_everything()

    assert await set_status(operator, id, "cancelled") == 200
    at_once = await show(operator, id)
    clock.advance(days=8)
    await engine.work_everything()

    assert at_once["status"] == "cancelled"
    assert (await show(operator, id))["status"] == "cancelled"
    assert len(provider.calls) == 1
    assert [await set_status(operator, id, status) for status in ("active", "paused", "cancelled")] == [409, 409, 200]


async def test_003_a_status_that_is_none_is_refused(manager: Person, operator: Person) -> None:
    id = (await enroll(operator, await active(manager), await contact(manager))).json()["id"]

    assert [await set_status(operator, id, status) for status in ("completed", "enqueued", "")] == [422] * 3


async def test_003_pausing_the_sequence_stops_everyone_and_resuming_loses_nobody(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    for number in range(10):
        await contact(manager, f"p{number}")
    sequence = await active(manager)
    await batch(operator, sequence, all=True)
    await engine.work_everything()

    await manager.ask("PATCH", f"/v1/sequences/{sequence}", json={"status": "paused"})
    clock.advance(days=4)
    await engine.work_everything()
    while_paused = len(provider.calls)
    [shown, *_] = (await operator.get(f"/v1/sequences/{sequence}/enrollments")).json()["data"]
    await manager.ask("PATCH", f"/v1/sequences/{sequence}", json={"status": "active"})
    await engine.work_everything()

    assert (while_paused, len(provider.calls)) == (10, 20)
    assert (shown["status"], shown["reason"]) == ("active", "the sequence is paused")


# Who may not be written to


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"suppressions": {"sms": "unsubscribed"}}, "unsubscribed"),
        ({"consent": {"sms": "withdrawn"}}, "withdrawn"),
        ({"phone": None}, "no phone"),
    ],
)
async def test_003_whoever_does_not_want_it_is_skipped_with_the_reason(
    manager: Person,
    operator: Person,
    engine: Engine,
    clock: ManualClock,
    provider: FakeProvider,
    change: Json,
    reason: str,
) -> None:
    """Rule 14: suppressed, unsubscribed, without an address; the other steps go on."""
    ada = await contact(manager)
    id = (await enroll(operator, await active(manager), ada)).json()["id"]
    await engine.work_everything()
    assert (await manager.ask("PATCH", f"/v1/contacts/{ada}", json=change)).status_code == 200

    clock.advance(days=8)
    await engine.work_everything()

    lines = await logs(operator, id)
    assert [line["status"] for line in lines] == ["completed", "skipped", "completed"]
    assert reason in lines[1]["error"]
    assert [call.channel for call in provider.calls] == ["email", "push"]


async def test_003_a_deleted_contact_gets_nothing_more(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    ada = await contact(manager)
    id = (await enroll(operator, await active(manager), ada)).json()["id"]
    await engine.work_everything()
    assert (await manager.ask("DELETE", f"/v1/contacts/{ada}")).status_code == 204

    clock.advance(days=8)
    await engine.work_everything()

    assert (await show(operator, id))["status"] == "cancelled"
    assert len(provider.calls) == 1
    [line] = [line for line in await logs(operator, id) if line["status"] == "completed"]
    assert line["contentSnapshot"] is None
    await assert_kept(engine)


# Why


async def why(reader: Person, sequence: str, contact_id: str) -> Json:
    answer = await reader.get(f"/v1/sequences/{sequence}/why?contactId={contact_id}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def fates(found: Json) -> list[tuple[str, object]]:
    return [(step["fate"], step["reason"]) for step in found["steps"]]


async def test_003_why_a_contact_did_or_did_not_get_a_message_is_one_call(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock
) -> None:
    ada, bob = await contact(manager, "ada", suppressions={"sms": "unsubscribed"}), await contact(manager, "bob")
    sequence = await active(manager)
    began = clock.time
    id = (await enroll(operator, sequence, ada)).json()["id"]
    await engine.work_everything()

    first, never = await why(operator, sequence, ada), await why(operator, sequence, bob)
    clock.advance(days=4)
    await engine.work_everything()
    second = await why(operator, sequence, ada)
    await set_status(operator, id, "cancelled")
    await engine.work_everything()
    last = await why(operator, sequence, ada)

    assert first["enrolled"] is True
    assert [step["fate"] for step in first["steps"]] == ["completed", "planned", "planned"]
    assert "unsubscribed" in first["steps"][1]["reason"]
    assert _times(first["steps"]) == [
        began,
        (began + timedelta(days=3)).replace(hour=9),
        (began + timedelta(days=7)).replace(hour=18),
    ]
    assert (never["enrolled"], never["enrollment"], never["reason"]) == (False, None, "the contact was never enrolled")
    assert fates(never) == [("never", "the contact is not enrolled")] * 3
    assert [step["fate"] for step in second["steps"]] == ["completed", "skipped", "planned"]
    assert (last["enrolled"], last["enrollment"]["status"]) == (False, "cancelled")
    assert fates(last)[2] == ("never", "it was cancelled")


def _times(steps: Sequence[Json]) -> list[datetime]:
    return [datetime.fromisoformat(step["at"]) for step in steps]
