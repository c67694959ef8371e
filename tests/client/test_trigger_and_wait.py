"""Starting work and waiting for it, as a program does it."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest

from tests.client.conftest import EXECUTION, KEY, Cut, Reply, Script, execution, problem
from tidings.client import Client, Execution, Invalid, WaitTimeout


async def test_a_trigger_names_the_workflow_the_data_and_the_key(client: Client, script: Script) -> None:
    script.answers(Reply(201, execution(duplicate=False)))

    started = await client.trigger("welcome", {"name": "Ada"}, "signup-1")

    [asked] = script.asked
    assert (asked.method, asked.path) == ("POST", "/v1/triggers")
    assert asked.body == {"workflow": "welcome", "idempotencyKey": "signup-1", "data": {"name": "Ada"}}
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert (started.execution.id, started.idempotency_key) == (UUID(EXECUTION), "signup-1")
    assert not started.duplicate


async def test_an_answer_is_typed_and_what_is_new_in_it_is_left_out(client: Client, script: Script) -> None:
    script.answers(Reply(200, execution("processing", cursor="hello", somethingNew={"a": 1})))

    found = await client.status(EXECUTION)

    assert found.created_at == datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    assert (found.status, found.cursor, found.total_steps) == ("processing", "hello", 2)
    assert found.input_payload == {"name": "Ada", "camelCase": 1}  # nothing inside a user's data is renamed
    assert not found.has_ended


async def test_a_key_that_was_used_before_is_a_duplicate(client: Client, script: Script) -> None:
    script.answers(Reply(200, execution("completed", duplicate=True)))

    assert (await client.trigger("welcome", {}, "signup-1")).duplicate


@pytest.mark.parametrize("lost", [Cut(), Reply(502), Reply(503), Reply(504)])
async def test_a_trigger_without_a_key_makes_one_before_its_first_try(
    client: Client, script: Script, lost: Reply | Cut
) -> None:
    script.answers(lost, lost, Reply(200, execution(duplicate=True)))

    started = await client.trigger("welcome", {})

    keys = {asked.body["idempotencyKey"] for asked in script.asked}
    assert len(script.asked) == 3
    assert keys == {started.idempotency_key}
    assert not started.duplicate  # what arrived twice was our own


async def test_two_triggers_without_a_key_have_two_keys(client: Client, script: Script) -> None:
    script.answers(Reply(201, execution()))

    await client.trigger("welcome", {})
    await client.trigger("welcome", {})

    assert len({asked.body["idempotencyKey"] for asked in script.asked}) == 2


async def test_missing_data_is_refused_with_every_name(client: Client, script: Script) -> None:
    missing = [{"place": "data.name", "message": "is missing"}, {"place": "data.email", "message": "is missing"}]
    script.answers(problem(422, "data_missing", "Missing required fields: name, email", *missing))

    with pytest.raises(Invalid, match="Missing required fields: name, email") as refused:
        await client.trigger("welcome", {})

    assert [str(one) for one in refused.value.errors] == ["data.name: is missing", "data.email: is missing"]
    assert len(script.asked) == 1


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
async def test_waiting_ends_with_the_execution_and_tells_of_each_look(client: Client, script: Script, end: str) -> None:
    script.answers(Reply(200, execution()), Reply(200, execution("processing")), Reply(200, execution(end)))
    seen: list[str] = []

    ended = await client.wait(EXECUTION, poll=0.001, on_progress=lambda one: seen.append(one.status))

    assert ended.status == end
    assert seen == ["enqueued", "processing", end]


async def test_progress_may_be_told_to_a_coroutine(client: Client, script: Script) -> None:
    script.answers(Reply(200, execution("completed")))
    seen: list[str] = []

    async def tell(one: Execution) -> None:
        await asyncio.sleep(0)
        seen.append(one.status)

    await client.wait(EXECUTION, on_progress=tell)

    assert seen == ["completed"]


async def test_waiting_too_long_says_how_long_it_was(client: Client, script: Script) -> None:
    script.answers(Reply(200, execution("processing")))

    with pytest.raises(WaitTimeout, match=r"still processing after 0.2 s") as late:
        await client.wait(EXECUTION, poll=30.0, timeout=0.2)

    assert isinstance(late.value, TimeoutError)
    assert (late.value.seconds, late.value.status) == (0.2, "processing")
    assert len(script.asked) == 2  # now, and once more when the time is up
