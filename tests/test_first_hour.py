"""The first hour as README tells it: new processes in new terminals, with nothing exported but what README says."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tidings import embedded

README = (Path(__file__).parent.parent / "README.md").read_text()
PATIENCE_SECONDS = 120
PEOPLE = """externalId,name,email,phone,First Name,tags
ada,Ada,ada@example.com,+442071838750,Ada,trial
bob,Bob,bob@example.com,,Bob,trial
"""
STEP = {
    "dayOffset": 0,
    "stepOrder": 0,
    "channel": "email",
    "subject": "Hi",
    "content": "Dear {{ contact.attributes.firstName }}",
}
CAMPAIGN = {
    "name": "hello",
    "channel": "sms",
    "content": {"body": "Hello {{ contact.name }}"},
    "audience": {"tag": "trial"},
}


class Terminal:
    """A shell with a home of its own, in which `export` is remembered and nothing else is set."""

    def __init__(self, home: Path) -> None:
        self.home = self.directory = home
        self.exported: dict[str, str] = {}

    @property
    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:{os.defpath}"
        return {"HOME": str(self.home), "PATH": path, "TERM": "xterm", **self.exported}

    def export(self, line: str) -> None:
        """Do what a line of the form `export NAME=value` says."""
        found = re.fullmatch(r"export (\w+)=(\S+)", line)
        assert found, line
        self.exported[found[1]] = found[2]

    def run(self, *command: str) -> str:
        """Run a command to its end, and return what it printed."""
        ended = self.end(*command)
        assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
        return ended.stdout

    def end(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=self.directory,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    @contextmanager
    def running(self, *command: str) -> Iterator["Screen"]:
        """Run a command in the foreground of a real terminal, and end it with Ctrl-C."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command, cwd=self.directory, env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        screen = Screen(ours)
        try:
            yield screen
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0, screen.text
        finally:
            process.kill()
            process.wait()
            screen.close()


class Screen:
    """What a terminal shows."""

    def __init__(self, descriptor: int) -> None:
        self.text = ""
        self._descriptor = descriptor
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def wait_for(self, pattern: str) -> str:
        """Return what matches, once it is there."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, (pattern, self.text)
            time.sleep(0.05)
        return found[0]

    def close(self) -> None:
        self._reading.join(PATIENCE_SECONDS)
        os.close(self._descriptor)

    def _read(self) -> None:
        while True:
            try:
                read = os.read(self._descriptor, 65_536)
            except OSError:  # how Linux says that nobody has the other side any more
                return
            if not read:
                return
            self.text += re.sub(r"\x1b\[[0-9;]*m", "", read.decode(errors="replace"))


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty home that root's server may enter; what is started in it is removed."""
    with tempfile.TemporaryDirectory(prefix="home-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)
        for place in Path(directory).glob("**/tidings"):
            asyncio.run(embedded.remove(place))


def blocks(language: str) -> list[str]:
    """README's examples in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def exports() -> list[str]:
    return [line for block in blocks("") for line in block.splitlines() if line.startswith("export ")]


@pytest.fixture
def program(home: Path) -> Path:
    """README's Python, as a file that one can run."""
    [example] = blocks("python")
    body = textwrap.indent(f"{example}\nawait engine.close()\n", "    ")
    file = home / "program.py"
    file.write_text(f"import asyncio\n\n\nasync def main():\n{body}\n\nasyncio.run(main())\n")
    return file


def test_readme_s_program_and_commands_work_in_new_terminals(home: Path, program: Path) -> None:
    first, second = Terminal(home), Terminal(home)
    for line in exports():
        first.export(line)
        second.export(line)
    (home / "people.csv").write_text(PEOPLE)
    (home / "trial.json").write_text(json.dumps({"steps": [STEP]}))
    (home / "hello.json").write_text(json.dumps(CAMPAIGN))

    first.run("python", str(program))
    with first.running("tidings", "up", "--port", "0") as up:
        up.wait_for(r"email to ada@example\.com \(printed, not sent\)\s+subject: Welcome, Ada")
        assert "welcome" in second.run("tidings", "workflows", "list")
        second.run("tidings", "contacts", "import", "people.csv")
        second.run("tidings", "sequences", "create", "trial", "--data", "@trial.json")
        second.run("tidings", "sequences", "publish", "trial")
        second.run("tidings", "sequences", "enroll", "trial", "--tag", "trial")
        up.wait_for(r"email to bob@example\.com \(printed, not sent\)\s+subject: Hi\s+body: Dear Bob")
        second.run("tidings", "campaigns", "create", "--data", "@hello.json")
        second.run("tidings", "campaigns", "deploy", "hello")
        up.wait_for(r"sms to \+442071838750 \(printed, not sent\)\s+body: Hello Ada")
        assert "console-email" in second.run("tidings", "providers", "list")
        assert second.run("tidings", "workers", "list")
        second.run("tidings", "verify")

    second.run("tidings", "db", "stop")  # the program had started it, so it has outlived `up`
    ended = second.end("tidings", "workflows", "list")
    assert str(home) in ended.stderr


def test_a_terminal_that_was_not_told_of_a_data_directory_says_where_it_looked(home: Path) -> None:
    first, second = Terminal(home), Terminal(home)

    with first.running("tidings", "up", "--port", "0", "--print", "--data-dir", str(home / "x" / "tidings")) as up:
        line = up.wait_for(r"export TIDINGS_DATA_DIR=\S+")
        untold = second.end("tidings", "workflows", "list")
        second.export(line)
        told = second.end("tidings", "workflows", "list")

    assert untold.returncode == 1
    assert str(home / ".local" / "share" / "tidings") in untold.stderr
    assert not (home / ".local").exists()
    assert told.returncode == 0, told.stderr


def test_nothing_is_sent_and_nothing_pretends_to_be_where_no_provider_is_set_up(home: Path, program: Path) -> None:
    terminal = Terminal(home)

    ended = terminal.end("python", str(program))

    assert ended.returncode != 0
    assert "channel_not_ready" in ended.stderr or "no provider" in ended.stderr
