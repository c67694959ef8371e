"""The tutorial, played from its own page: its commands in their order, and what it says a reader sees.

A fence names what it is: `sh` runs in the second terminal and succeeds, `sh fails` does not, `sh terminal-1` runs in
the first one until the page ends, `sh install` is what CI did before. Each line of a `text` fence is looked for in
what the last command printed, or on the first terminal's screen; `…` stands for anything. Commands of the second
terminal are forked (tests/warm.py): new processes, without the second that Python takes to import them.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.terminals import PATIENCE_SECONDS, Screen, Terminal, empty_home
from tests.warm import Call, Warm

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text()
STATEMENT = re.compile(r"^(?:.*<<'END'\n.*?\nEND|(?:[^\n]*\\\n)*[^\n]+)$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w+) ?([\w-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    where: str
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


BLOCKS = [Block(*found) for found in FENCE.findall(PAGE)]


@pytest.fixture
def home() -> Iterator[Path]:
    with empty_home() as directory:
        yield directory


def test_the_tutorial_does_what_it_says(home: Path, forked: Warm) -> None:
    first, second = Terminal(home), Terminal(home)
    [start] = [block for block in BLOCKS if (block.language, block.where) == ("sh", "terminal-1")]
    *exports, command = start.lines
    for line in exports:
        first.export(line)
    first.exported["TIDINGS_PORT"] = "0"

    with first.running(*command.split()) as screen:
        played = [block for block in BLOCKS if block != start and block.where != "install"]
        Reader(second, screen, forked).play(played)


class Reader:
    """Somebody who pastes the page's commands into the second terminal, and looks at both."""

    def __init__(self, terminal: Terminal, screen: Screen, forked: Warm) -> None:
        self.terminal = terminal
        self.screen = screen
        self.forked = forked
        self.printed = ""

    def play(self, blocks: list[Block]) -> None:
        for block in blocks:
            if block.language == "sh":
                self.paste(block)
            else:
                self.look_for(block)

    def paste(self, block: Block) -> None:
        self.printed = ""
        for statement in STATEMENT.findall(block.text):
            status = self.run(statement)
            assert (status == 0) is (block.where != "fails"), (statement, self.printed)

    def run(self, statement: str) -> int:
        """Run one command; return its exit status."""
        name = statement.split(maxsplit=1)[0]
        if name not in {"cd", "tidings"}:
            return self.terminal.end("bash", "-c", statement).returncode
        arguments = shlex.split(statement.replace("\\\n", " "))[1:]
        if name == "cd":
            self.terminal.directory /= arguments[0]
            return 0
        call = Call(arguments, self.terminal.directory, self.terminal.environment)
        status, *outputs = self.forked.run(call, "", PATIENCE_SECONDS)
        self.printed += "".join(outputs)
        return status

    def look_for(self, block: Block) -> None:
        for line in block.lines:
            if block.where == "terminal-1":
                self.screen.wait_for(pattern(line))
            else:
                assert re.search(pattern(line), self.printed), (line, self.printed)


def pattern(line: str) -> str:
    """A line of the page, with any space between its words and anything where it has `…`."""
    return r"\s+".join(re.escape(word).replace("…", ".*") for word in line.split())


def test_every_fence_of_the_page_is_played() -> None:
    assert {(block.language, block.where) for block in BLOCKS} == {
        ("sh", ""),
        ("sh", "fails"),
        ("sh", "install"),
        ("sh", "terminal-1"),
        ("text", ""),
        ("text", "terminal-1"),
    }
    assert PAGE.count("```") == 2 * len(BLOCKS)
