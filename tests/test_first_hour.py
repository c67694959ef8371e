"""The first hour as README tells it: new processes in new terminals, with nothing exported but what README says."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminals import Terminal, empty_home

README = (Path(__file__).parent.parent / "README.md").read_text()


@pytest.fixture
def home() -> Iterator[Path]:
    with empty_home() as directory:
        yield directory


def blocks(language: str) -> list[str]:
    """README's examples in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def exports() -> list[str]:
    """What README exports, but for the way to the command: these terminals have it."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("export TIDINGS_")]


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

    first.run("python", str(program))
    with first.running("tidings", "up", "--port", "0") as up:
        up.wait_for(r"email to ada@example\.com \(printed, not sent\)\s+subject: Welcome, Ada")
        assert "welcome" in second.run("tidings", "workflows", "list")
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
