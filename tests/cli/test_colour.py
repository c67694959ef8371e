"""Colour and other codes for terminals: on a terminal, and nowhere else."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]
WELCOME = {
    "name": "welcome",
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}


def on_a_terminal(arguments: Sequence[str], environment: dict[str, str], directory: Path = ROOT) -> str:
    """What a program shows on a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=directory
    ) as process:
        os.close(theirs)
        shown = read_all(ours)
    assert process.returncode == 0, shown
    return shown


def read_all(terminal: int) -> str:
    read = b""
    try:
        while piece := os.read(terminal, 65_536):
            read += piece
    except OSError:  # a terminal whose last process has gone
        pass
    os.close(terminal)
    return read.decode()


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR", "MAKEFLAGS"}}
    return kept | {"TERM": "xterm-256color"} | more


def test_no_command_colours_what_goes_into_a_pipe(tidings: Command) -> None:
    (tidings.directory / "welcome.json").write_text(json.dumps(WELCOME))
    commands = [
        ["workflows", "apply", "welcome.json"],
        *(["workflows", "show", "welcome"], ["workflows", "validate", "welcome.json"], ["workflows", "show", "none"]),
        ["trigger", "welcome", "--data", '{"email": "ann@example.com"}'],
        *(
            [group, "list"]
            for group in ("workflows", "executions", "campaigns", "runs", "sequences", "rules", "events")
        ),
        *([group, "list"] for group in ("contacts", "segments", "keys", "providers", "dead-letters")),
        *(["outbox", "in-doubt"], ["db", "status"], ["verify"], ["verify", "--no-such-option"], ["--help"]),
        ["keys", "create", "app", "--role", "systemAdmin"],
    ]

    for command in commands:
        ended = tidings(*command, TERM="xterm-256color")
        assert "\x1b" not in ended.out + ended.err, command


def test_a_worker_s_log_in_a_pipe_is_plain(tidings: Command) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tidings", "worker"],
        env=tidings.environment({"TERM": "xterm-256color"}),
        cwd=tidings.directory,
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stderr is not None
        line = next(line for line in worker.stderr if "worker_started" in line)  # or the process ends without it
        worker.send_signal(signal.SIGTERM)
        rest = worker.stderr.read()

    assert worker.returncode == 0
    assert "\x1b" not in line + rest


def log_line(stream_is: str, **settings: str) -> str:
    """A log line as a command writes it to a terminal, or through a pipe."""
    program = (
        "import structlog; from tidings.cli.running import config_from; config_from();"
        "structlog.get_logger().info('started', worker='w1')"
    )
    if stream_is == "a terminal":
        return on_a_terminal([sys.executable, "-c", program], environment(**settings))
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment(**settings), capture_output=True, text=True, check=True
    )
    return ended.stderr


@pytest.mark.parametrize(
    ("stream_is", "settings", "coloured"),
    [
        ("a terminal", {}, True),
        ("a terminal", {"NO_COLOR": "1"}, False),
        ("a terminal", {"TERM": "dumb"}, False),
        ("a pipe", {}, False),
        ("a pipe", {"FORCE_COLOR": "1"}, True),
    ],
)
def test_log_lines_obey_the_terminal_and_what_is_asked_for(
    stream_is: str, settings: dict[str, str], coloured: bool
) -> None:
    line = log_line(stream_is, **settings)

    assert "started" in line
    assert ("\x1b" in line) is coloured


@pytest.mark.own_process
def test_help_in_a_pipe_is_plain_even_where_typer_would_colour_it(anywhere: Command) -> None:
    assert "\x1b" not in anywhere("--help", GITHUB_ACTIONS="true", TERM="xterm-256color").out
    assert "\x1b" in anywhere("--help", FORCE_COLOR="1", TERM="xterm-256color").out


def test_make_help_is_coloured_on_a_terminal_only() -> None:
    make = ["make", "--no-print-directory", "help"]
    piped = subprocess.run(make, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)

    assert "\x1b" not in piped.stdout + piped.stderr
    assert "\x1b[36minstall" in on_a_terminal(make, environment())
    assert "\x1b" not in on_a_terminal(make, environment(NO_COLOR="1"))
