"""Nothing depends on the shell that asks, nothing pretends to have been sent, and what waits says for whom."""

import asyncio
import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic

from tests.cli.conftest import Command
from tests.warm import Warm
from tidings.demo.processes import running_sink

DEADLINE_SECONDS = 50
WELCOME = {
    "name": "welcome",
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "The secret is 1815"}],
    "edges": [],
}
LETTER = {
    "name": "spring",
    "channel": "email",
    "content": {"subject": "Hello", "body": "News"},
    "audience": {"all": True},
}
ADA = '{"email": "ada@example.com"}'


def written(directory: Path, name: str, value: object) -> str:
    path = directory / name
    path.write_text(json.dumps(value))
    return str(path)


async def until_ended(tidings: Command, run: str) -> dict[str, object]:
    """Look at a run from another shell until it has ended."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            shown: dict[str, object] = (await asyncio.to_thread(tidings, "runs", "show", run, "--json")).json
            if shown["status"] not in ("queued", "running"):
                return shown
            await asyncio.sleep(0.2)


async def test_a_campaign_deployed_from_a_shell_without_settings_is_sent_by_the_worker_that_has_them(
    bare: Command, forked: Warm, tmp_path: Path
) -> None:
    assert bare("contacts", "create", "--data", '{"externalId": "ada", "email": "ada@example.com"}').status == 0
    assert bare("campaigns", "create", "--data", f"@{written(tmp_path, 'letter.json', LETTER)}").status == 0
    refused = bare("campaigns", "deploy", "spring").complaint
    async with running_sink(most=100) as sink:
        call = bare.call("worker", TIDINGS_SMTP_URL=sink.url, TIDINGS_ALLOW_PRIVATE_ADDRESSES="true")
        async with asyncio.timeout(DEADLINE_SECONDS), forked.running(call) as worker:
            while not (await asyncio.to_thread(bare, "workers", "list", "--json")).json:
                await asyncio.sleep(0.1)
            run = (await asyncio.to_thread(bare, "campaigns", "deploy", "spring", "--json")).json
            ended = await until_ended(bare, run["id"])
            arrived = await sink.arrived()
            worker.send_signal(signal.SIGTERM)
            assert await worker.wait() == 0

    assert "no provider is set up for email" in refused
    assert "TIDINGS_SMTP_URL" in refused
    assert (ended["status"], ended["provider"], ended["printed"]) == ("completed", "smtp", False)
    assert list(arrived.recipients) == ["ada@example.com"]
    assert bare("workers", "list", "--json").json == []
    listed = {one["name"]: one for one in bare("providers", "list", "--json").json}
    assert (listed["smtp"]["channels"], listed["smtp"]["servedBy"]) == (["email"], [])


def test_a_trigger_without_a_provider_says_what_to_do_and_the_workflow_what_is_missing(
    bare: Command, tmp_path: Path
) -> None:
    applied = bare("workflows", "apply", written(tmp_path, "welcome.json", WELCOME))
    refused = bare("trigger", "welcome", "--data", ADA, TIDINGS_PRINT="1").complaint

    assert applied.status == 0
    assert "not ready" in applied.out
    assert "--print" in refused
    assert "not ready: no provider is set up for email" in bare("workflows", "show", "welcome").out
    assert bare("workflows", "list", "--json").json[0]["notReady"] == ["email"]


def test_what_was_cancelled_and_is_deployed_again_is_said_to_be_cancelled(tidings: Command, tmp_path: Path) -> None:
    tidings("contacts", "create", "--data", '{"externalId": "ada", "email": "ada@example.com"}')
    tidings("campaigns", "create", "--data", f"@{written(tmp_path, 'letter.json', LETTER)}")
    run = tidings("campaigns", "deploy", "spring", "--json").json["id"]
    assert tidings("runs", "cancel", run).status == 0

    again = tidings("campaigns", "deploy", "spring")
    other = tidings("campaigns", "deploy", "spring", "--key", "once more")

    assert run in again.out
    assert "this run was cancelled" in again.out
    assert "--key" in again.out
    assert run not in other.out


def test_a_channel_loses_its_provider_by_a_command(tidings: Command) -> None:
    removed = tidings("providers", "unroute", "sms")

    assert "sms no longer goes through console-sms" in removed.out
    assert "no provider is set up for sms" in tidings("providers", "unroute", "sms").complaint
    names = [one["name"] for one in tidings("providers", "list", "--json").json]
    assert "console-sms" not in names
    assert "console-email" in names


async def test_what_is_printed_is_seen_on_a_terminal_marked_and_never_in_a_log(
    tidings: Command, forked: Warm, tmp_path: Path
) -> None:
    tidings("workflows", "apply", written(tmp_path, "welcome.json", WELCOME))
    id = tidings("trigger", "welcome", "--data", ADA, "--json").json["id"]
    async with asyncio.timeout(DEADLINE_SECONDS), forked.running(tidings.call("worker", "--print")) as worker:
        while (await asyncio.to_thread(tidings, "executions", "show", id, "--json")).json["status"] != "completed":
            await asyncio.sleep(0.2)
        worker.send_signal(signal.SIGTERM)
        said = await worker.stdout.read() + await worker.stderr.read()
        assert await worker.wait() == 0

    assert b"message_printed" in said
    assert b"1815" not in said
    assert b"ada@example.com" not in said
    assert "printed, not sent" in tidings("executions", "show", id).out
    assert on_terminal(tidings, tmp_path).count("The secret is 1815") == 1


def on_terminal(tidings: Command, tmp_path: Path) -> str:
    """What a worker prints on a terminal about one more message."""
    assert tidings("trigger", "welcome", "--data", ADA).status == 0
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "tidings", "worker", "--print"]
    worker = subprocess.Popen(
        command, cwd=tmp_path, env=tidings.environment({}), stdout=theirs, stderr=subprocess.DEVNULL
    )
    os.close(theirs)
    said = b""
    try:
        while b"1815" not in said:
            assert select.select([mine], [], [], DEADLINE_SECONDS)[0], "nothing was printed"
            said += os.read(mine, 10_000)
    finally:
        worker.terminate()
        assert worker.wait(DEADLINE_SECONDS) == 0
        os.close(mine)
    assert b"email to ada@example.com (printed, not sent)" in said
    return said.decode()


def test_work_without_a_worker_says_that_it_waits(tidings: Command, tmp_path: Path) -> None:
    tidings("workflows", "apply", written(tmp_path, "welcome.json", WELCOME))
    id = tidings("trigger", "welcome", "--data", ADA, "--json").json["id"]
    deadline = monotonic() + DEADLINE_SECONDS

    while "waiting: no worker is running" not in tidings("executions", "show", id).out:
        assert monotonic() < deadline, "it does not say so"

    assert "no worker is running" in tidings("workers", "list").out
