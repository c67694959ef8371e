"""An engine on a database of its own, with the time in the test's hand."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.stored import stored_execution
from tests.testing.conftest import ADA, WELCOME
from tidings import App, Channel
from tidings.domain.errors import StorageUnavailable
from tidings.domain.flow.execution import ExecutionStatus
from tidings.providers.fake import FakeProvider
from tidings.storage.scratch import drop_scratch_database, make_scratch_database, tables_of
from tidings.testing import Rejected, RetryLater, Scratch, scratch_engine, scratch_server
from tidings.testing.scratch import SHARDS


async def databases(server: str) -> set[str]:
    connection = await asyncpg.connect(server)
    try:
        return {row["datname"] for row in await connection.fetch("select datname from pg_database")}
    finally:
        await connection.close()


async def test_what_is_due_happens_at_its_own_time_and_the_clock_stands_where_it_was_told(scratch: Scratch) -> None:
    began = scratch.clock.time
    await scratch.engine.define("welcome", WELCOME)
    await scratch.engine.trigger("welcome", ADA, "k")

    await scratch.run_until(began + timedelta(days=3) - timedelta(seconds=1))
    before = [(one.at, one.channel, one.recipient) for one in scratch.messages]
    await scratch.run_for(days=30)

    assert before == [(began, Channel.EMAIL, "ada@example.com")]
    assert [(one.at, one.channel, one.recipient) for one in scratch.messages] == [
        *before,
        (began + timedelta(days=3), Channel.SMS, "+442071838750"),
    ]
    assert scratch.messages[0].payload == {"body": "Welcome", "subject": "Hi Ada"}
    assert scratch.clock.time == began + timedelta(days=33) - timedelta(seconds=1)
    assert [check.name for check in await scratch.engine.verify() if check.offences] == []


async def test_work_does_what_is_due_now_and_moves_no_time(scratch: Scratch) -> None:
    began = scratch.clock.time
    await scratch.engine.define("welcome", WELCOME)
    await scratch.engine.trigger("welcome", ADA, "k")

    moved = await scratch.work()

    assert moved > 0
    assert await scratch.work() == 0
    assert [one.channel for one in scratch.messages] == [Channel.EMAIL]
    assert scratch.clock.time == began


async def test_what_appears_behind_what_was_looked_at_is_not_stepped_over(scratch: Scratch) -> None:
    """Claims begin where the last one ended; a clock that jumps must not miss a row that is due before that."""
    await scratch.engine.define("welcome", WELCOME)
    await scratch.engine.trigger("welcome", ADA, "k")
    await scratch.work()
    sql = await asyncpg.connect(scratch.url)
    await sql.execute("update tidings.queue set due_at = $1", scratch.clock.time - timedelta(days=1))
    await sql.execute(
        "update tidings.executions set frontier = jsonb_set(frontier, '{ready,0,1}', to_jsonb($1::text))",
        (scratch.clock.time - timedelta(days=1)).isoformat(),
    )
    await sql.close()

    await scratch.run_for(seconds=1)

    assert [one.channel for one in scratch.messages] == [Channel.EMAIL, Channel.SMS]


async def test_a_provider_answers_as_it_is_told_and_every_call_is_kept(scratch: Scratch) -> None:
    began = scratch.clock.time
    await scratch.engine.define("welcome", WELCOME)
    scratch.providers[Channel.EMAIL].script = {ADA["email"]: [RetryLater("busy")]}
    scratch.providers[Channel.SMS].answer = Rejected("no such number")
    started = await scratch.engine.trigger("welcome", ADA, "k")

    await scratch.run_for(days=4)

    first, second, third = scratch.calls
    assert (first.channel, first.was_accepted, first.at) == (Channel.EMAIL, False, began)
    assert second.channel is Channel.EMAIL
    assert second.was_accepted
    assert second.at > began
    assert third.outcome == Rejected("no such number")
    assert scratch.messages == [second]
    assert (await stored_execution(scratch.engine, started.id)).status is ExecutionStatus.FAILED


async def test_the_functions_of_an_app_are_called_and_its_providers_are_not(server: str) -> None:
    called: list[tuple[str, Mapping[str, Any]]] = []
    real = FakeProvider("real")

    async def score(action: str, payload: Mapping[str, Any]) -> dict[str, int]:
        called.append((action, payload))
        return {"points": 7}

    app = App(providers=[real], routes={Channel.EMAIL: "real"}, functions={"score": score})
    definition = {
        "entryNodeId": "score",
        "nodes": [
            {"id": "score", "type": "function", "function": "score", "action": "of", "payload": {"who": "{{ name }}"}},
            {"id": "tell", "type": "email", "to": "{{ email }}", "subject": "{{ vars.score.points }}", "body": "!"},
        ],
        "edges": [{"from": "score", "to": "tell"}],
    }
    async with scratch_engine(server=server, app=app) as scratch:
        await scratch.engine.define("score", definition)
        await scratch.engine.trigger("score", ADA, "k")
        await scratch.work()

        assert called == [("of", {"who": "Ada"})]
        assert [one.payload["subject"] for one in scratch.messages] == ["7"]
    assert real.calls == []


async def test_each_has_a_database_of_its_own_which_is_gone_at_the_end(server: str) -> None:
    async with scratch_engine(server=server) as one, scratch_engine(server=server) as other:
        await one.engine.define("welcome", WELCOME)
        names = {urlsplit(scratch.url).path[1:] for scratch in (one, other)}

        assert len(names) == 2
        assert names <= await databases(server)
        assert (await other.engine.workflows.list(other.caller.workspace)).items == []

    assert not names & await databases(server)


async def test_many_at_once_make_one_template(server: str) -> None:
    made = await asyncio.gather(*(make_scratch_database(server, shards=SHARDS) for _ in range(3)))

    assert f"tidings_scratch_template_{tables_of(SHARDS)}" in await databases(server)
    for url in made:
        await drop_scratch_database(server, url)


async def test_it_begins_when_it_is_told(server: str) -> None:
    start = datetime(2030, 12, 31, 23, 59, tzinfo=UTC)

    async with scratch_engine(server=server, start=start) as scratch:
        assert scratch.clock.time == start


async def test_a_server_that_does_not_answer_is_named() -> None:
    with pytest.raises(StorageUnavailable, match=r"127\.0\.0\.1:1"):
        async with scratch_engine(server="postgresql://nobody@127.0.0.1:1/postgres"):
            pass


def test_a_server_for_a_test_run_is_gone_at_its_end() -> None:
    """As a fixture of any scope holds it: outside of every loop."""

    async def use(address: str) -> int:
        async with scratch_engine(server=address) as scratch:
            await scratch.engine.define("welcome", WELCOME)
            await scratch.engine.trigger("welcome", ADA, "k")
            await scratch.run_for(days=3)
            return len(scratch.messages)

    with scratch_server() as address:
        assert asyncio.run(use(address)) == 2
        assert asyncio.run(use(address)) == 2

    with pytest.raises(OSError, match=r"Connect|refused|connect"):
        asyncio.run(asyncpg.connect(address))
