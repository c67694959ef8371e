"""`tidings trigger`, `tidings executions` and `tidings dead-letters`, as a user runs them."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.cli.conftest import Command, Ended
from tests.conftest import ManualClock
from tidings.domain.flow.outcome import Rejected
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

WELCOME = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome, {{ name }}"},
        {"id": "wait", "type": "delay", "duration": "PT1H"},
    ],
    "edges": [{"from": "hello", "to": "wait"}],
}
ANN = json.dumps({"email": "ann@example.com", "name": "Ann"})


@pytest.fixture(autouse=True)
async def welcome(engine: Engine, clock: ManualClock) -> None:
    """A workflow, and a worker whose time is later than what commands write."""
    clock.time = datetime.now(UTC) + timedelta(minutes=5)
    await engine.define("welcome", WELCOME)


def start(tidings: Command, *more: str) -> str:
    started: str = tidings("trigger", "welcome", "--data", ANN, "--json", *more).json["id"]
    return started


async def work(engine: Engine, clock: ManualClock) -> None:
    """Move what is due; commands write by the real time, behind the worker's, and late rows are looked for seldom."""
    clock.advance(minutes=1)
    await engine.work_everything()


async def fail(
    tidings: Command, engine: Engine, clock: ManualClock, provider: FakeProvider, reason: str = "no such mailbox"
) -> str:
    """An execution that has failed for good."""
    provider.answer = Rejected(reason)
    failed = start(tidings)
    await work(engine, clock)
    return failed


async def beside_a_worker(engine: Engine, clock: ManualClock, tidings: Command, *arguments: str) -> Ended:
    """What a command leaves behind that waits while somebody works."""
    command = asyncio.create_task(asyncio.to_thread(tidings, *arguments))
    while not command.done():
        clock.advance(hours=1)
        await engine.work_everything()
        await asyncio.sleep(0.05)
    return await command


def test_a_key_starts_one_execution(tidings: Command) -> None:
    first = tidings("trigger", "welcome", "--data", ANN, "--key", "signup-1")
    again = tidings("trigger", "welcome", "--data", ANN, "--key", "signup-1")

    assert first.status == 0, first.err
    assert "welcome version 1" in first.out
    assert again.out == first.out.replace("version 1", "version 1 (this key had started it before)")


def test_without_a_key_each_trigger_starts_its_own(tidings: Command) -> None:
    assert start(tidings) != start(tidings)


def test_data_comes_from_a_file_or_standard_input(tidings: Command) -> None:
    (tidings.directory / "ann.json").write_text(ANN)

    from_file = tidings("trigger", "welcome", "--data", "@ann.json", "--json")
    from_input = tidings("trigger", "welcome", "--data", "@-", "--json", typed=ANN)

    assert from_file.json["inputPayload"] == json.loads(ANN)
    assert from_input.json["inputPayload"] == json.loads(ANN)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere", "--data", ANN], "nowhere"),
        (["welcome", "--data", "{"], "--data is no JSON: "),
        (["welcome", "--data", "[1]"], "--data is no JSON object; write it like "),
        (["welcome", "--data", "@gone.json"], "--data @gone.json cannot be read: "),
        (["welcome", "--data", "{}"], "email"),
        (["welcome"], "name"),
    ],
)
def test_what_cannot_be_started_is_one_line(tidings: Command, arguments: list[str], expected: str) -> None:
    assert expected in tidings("trigger", *arguments).complaint
    assert tidings("executions", "list").out == "there is no execution\n"


def test_waiting_without_a_worker_ends_and_says_how_to_go_on(tidings: Command) -> None:
    complaint = tidings("trigger", "welcome", "--data", ANN, "--wait", "--timeout", "0.5").complaint

    assert "is still enqueued after 0.5 s" in complaint
    assert "tidings executions watch" in complaint


async def test_waiting_ends_with_the_execution(tidings: Command, engine: Engine, clock: ManualClock) -> None:
    ended = await beside_a_worker(engine, clock, tidings, "trigger", "welcome", "--data", ANN, "--wait")

    assert ended.status == 0, ended.err
    assert "completed" in ended.out


async def test_waiting_for_what_fails_exits_1(
    tidings: Command, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.answer = Rejected("no such mailbox")

    ended = await beside_a_worker(engine, clock, tidings, "trigger", "welcome", "--data", ANN, "--wait")

    assert ended.status == 1
    assert "failed" in ended.out
    assert "no such mailbox" in ended.out


async def test_executions_are_listed_and_filtered(
    tidings: Command, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    failed = await fail(tidings, engine, clock, provider)
    waiting = start(tidings)

    assert [one["id"] for one in tidings("executions", "list", "--json").json] == [waiting, failed]
    assert [one["id"] for one in tidings("executions", "list", "--status", "failed", "--json").json] == [failed]
    assert [one["id"] for one in tidings("executions", "list", "--error", "such", "--json").json] == [failed]
    assert failed in tidings("executions", "list", "--workflow", "welcome").out
    assert tidings("executions", "list", "--status", "nonsense").status == 2


async def test_an_execution_is_shown_with_what_each_node_did(
    tidings: Command, engine: Engine, clock: ManualClock
) -> None:
    started = start(tidings)
    await work(engine, clock)

    shown, answer = tidings("executions", "show", started), tidings("executions", "show", started, "--json").json

    assert "hello" in shown.out
    assert "ann@example.com" in shown.out
    assert "hello" in [line["node"] for line in answer["log"]]
    assert answer["status"] == "processing"


async def test_watching_ends_by_itself(tidings: Command, engine: Engine, clock: ManualClock) -> None:
    ended = await beside_a_worker(engine, clock, tidings, "executions", "watch", start(tidings))

    assert ended.status == 0, ended.err
    assert ended.out.splitlines()[-1].startswith("completed at ")


async def test_watching_for_a_script_is_a_line_of_json_for_each_change(
    tidings: Command, engine: Engine, clock: ManualClock
) -> None:
    ended = await beside_a_worker(engine, clock, tidings, "executions", "watch", start(tidings), "--json")

    assert ended.status == 0, ended.err
    assert [json.loads(line)["status"] for line in ended.out.splitlines()][-1] == "completed"


async def test_on_a_terminal_watching_draws_what_each_node_did(
    tidings: Command, engine: Engine, clock: ManualClock
) -> None:
    tidings.settings["FORCE_COLOR"] = "1"  # what a terminal is to rich
    started = (await engine.trigger("welcome", json.loads(ANN), "k1")).id

    ended = await beside_a_worker(engine, clock, tidings, "executions", "watch", str(started))

    assert ended.status == 0, ended.err
    assert "hello" in ended.out
    assert "completed at " in ended.out


async def test_an_execution_is_paused_resumed_and_cancelled(
    tidings: Command, engine: Engine, clock: ManualClock
) -> None:
    started = start(tidings)

    paused = tidings("executions", "pause", started, "--json").json
    await work(engine, clock)
    held = tidings("executions", "show", started, "--json").json
    resumed = tidings("executions", "resume", started)
    cancelled = tidings("executions", "cancel", started)
    await work(engine, clock)

    assert (paused["status"], held["status"]) == ("paused", "paused")
    assert "goes on" in resumed.out
    assert "is told to end" in cancelled.out
    assert tidings("executions", "show", started, "--json").json["status"] == "cancelled"


async def test_a_failed_execution_is_started_again(
    tidings: Command, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    failed = await fail(tidings, engine, clock, provider)
    provider.answer = None

    again = tidings("executions", "retry", failed)
    await work(engine, clock)

    assert again.status == 0, again.err
    assert "is started again" in again.out
    assert tidings("executions", "show", failed, "--json").json["status"] == "processing"
    assert failed in tidings("executions", "retry", failed).complaint


async def test_dead_letters_are_replayed_after_a_dry_run(
    tidings: Command, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    failed = await fail(tidings, engine, clock, provider, "no such mailbox")
    other = await fail(tidings, engine, clock, provider, "mailbox full")

    listed = tidings("dead-letters", "list", "--error", "such", "--json").json
    dry = tidings("dead-letters", "replay", "--error", "such", "--dry-run")
    replayed = tidings("dead-letters", "replay", "--error", "such", "--json").json

    assert [one["id"] for one in listed] == [failed]
    assert "1 would be started again" in dry.out
    assert failed in dry.out
    assert (replayed["count"], replayed["executions"]) == (1, [failed])
    assert [one["id"] for one in tidings("dead-letters", "list", "--json").json] == [other]


def test_replaying_everything_must_be_said(tidings: Command) -> None:
    refused, both = tidings("dead-letters", "replay"), tidings("dead-letters", "replay", "--all", "--node", "hello")
    empty, dry = tidings("dead-letters", "replay", "--all"), tidings("dead-letters", "replay", "--dry-run")

    assert (refused.status, both.status) == (2, 2)
    assert "or say --all alone" in " ".join(refused.err.replace("│", " ").split())
    assert "0 started again" in empty.out
    assert "0 would be started again" in dry.out
    assert tidings("dead-letters", "list").out == "nothing has failed\n"


@pytest.mark.parametrize("verb", ["show", "watch", "cancel", "pause", "resume", "retry"])
def test_an_execution_that_is_not_there_is_one_line(tidings: Command, verb: str) -> None:
    missing = str(uuid4())

    assert missing in tidings("executions", verb, missing).complaint


def test_an_execution_of_another_workspace_is_not_there(tidings: Command) -> None:
    started = start(tidings)

    assert started in tidings("executions", "show", started, "--workspace", "other").complaint
    assert started in tidings("executions", "cancel", started, "--tenant", "other").complaint


async def test_work_is_started_for_a_contact_and_found_by_it(
    tidings: Command, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    hello = {"id": "hello", "type": "email", "subject": "Hi", "body": "Welcome, {{ contact.name }}"}
    await engine.define("hi", {"entryNodeId": "hello", "nodes": [hello], "edges": []})
    made = tidings(
        "contacts", "create", "--json", "--data", '{"externalId": "crm-1", "email": "a@example.com", "name": "A"}'
    )

    started = tidings("trigger", "hi", "--contact", "crm-1", "--json").json
    await work(engine, clock)

    assert started["contactId"] == made.json["id"]
    assert [call.payload["body"] for call in provider.calls] == ["Welcome, A"]
    listed = tidings("executions", "list", "--contact", "crm-1", "--json").json
    assert [one["id"] for one in listed] == [started["id"]]
    assert "no contact 'crm-2'" in tidings("trigger", "hi", "--contact", "crm-2").complaint
