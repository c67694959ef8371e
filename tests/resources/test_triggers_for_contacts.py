"""Starting work for a contact: whom a trigger may name, what must be given, and how executions are found by it."""

import asyncio
from uuid import UUID, uuid4

import pytest

from tests.kernel.people import ANN, make, start_for, to_contact
from tests.kernel.scenes import email, graph, work
from tests.resources.asking import executions_of
from tidings.domain.caller import Caller
from tidings.domain.errors import DataMissing, NotFound, TriggersInvalid
from tidings.domain.words import ShownStatus
from tidings.engine import Engine, Trigger
from tidings.resources.bulk import BulkTrigger

NOBODY = uuid4()


async def nothing_is_stored(engine: Engine) -> bool:
    return await executions_of(engine, ANN.workspace) == []


async def test_an_unknown_contact_is_refused_before_anything_is_stored(engine: Engine) -> None:
    await engine.define("flow", graph(to_contact()))

    with pytest.raises(TriggersInvalid, match=f"no contact '{NOBODY}'") as refused:
        await engine.executions.trigger(ANN, "flow", {}, "k1", contact_id=NOBODY)

    assert [one.place for one in refused.value.problems] == ["contactId"]
    assert await nothing_is_stored(engine)


async def test_another_workspaces_contact_is_unknown(engine: Engine, stranger: Caller) -> None:
    theirs = (await engine.contacts.create(stranger, {"email": "eve@example.com"}))[0].id
    await engine.define("flow", graph(to_contact()))

    with pytest.raises(TriggersInvalid, match="no contact"):
        await engine.executions.trigger(ANN, "flow", {}, "k1", contact_id=theirs)

    assert await nothing_is_stored(engine)


async def test_of_many_triggers_every_unknown_contact_is_told_with_its_place(engine: Engine) -> None:
    ada = await make(engine)
    await engine.define("flow", graph(to_contact(body="{{ order }}")))
    wishes = [BulkTrigger("flow", {"order": 1}, f"k{n}", id) for n, id in enumerate([ada, NOBODY, None, ada])]

    with pytest.raises(TriggersInvalid) as refused:
        await engine.executions.trigger_many(ANN, wishes)
    assert [one.place for one in refused.value.problems] == ["triggers[1]", "triggers[2]"]
    assert await nothing_is_stored(engine)

    started = await engine.executions.trigger_many(ANN, [wishes[0], wishes[3]])

    stored = await executions_of(engine, ANN.workspace)
    assert (len(started), [one.contact_id for one in stored]) == (2, [ada, ada])


@pytest.mark.parametrize(
    "node",
    [
        to_contact(),
        email(body="Dear {{ contact.name }}"),
        {"id": "hello", "type": "delay", "until": "{{ contact.attributes.since }}"},
    ],
    ids=["no to", "template", "until"],
)
async def test_what_needs_a_contact_is_refused_without_one(engine: Engine, node: dict[str, object]) -> None:
    await engine.define("flow", graph(node))

    with pytest.raises(DataMissing, match="contactId") as refused:
        await engine.trigger("flow", {"name": "Ada"}, "k1")

    assert refused.value.variables == ("contact",)
    assert await nothing_is_stored(engine)


async def test_required_fields_of_the_contact_need_not_be_given_with_one(engine: Engine) -> None:
    ada = await make(engine)
    await engine.define("flow", {**graph(to_contact()), "requiredFields": ["contact.email", "order"]})

    with pytest.raises(DataMissing) as refused:
        await engine.executions.trigger(ANN, "flow", {}, "k1", contact_id=ada)

    assert (refused.value.required, refused.value.variables) == (("order",), ())
    await engine.executions.trigger(ANN, "flow", {"order": 1}, "k1", contact_id=ada)


async def test_triggers_that_come_at_once_are_each_told_about_their_own_contact(engine: Engine) -> None:
    ada = await make(engine)
    await engine.define("flow", graph(to_contact()))

    answers = await asyncio.gather(
        *(engine.executions.trigger(ANN, "flow", {}, f"k{n}", contact_id=id) for n, id in enumerate([ada, NOBODY] * 5)),
        return_exceptions=True,
    )

    assert [isinstance(one, TriggersInvalid) for one in answers] == [False, True] * 5
    assert [one.contact_id for one in await executions_of(engine, ANN.workspace)] == [ada] * 5


async def test_executions_are_found_by_their_contact(engine: Engine, stranger: Caller) -> None:
    ada, bob = await make(engine), await make(engine, "bob", email="bob@example.com")
    hers = {await start_for(engine, ada, to_contact(), key=f"k{n}") for n in range(5)}
    await start_for(engine, bob, to_contact(), key="other")
    await engine.define("idle", graph(email()))
    await engine.trigger_many("idle", [Trigger("k9", {}, ada)])

    async def listed(**where: object) -> set[UUID]:
        page = await engine.executions.list(ANN.workspace, contact_id=ada, **where)  # type: ignore[arg-type]
        return {one.id for one in page.items}

    assert len(await listed()) == 6
    assert await listed(workflow="flow") == hers
    assert await listed(workflow="flow", status=ShownStatus.ENQUEUED) == hers
    await work(engine)
    assert await listed(workflow="flow", status=ShownStatus.COMPLETED) == hers
    assert await listed(status=ShownStatus.FAILED) == set()
    assert await listed(error="no such") == set()
    first = await engine.executions.list(ANN.workspace, contact_id=ada, limit=4)
    rest = await engine.executions.list(ANN.workspace, contact_id=ada, limit=4, cursor=first.next_cursor)
    assert (len(first.items), len(rest.items), rest.next_cursor) == (4, 2, None)
    with pytest.raises(NotFound, match="there is no contact"):
        await engine.executions.list(stranger.workspace, contact_id=ada)
