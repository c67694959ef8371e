"""The demo from end to end, small."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Command
from tests.cli.json_keys import odd_keys
from tidings.demo.sink import Mailbox


@pytest.mark.chaos
@pytest.mark.own_process
def test_the_demo_kills_a_worker_and_everything_agrees(anywhere: Command, tmp_path: Path) -> None:
    stage = tmp_path / "stage"
    stage.mkdir(mode=0o711)
    tmp_path.chmod(0o711)

    ended = anywhere("demo", "--people", "300", "--json", TMPDIR=str(stage))

    assert ended.status == 0, ended.err
    assert ended.json["agrees"] is True
    assert list(odd_keys(ended.json)) == []
    assert ended.json["campaign"]["parts"]["sent"] == ended.json["campaign"]["planned"] == 300
    assert ended.json["witnessed"]["duplicates"] == 0
    assert 120 <= ended.json["killed"]["sentUntilThen"] < 300  # it is killed half-way, however fast the machine is
    assert f"kill -9 {ended.json['killed']['pid']}" in ended.err
    assert "\x1b" not in ended.err
    assert "Warning" not in ended.err
    assert list(stage.iterdir()) == []


async def test_the_demo_s_mail_server_keeps_everybody_waiting_before_all_is_sent() -> None:
    """So the worker is killed half-way, and not when it is done."""
    mailbox, letter = Mailbox(most=1), SimpleNamespace(content=b"Message-ID: <a@b>", rcpt_tos=["ada@example.com"])
    first = await mailbox.handle_DATA(None, None, letter)
    second = asyncio.create_task(mailbox.handle_DATA(None, None, letter))
    await asyncio.sleep(0)
    held = mailbox.recipients.total(), second.done()

    mailbox.may_go_on.set()

    assert (first, held) == (await second, (1, False))
    assert mailbox.recipients.total() == 2


@pytest.mark.chaos
@pytest.mark.own_process
def test_a_demo_that_is_interrupted_leaves_nothing_behind(anywhere: Command, tmp_path: Path) -> None:
    stage = tmp_path / "stage"
    stage.mkdir(mode=0o711)
    tmp_path.chmod(0o711)
    with subprocess.Popen(
        [sys.executable, "-m", "tidings", "demo", "--people", "300"],
        cwd=anywhere.directory,
        env=anywhere.environment({"TMPDIR": str(stage), "PYTHONUNBUFFERED": "1"}),
        stdout=subprocess.PIPE,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        try:
            worker = next(int(line.split()[3]) for line in demo.stdout if " worker " in line)
            os.kill(worker, 0)
            demo.send_signal(signal.SIGTERM)
            rest = demo.stdout.read()
            status = demo.wait(timeout=30)
        finally:
            demo.kill()

    assert status == 130
    assert "stopped; its processes and files are gone" in rest
    assert list(stage.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
