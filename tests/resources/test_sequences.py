"""Sequences as people write them: drafts, steps, publishing, versions, pausing, and who did what."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, email, graph, row, with_lossy_database
from tests.resources.asking import audited
from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, DefinitionInvalid, InputInvalid, NotFound
from tidings.domain.flow.graph import Form, OffsetFrom
from tidings.domain.flow.item import Channel
from tidings.domain.sequences.form import InFlightChoice, OnStepFailure, SequenceStatus, Settings
from tidings.engine import Engine
from tidings.resources.enrollments import EnrollmentStatus
from tidings.resources.sequences import ShownSequence

ACTIVE, PAUSED, DRAFT = SequenceStatus.ACTIVE, SequenceStatus.PAUSED, SequenceStatus.DRAFT
WELCOME: dict[str, Any] = {
    "dayOffset": 0,
    "channel": "email",
    "subject": "Hi",
    "content": "Welcome, {{ contact.name }}",
}
NUDGE: dict[str, Any] = {"dayOffset": 3, "sendHour": 9, "channel": "sms", "content": "How is it going?"}
TIP: dict[str, Any] = {"dayOffset": 7, "channel": "push", "content": "A tip", "maxLateness": "PT2H"}


async def published(engine: Engine, caller: Caller, *steps: dict[str, Any]) -> ShownSequence:
    made = await engine.sequences.create(caller, "drip", steps=steps or [WELCOME, NUDGE])
    return await engine.sequences.update(caller, made.id, status=ACTIVE)


# Drafts


async def test_a_sequence_begins_as_a_draft(engine: Engine, caller: Caller, clock: ManualClock) -> None:
    made = await engine.sequences.create(caller, "drip")

    assert (made.name, made.status, made.steps, made.published) == ("drip", DRAFT, [], None)
    assert made.settings == Settings()
    assert made.has_draft
    assert made.created_at == made.updated_at == clock.time
    assert await engine.sequences.get(caller.workspace, made.id) == made
    assert await engine.sequences.find(caller.workspace, "drip") == made


async def test_steps_are_added_changed_and_deleted_while_it_is_a_draft(engine: Engine, caller: Caller) -> None:
    made = await engine.sequences.create(caller, "drip", {"timezone": "europe/berlin", "allowReentry": True})

    first = await engine.sequences.add_step(caller, made.id, {**NUDGE, "stepOrder": 5})
    last = await engine.sequences.add_step(caller, made.id, TIP)
    early = await engine.sequences.add_step(caller, made.id, {**WELCOME, "step_order": 0})
    changed = await engine.sequences.update_step(caller, made.id, UUID(first.id), {"sendHour": None, "dayOffset": 4})
    await engine.sequences.delete_step(caller, made.id, UUID(last.id))

    assert (first.order, last.order, early.order) == (5, 6, 0)
    assert (changed.send_hour, changed.day_offset, changed.channel) == (None, 4, Channel.SMS)
    assert last.max_lateness == timedelta(hours=2)
    shown = await engine.sequences.get(caller.workspace, made.id)
    assert shown.steps == [early, changed]
    assert shown.settings == Settings(timezone="Europe/Berlin", allow_reentry=True)


async def test_a_draft_may_be_made_with_its_steps_and_every_problem_of_them_is_told(
    engine: Engine, caller: Caller, sql: Sql
) -> None:
    made = await engine.sequences.create(caller, "drip", steps=[WELCOME, NUDGE, {**TIP, "stepOrder": 9}])
    assert [step.order for step in made.steps] == [1, 2, 9]

    with pytest.raises(DefinitionInvalid) as invalid:
        await engine.sequences.create(
            caller, "wrong", steps=[{**NUDGE, "sendHour": 24}, WELCOME, {**WELCOME, "channel": "fax", "content": ""}]
        )

    assert [problem.place for problem in invalid.value.problems] == [
        "steps[0].sendHour",
        "steps[2].channel",
        "steps[2].content",
    ]
    assert await row(sql, "select count(*) from workflows") == (1,)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"sendHour": 24}, "sendHour"),
        ({"dayOffset": -1}, "dayOffset"),
        ({"dayOffset": "3"}, "dayOffset"),
        ({"stepOrder": -1}, "stepOrder"),
        ({"channel": "fax"}, "channel"),
        ({"content": "{{ contact.name"}, "content"),
        ({"content": "{{ firstName }}"}, "content"),
        ({"maxLateness": "soon"}, "maxLateness"),
        ({"when": "now"}, "when"),
    ],
)
async def test_a_step_that_is_wrong_is_refused_with_its_place_and_nothing_is_stored(
    engine: Engine, caller: Caller, change: dict[str, Any], place: str
) -> None:
    made = await engine.sequences.create(caller, "drip", steps=[NUDGE])

    with pytest.raises(DefinitionInvalid) as added:
        await engine.sequences.add_step(caller, made.id, {**NUDGE, **change})
    with pytest.raises(DefinitionInvalid) as changed:
        await engine.sequences.update_step(caller, made.id, UUID(made.steps[0].id), change)

    assert [problem.place for problem in added.value.problems] == [place]
    assert [problem.place for problem in changed.value.problems] == [place]
    assert (await engine.sequences.get(caller.workspace, made.id)).steps == made.steps


async def test_settings_that_are_wrong_are_refused(engine: Engine, caller: Caller) -> None:
    with pytest.raises(DefinitionInvalid, match="timezone: 'Mars' is not a time zone"):
        await engine.sequences.create(caller, "drip", {"timezone": "Mars"})
    made = await engine.sequences.create(caller, "drip")
    with pytest.raises(DefinitionInvalid, match="offsetFrom"):
        await engine.sequences.update(caller, made.id, settings={"offsetFrom": "birth"})
    with pytest.raises(DefinitionInvalid, match="colour"):
        await engine.sequences.update(caller, made.id, settings={"colour": "red"})
    with pytest.raises(InputInvalid, match="not a name"):
        await engine.sequences.update(caller, made.id, name="")


async def test_a_name_is_taken_once_but_a_workflow_may_have_it_too(
    engine: Engine, caller: Caller, stranger: Caller
) -> None:
    made = await engine.sequences.create(caller, "drip")
    other = await engine.sequences.create(caller, "other")

    with pytest.raises(Conflict, match="there is a sequence 'drip' already"):
        await engine.sequences.create(caller, "drip")
    with pytest.raises(Conflict, match="'drip'"):
        await engine.sequences.update(caller, other.id, name="drip")

    assert (await engine.sequences.create(stranger, "drip")).id != made.id
    assert (await engine.workflows.create(caller, "drip", graph(email()))).id != made.id


async def test_what_is_anothers_is_not_found(engine: Engine, caller: Caller, stranger: Caller) -> None:
    made = await published(engine, caller)
    step = UUID(made.steps[0].id)

    for call in (
        engine.sequences.get(stranger.workspace, made.id),
        engine.sequences.find(stranger.workspace, "drip"),
        engine.sequences.published(stranger.workspace, made.id),
        engine.sequences.versions(stranger.workspace, made.id),
        engine.sequences.update(stranger, made.id, status=PAUSED),
        engine.sequences.add_step(stranger, made.id, WELCOME),
        engine.sequences.update_step(stranger, made.id, step, {"dayOffset": 1}),
        engine.sequences.delete_step(stranger, made.id, step),
        engine.sequences.delete(stranger, made.id),
        engine.sequences.update_step(caller, made.id, uuid4(), {"dayOffset": 1}),
        engine.sequences.delete_step(caller, made.id, uuid4()),
    ):
        with pytest.raises(NotFound):
            await call
    assert (await engine.sequences.list(stranger.workspace)).items == []


# Publishing


async def test_publishing_freezes_a_version_in_the_lane_of_sequences(engine: Engine, caller: Caller, sql: Sql) -> None:
    made = await engine.sequences.create(caller, "drip", {"timezone": "contact"}, [WELCOME, NUDGE])

    active = await engine.sequences.update(caller, made.id, status=ACTIVE)
    found = await engine.sequences.published(caller.workspace, made.id)

    assert (active.status, active.has_draft) == (ACTIVE, False)
    assert active.published is not None
    assert (active.published.version, active.published.steps) == (1, made.steps)
    assert (found.workflow_id, found.version, found.status, found.paused) == (made.id, 1, ACTIVE, False)
    assert found.graph.form is Form.SEQUENCE
    assert list(found.graph.nodes) == [name for step in made.steps for name in (f"wait_{step.id}", step.id)]
    assert await row(sql, "select form, lane, required, entry_wait from workflow_versions") == (
        "sequence",
        1,
        '["contact"]',
        None,
    )


async def test_publishing_the_same_again_changes_nothing(engine: Engine, caller: Caller) -> None:
    first = await published(engine, caller)

    assert await engine.sequences.update(caller, first.id, status=ACTIVE) == first
    assert await engine.sequences.update(caller, first.id, status=ACTIVE, in_flight=InFlightChoice.LEAVE) == first


@pytest.mark.parametrize(
    ("steps", "place", "message"),
    [
        ([], "steps", "give at least one step"),
        ([{**WELCOME, "stepOrder": 1}, {**NUDGE, "stepOrder": 1}], "steps[1].stepOrder", "1 is the order of steps[0]"),
        ([NUDGE, WELCOME], "steps[1].dayOffset", "day 0 is before day 3 at 9:00"),
    ],
)
async def test_what_cannot_be_published_stays_a_draft(
    engine: Engine, caller: Caller, steps: list[dict[str, Any]], place: str, message: str
) -> None:
    made = await engine.sequences.create(caller, "drip", steps=steps)

    with pytest.raises(DefinitionInvalid) as invalid:
        await engine.sequences.update(caller, made.id, name="better", status=ACTIVE)

    assert [problem.place for problem in invalid.value.problems] == [place]
    assert message in invalid.value.problems[0].message
    assert await engine.sequences.get(caller.workspace, made.id) == made


async def test_a_draft_has_nothing_to_enroll_into_nor_to_pause(engine: Engine, caller: Caller) -> None:
    made = await engine.sequences.create(caller, "drip", steps=[WELCOME])

    with pytest.raises(Conflict, match="'drip' is a draft; publish it first"):
        await engine.sequences.published(caller.workspace, made.id)
    with pytest.raises(Conflict, match="publish it first"):
        await engine.sequences.update(caller, made.id, status=PAUSED)
    assert (await engine.sequences.update(caller, made.id, status=DRAFT)).status is DRAFT


async def test_editing_after_publishing_opens_a_draft_beside_what_is_published(engine: Engine, caller: Caller) -> None:
    first = await published(engine, caller)

    await engine.sequences.update_step(caller, first.id, UUID(first.steps[1].id), {"content": "Well?"})
    added = await engine.sequences.add_step(caller, first.id, TIP)
    edited = await engine.sequences.update(caller, first.id, settings={"onStepFailure": "stop"})
    before = await engine.sequences.published(caller.workspace, first.id)
    second = await engine.sequences.update(caller, first.id, status=ACTIVE)

    assert (edited.status, edited.has_draft, edited.published) == (ACTIVE, True, first.published)
    assert [step.content for step in edited.steps] == [first.steps[0].content, "Well?", "A tip"]
    assert before.version == 1
    assert second.published is not None
    assert (second.published.version, second.published.steps[-1], second.has_draft) == (2, added, False)
    assert second.published.settings.on_step_failure is OnStepFailure.STOP
    assert [one.number for one in await engine.sequences.versions(caller.workspace, first.id)] == [2, 1]
    with pytest.raises(Conflict, match="does not become a draft again"):
        await engine.sequences.update(caller, first.id, status=DRAFT)


async def test_settings_and_publishing_go_together_or_not_at_all(engine: Engine, caller: Caller) -> None:
    made = await engine.sequences.create(caller, "drip", steps=[NUDGE, WELCOME])

    with pytest.raises(DefinitionInvalid):
        await engine.sequences.update(caller, made.id, settings={"timezone": "contact"}, status=ACTIVE)
    done = await engine.sequences.update(
        caller, made.id, name="new", settings={"offsetFrom": "previous", "timezone": "contact"}, status=ACTIVE
    )

    assert (done.name, done.status, done.settings.offset_from) == ("new", ACTIVE, OffsetFrom.PREVIOUS)


async def test_in_flight_is_a_word_about_publishing_only(engine: Engine, caller: Caller) -> None:
    made = await published(engine, caller)

    with pytest.raises(InputInvalid, match="give status active with it"):
        await engine.sequences.update(caller, made.id, status=PAUSED, in_flight=InFlightChoice.MOVE)


# Pausing


async def test_a_sequence_is_paused_and_resumed(engine: Engine, caller: Caller, sql: Sql) -> None:
    made = await published(engine, caller)

    paused = await engine.sequences.update(caller, made.id, status=PAUSED)
    found = await engine.sequences.published(caller.workspace, made.id)
    stored = await row(sql, "select paused from workflows")
    resumed = await engine.sequences.update(caller, made.id, status=ACTIVE)

    assert (paused.status, found.status, found.paused, stored) == (PAUSED, PAUSED, True, (True,))
    assert resumed.status is ACTIVE
    assert await row(sql, "select paused from workflows") == (False,)


async def test_resuming_leaves_a_draft_a_draft(engine: Engine, caller: Caller) -> None:
    made = await published(engine, caller)
    await engine.sequences.update(caller, made.id, status=PAUSED)
    await engine.sequences.add_step(caller, made.id, TIP)

    resumed = await engine.sequences.update(caller, made.id, status=ACTIVE)
    again = await engine.sequences.update(caller, made.id, status=ACTIVE)

    assert (resumed.status, resumed.has_draft) == (ACTIVE, True)
    assert again.published is not None
    assert (again.has_draft, again.published.version) == (False, 2)


# A sequence is a workflow, but not among the workflows


async def test_workflows_do_not_show_sequences_and_nothing_triggers_one(
    engine: Engine, caller: Caller, sql: Sql
) -> None:
    made = await published(engine, caller)

    assert (await engine.workflows.list(caller.workspace)).items == []
    for call in (
        engine.workflows.get(caller.workspace, made.id),
        engine.workflows.find(caller.workspace, "drip"),
        engine.workflows.update(caller, made.id, graph(email())),
        engine.workflows.deactivate(caller, made.id),
        engine.workflows.delete(caller, made.id),
        engine.trigger("drip", {}, "k"),
        engine.executions.trigger(caller, made.id, {}, "k"),
    ):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(Exception, match="there is no workflow 'drip'"):
        await sql.fetchval("select tidings.trigger('drip', '{}', 'k')")
    assert await row(sql, "select count(*) from executions") == (0,)


async def test_a_workflow_is_not_written_as_a_sequence(engine: Engine, caller: Caller) -> None:
    definition = {"sequence": {}, "steps": [{**WELCOME, "id": "a", "stepOrder": 1}]}

    with pytest.raises(DefinitionInvalid, match="create a sequence"):
        await engine.workflows.create(caller, "flow", definition)
    assert [problem.place for problem in engine.workflows.validate(definition)] == ["sequence"]


# Lists, deleting, history


async def test_sequences_are_listed_newest_first_by_status_and_name(
    engine: Engine, caller: Caller, clock: ManualClock
) -> None:
    names = ["a", "b", "c", "d"]
    made = {}
    for name in names:
        clock.advance(seconds=1)
        made[name] = (await engine.sequences.create(caller, name, steps=[WELCOME])).id
    await engine.sequences.update(caller, made["b"], status=ACTIVE)
    await engine.sequences.update(caller, made["c"], status=ACTIVE)
    await engine.sequences.update(caller, made["c"], status=PAUSED)

    async def listed(**where: Any) -> list[str]:
        return [one.name for one in (await engine.sequences.list(caller.workspace, **where)).items]

    assert await listed() == ["d", "c", "b", "a"]
    assert await listed(status=DRAFT) == ["d", "a"]
    assert await listed(status=ACTIVE) == ["b"]
    assert await listed(status=PAUSED) == ["c"]
    assert await listed(name="a") == ["a"]
    first = await engine.sequences.list(caller.workspace, limit=3)
    rest = await engine.sequences.list(caller.workspace, limit=3, cursor=first.next_cursor)
    assert [one.name for one in [*first.items, *rest.items]] == ["d", "c", "b", "a"]
    assert first.items[2].in_flight is None


async def test_a_sequence_is_deleted_and_its_name_is_free(engine: Engine, caller: Caller, sql: Sql) -> None:
    draft = await engine.sequences.create(caller, "draft")
    made = await published(engine, caller)

    await engine.sequences.delete(caller, draft.id)
    await engine.sequences.delete(caller, made.id)

    assert (await engine.sequences.list(caller.workspace)).items == []
    with pytest.raises(NotFound):
        await engine.sequences.get(caller.workspace, made.id)
    assert (await engine.sequences.create(caller, "drip")).id != made.id
    assert await row(sql, "select count(*) from workflow_versions") == (1,)


async def test_a_sequence_whose_contacts_were_all_cancelled_is_deleted_before_a_worker_has_seen_it(
    engine: Engine, caller: Caller
) -> None:
    """Cancelling was answered: that they are on the way is the state before."""
    made = await published(engine, caller)
    ada, _ = await engine.contacts.create(caller, {"email": "ada@example.com"})
    enrolled = await engine.enrollments.enroll(caller, made.id, ada.id)
    with pytest.raises(Conflict, match="on the way"):
        await engine.sequences.delete(caller, made.id)

    await engine.enrollments.set_status(caller, enrolled.enrollment.id, EnrollmentStatus.CANCELLED)
    await engine.sequences.delete(caller, made.id)
    await engine.work_everything()

    assert (await engine.sequences.list(caller.workspace)).items == []
    assert (await engine.enrollments.get(caller.workspace, enrolled.enrollment.id)).status == "cancelled"


async def test_every_change_is_in_the_audit_log(engine: Engine, caller: Caller, clock: ManualClock) -> None:
    made = await engine.sequences.create(caller, "drip", steps=[WELCOME])
    steps = []

    async def then(call: Any) -> Any:
        clock.advance(seconds=1)
        return await call

    steps.append(await then(engine.sequences.add_step(caller, made.id, NUDGE)))
    await then(engine.sequences.update_step(caller, made.id, UUID(steps[0].id), {"dayOffset": 2}))
    await then(engine.sequences.update(caller, made.id, name="new", settings={"timezone": "contact"}))
    await then(engine.sequences.update(caller, made.id, status=ACTIVE))
    await then(engine.sequences.update(caller, made.id, status=PAUSED))
    await then(engine.sequences.update(caller, made.id, status=PAUSED))
    await then(engine.sequences.update(caller, made.id, status=ACTIVE))
    await then(engine.sequences.delete_step(caller, made.id, UUID(steps[0].id)))
    await then(engine.sequences.delete(caller, made.id))

    lines = sorted(await audited(engine, caller, subject=made.id), key=lambda line: (line.at, line.event))
    assert [line.event for line in lines] == [
        *("created", "step_added", "step_changed", "renamed", "updated", "published", "paused", "resumed"),
        *("step_deleted", "deleted"),
    ]
    assert {(line.actor, line.subject_kind) for line in lines} == {("ann", "sequence")}


@pytest.mark.parametrize("lost", range(1, 9))
async def test_an_answer_that_is_lost_makes_nothing_twice(engine: Engine, caller: Caller, sql: Sql, lost: int) -> None:
    lossy = with_lossy_database(engine, lose=lambda number: number == lost)

    made = await lossy.sequences.create(caller, "drip", steps=[WELCOME])
    step = await lossy.sequences.add_step(caller, made.id, NUDGE)
    await lossy.sequences.update(caller, made.id, settings={"timezone": "contact"}, status=ACTIVE)
    await lossy.sequences.delete_step(caller, made.id, UUID(step.id))
    await lossy.sequences.delete(caller, made.id)

    assert sorted(line.event for line in await audited(engine, caller)) == [
        *("created", "deleted", "published", "step_added", "step_deleted", "updated"),
    ]
    assert await row(sql, "select count(*) from workflow_versions") == (1,)
    assert await row(sql, "select count(*) from sequence_steps") == (1,)
