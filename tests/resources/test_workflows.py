"""Workflows as people manage them: versions, conflicts, switching, deleting, lists, and who did what."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, delay, email, graph, row, with_lossy_database, work
from tests.resources.asking import audited
from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, DefinitionInvalid, InputInvalid, NotFound
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

HELLO = graph(email())
BYE = graph(email("bye"))


# Versions


async def test_a_workflow_is_created_with_its_first_version(engine: Engine, caller: Caller, clock: ManualClock) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO, description="To new people")

    assert (created.name, created.description, created.active) == ("welcome", "To new people", True)
    assert (created.version, created.form, created.definition) == (1, "graph", HELLO)
    assert created.created_at == created.updated_at == clock.time
    assert await engine.workflows.get(caller.workspace, created.id) == created
    assert await engine.workflows.find(caller.workspace, "welcome") == created


async def test_a_version_keeps_what_starting_it_needs(engine: Engine, caller: Caller, sql: Sql) -> None:
    definition = graph(delay("rest", "PT90S"), email("hello", to="{{ address }}", body="Hi {{ person.name }}"))

    await engine.workflows.create(caller, "later", definition | {"requiredFields": ["order"]})

    assert await row(sql, "select form, required, entry, entry_wait, total_steps, lane from workflow_versions") == (
        "graph",
        '["address", "order", "person.name"]',
        "rest",
        timedelta(seconds=90),
        2,
        0,
    )


async def test_a_name_that_is_taken_is_a_conflict_and_changes_nothing(
    engine: Engine, caller: Caller, stranger: Caller
) -> None:
    first = await engine.workflows.create(caller, "welcome", HELLO)

    with pytest.raises(Conflict, match="'welcome'"):
        await engine.workflows.create(caller, "welcome", BYE)

    assert await engine.workflows.get(caller.workspace, first.id) == first
    assert (await engine.workflows.create(stranger, "welcome", BYE)).id != first.id


async def test_a_definition_with_problems_is_refused_and_nothing_is_stored(engine: Engine, caller: Caller) -> None:
    with pytest.raises(DefinitionInvalid):
        await engine.workflows.create(caller, "welcome", {"nodes": []})

    assert (await engine.workflows.list(caller.workspace)).items == []
    assert [problem.place for problem in engine.workflows.validate({"nodes": []})] == ["nodes", "entryNodeId"]
    assert engine.workflows.validate(HELLO) == []


async def test_a_changed_definition_is_a_new_version_and_old_executions_keep_theirs(
    engine: Engine, caller: Caller, clock: ManualClock, provider: FakeProvider
) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    started = await engine.executions.trigger(caller, created.id, {}, "k1")
    clock.advance(hours=1)

    updated = await engine.workflows.update(caller, created.id, BYE)
    await work(engine)

    assert (updated.version, updated.definition, updated.updated_at) == (2, BYE, clock.time)
    assert updated.created_at == created.created_at
    assert [call.payload["body"] for call in provider.calls] == ["This is hello"]
    assert (await engine.executions.get(caller.workspace, started.id)).workflow_version == 1
    versions = await engine.workflows.versions(caller.workspace, created.id)
    assert [(one.number, one.definition) for one in versions] == [(2, BYE), (1, HELLO)]


async def test_the_same_definition_again_is_no_new_version(engine: Engine, caller: Caller, clock: ManualClock) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    clock.advance(hours=1)

    assert await engine.workflows.update(caller, created.id, HELLO) == created


async def test_a_workflow_can_be_renamed_unless_the_name_is_taken(engine: Engine, caller: Caller) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    await engine.workflows.create(caller, "taken", HELLO)

    renamed = await engine.workflows.update(caller, created.id, HELLO, name="hello", description="Changed")
    with pytest.raises(Conflict, match="'taken'"):
        await engine.workflows.update(caller, created.id, BYE, name="taken")

    assert (renamed.name, renamed.description, renamed.version) == ("hello", "Changed", 1)
    assert await engine.workflows.get(caller.workspace, created.id) == renamed


async def test_applying_creates_updates_or_leaves_alone(engine: Engine, caller: Caller) -> None:
    changes = [
        (await engine.workflows.apply(caller, "welcome", definition, description=description))[1]
        for definition, description in [(HELLO, None), (HELLO, None), (BYE, None), (BYE, "Words"), (BYE, "Words")]
    ]

    assert changes == ["created", "unchanged", "updated", "updated", "unchanged"]
    assert (await engine.workflows.find(caller.workspace, "welcome")).version == 2


async def test_a_create_whose_answer_was_lost_is_done_once(engine: Engine, caller: Caller) -> None:
    lossy = with_lossy_database(engine, lose=lambda count: count == 1)

    created = await lossy.workflows.create(caller, "welcome", HELLO)

    assert created.version == 1
    assert [one.number for one in await engine.workflows.versions(caller.workspace, created.id)] == [1]
    assert [line.event for line in await audited(engine, caller)] == ["created"]


@pytest.mark.parametrize("name", ["", "x" * 201, "a\x00b"])
async def test_a_name_must_be_one(engine: Engine, caller: Caller, name: str) -> None:
    with pytest.raises(InputInvalid, match="name"):
        await engine.workflows.create(caller, name, HELLO)


# Switching and deleting


async def test_an_inactive_workflow_starts_nothing_but_answers_for_the_past(engine: Engine, caller: Caller) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    first = await engine.executions.trigger(caller, created.id, {}, "k1")

    assert not (await engine.workflows.deactivate(caller, created.id)).active
    again = await engine.executions.trigger(caller, created.id, {}, "k1")
    with pytest.raises(Conflict, match="not active"):
        await engine.executions.trigger(caller, created.id, {}, "k2")
    assert (await engine.workflows.activate(caller, created.id)).active

    assert (again.duplicate, again.id) == (True, first.id)
    assert not (await engine.executions.trigger(caller, created.id, {}, "k2")).duplicate


async def test_an_active_workflow_that_was_triggered_cannot_be_deleted(engine: Engine, caller: Caller) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    await engine.executions.trigger(caller, created.id, {}, "k1")

    with pytest.raises(Conflict, match="deactivate"):
        await engine.workflows.delete(caller, created.id)

    assert await engine.workflows.get(caller.workspace, created.id) == created


async def test_a_deleted_workflow_is_gone_its_name_is_free_and_its_executions_go_on(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    started = await engine.executions.trigger(caller, created.id, {}, "k1")
    await engine.workflows.deactivate(caller, created.id)

    await engine.workflows.delete(caller, created.id)
    await work(engine)

    with pytest.raises(NotFound):
        await engine.workflows.get(caller.workspace, created.id)
    with pytest.raises(NotFound):
        await engine.executions.trigger(caller, "welcome", {}, "k2")
    assert (await engine.workflows.list(caller.workspace)).items == []
    assert (await engine.workflows.create(caller, "welcome", BYE)).version == 1
    shown = await engine.executions.get(caller.workspace, started.id)
    assert (shown.status, shown.workflow_name, len(provider.calls)) == ("completed", "welcome", 1)


async def test_an_active_workflow_that_was_never_triggered_can_be_deleted_once(engine: Engine, caller: Caller) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)

    await engine.workflows.delete(caller, created.id)

    with pytest.raises(NotFound):
        await engine.workflows.delete(caller, created.id)


async def test_a_delete_whose_answer_was_lost_is_done_once(engine: Engine, caller: Caller) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    lossy = with_lossy_database(engine, lose=lambda count: count == 2 + engine.kernel.shards)

    await lossy.workflows.delete(caller, created.id)

    assert len(await audited(engine, caller, "deleted")) == 1


# Whose it is


async def test_what_is_another_workspaces_is_not_found(engine: Engine, caller: Caller, stranger: Caller) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    flows, id = engine.workflows, created.id
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: flows.get(stranger.workspace, id),
        lambda: flows.find(stranger.workspace, "welcome"),
        lambda: flows.versions(stranger.workspace, id),
        lambda: flows.update(stranger, id, BYE),
        lambda: flows.activate(stranger, id),
        lambda: flows.deactivate(stranger, id),
        lambda: flows.delete(stranger, id),
        lambda: engine.executions.trigger(stranger, id, {}, "k1"),
    ]

    for attempt in attempts:
        with pytest.raises(NotFound):
            await attempt()

    assert await flows.get(caller.workspace, id) == created
    assert (await flows.list(Workspace("other", "default"))).items == []


async def test_every_change_is_in_the_audit_log(engine: Engine, caller: Caller, clock: ManualClock) -> None:
    created = await engine.workflows.create(caller, "welcome", HELLO)
    clock.advance(seconds=1)
    await engine.workflows.update(caller, created.id, BYE)
    await engine.workflows.update(caller, created.id, BYE)
    clock.advance(seconds=1)
    await engine.workflows.deactivate(caller, created.id)
    await engine.workflows.deactivate(caller, created.id)
    clock.advance(seconds=1)
    await engine.workflows.delete(caller, created.id)

    lines = sorted(await audited(engine, caller), key=lambda line: line.at)
    assert [(line.event, line.actor, line.subject_kind, line.subject_id) for line in lines] == [
        (event, "ann", "workflow", created.id) for event in ("created", "updated", "deactivated", "deleted")
    ]


# Lists


async def names(engine: Engine, caller: Caller, **where: object) -> list[str]:
    return [one.name for one in (await engine.workflows.list(caller.workspace, **where)).items]  # type: ignore[arg-type]


async def test_workflows_are_listed_newest_first_page_by_page(
    engine: Engine, caller: Caller, stranger: Caller, clock: ManualClock
) -> None:
    for number in range(5):
        clock.advance(seconds=1)
        await engine.workflows.create(caller, f"w{number}", HELLO)
    await engine.workflows.create(stranger, "theirs", HELLO)

    pages, cursor = [], None
    while True:
        page = await engine.workflows.list(caller.workspace, limit=2, cursor=cursor)
        pages.append([one.name for one in page.items])
        cursor = page.next_cursor
        if cursor is None:
            break

    assert pages == [["w4", "w3"], ["w2", "w1"], ["w0"]]


async def test_workflows_are_listed_by_name_and_by_whether_they_are_active(engine: Engine, caller: Caller) -> None:
    await engine.workflows.apply(caller, "one", HELLO)
    await engine.workflows.apply(caller, "one", BYE)
    two = await engine.workflows.create(caller, "two", HELLO, active=False)

    assert await names(engine, caller, name="one") == ["one"]
    assert await names(engine, caller, name="on") == []
    assert await names(engine, caller, active=True) == ["one"]
    assert await names(engine, caller, active=False) == ["two"]
    assert not two.active


@pytest.mark.parametrize("cursor", ["", "nonsense", "é", "AAAA", "x" * 5000, str(UUID(int=1))])
async def test_a_cursor_that_is_not_ours_is_refused_by_name(engine: Engine, caller: Caller, cursor: str) -> None:
    with pytest.raises(InputInvalid, match="cursor"):
        await engine.workflows.list(caller.workspace, cursor=cursor)


@pytest.mark.parametrize("limit", [0, -1, 1001])
async def test_a_page_has_a_size(engine: Engine, caller: Caller, limit: int) -> None:
    with pytest.raises(InputInvalid, match="limit"):
        await engine.workflows.list(caller.workspace, limit=limit)


async def test_a_workflow_that_becomes_active_just_before_it_is_deleted_is_not(
    engine: Engine, caller: Caller, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = await engine.workflows.create(caller, "flow", graph(delay("rest", "PT1H")))
    await engine.executions.trigger(caller, "flow", {}, "k1")
    await engine.workflows.deactivate(caller, workflow.id)
    now = clock.now

    async def activated_meanwhile() -> datetime:
        monkeypatch.setattr(clock, "now", now)
        await engine.workflows.activate(caller, workflow.id)
        return clock.time

    monkeypatch.setattr(clock, "now", activated_meanwhile)
    with pytest.raises(Conflict, match="active"):
        await engine.workflows.delete(caller, workflow.id)

    assert (await engine.workflows.get(caller.workspace, workflow.id)).active
