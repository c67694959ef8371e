"""The decorator that makes a command of an async function."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.cli.conftest import Command
from tests.cli.test_json import COMMANDS
from tidings.cli.command import Refused, command
from tidings.cli.given import Json, read_data
from tidings.cli.opened import Called
from tidings.cli.options import Read
from tidings.cli.output import print_line

ONLY_SHARED = {"--tenant", "--workspace", "--actor", "--database-url", "--data-dir", "--json"}


@dataclass(frozen=True, slots=True)
class Greeting:
    """Whom to greet, and how; options that are checked together."""

    name: Annotated[str, typer.Argument()]
    loud: Annotated[bool, typer.Option("--loud")] = False
    soft: Annotated[bool, typer.Option("--soft")] = False

    def __post_init__(self) -> None:
        if self.loud and self.soft:
            raise typer.BadParameter("choose one of --loud and --soft")


def said(words: Sequence[str]) -> None:
    print_line(" ".join(words))


def run(app: typer.Typer, *arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=typed)


@pytest.fixture
def greet() -> typer.Typer:
    app = typer.Typer()

    @command(app, shows=said, answers=lambda words: {"words": words}, fails=lambda words: "nobody" in words)
    async def greet(
        _: Called, greeting: Greeting, data: Annotated[Json, typer.Option(), Read(read_data, default="{}")]
    ) -> list[str]:
        """Greet somebody."""
        hello = "HELLO" if greeting.loud else "hello"
        return [hello, greeting.name, *(f"{name}={value}" for name, value in data.items())]

    return app


def test_what_is_returned_is_shown_to_people_or_answered_as_json(greet: typer.Typer) -> None:
    assert run(greet, "ann", "--data", '{"age": 9}').output == "hello ann age=9\n"
    assert json.loads(run(greet, "ann", "--loud", "--json").output) == {"words": ["HELLO", "ann"]}


def test_the_exit_status_says_whether_it_failed(greet: typer.Typer) -> None:
    assert (run(greet, "ann").exit_code, run(greet, "nobody").exit_code) == (0, 1)
    assert run(greet, "nobody", "--json").exit_code == 1


def test_options_that_belong_together_are_options_like_others_and_checked_together(greet: typer.Typer) -> None:
    shown, wrong = run(greet, "--help").output, run(greet, "ann", "--loud", "--soft")

    assert all(words in shown for words in ("name", "--loud", "--soft", "--data", "--json", "Greet somebody."))
    assert (wrong.exit_code, "choose one of --loud and --soft" in wrong.stderr) == (2, True)


def test_what_is_wrong_with_the_input_is_said_line_by_line_or_in_one_answer() -> None:
    app = typer.Typer()

    def read(_: str) -> Json:
        raise Refused(["one is wrong", "two is wrong"], {"errors": [1, 2]})

    @command(app, shows=said)
    async def check(_: Called, file: Annotated[Json, typer.Argument(), Read(read)]) -> list[str]:
        return list(file)

    assert (run(app, "x").exit_code, run(app, "x").output) == (1, "one is wrong\ntwo is wrong\n")
    assert json.loads(run(app, "x", "--json").output) == {"errors": [1, 2]}


def test_a_question_is_asked_before_anything_is_opened_and_never_among_the_answers() -> None:
    app = typer.Typer()

    @command(app, shows=said, asks=lambda name: f"Forget {name}?" if name != "nobody" else None)
    async def forget(_: Called, name: Annotated[str, typer.Argument()]) -> list[str]:
        return [name]

    refused, agreed = run(app, "ann", "--json", typed="n\n"), run(app, "ann", "--json", typed="y\n")

    assert (refused.exit_code, "ann" in refused.stdout) == (1, False)
    assert ("Forget ann?" in agreed.stderr, "Forget" in agreed.stdout) == (True, False)
    assert run(app, "ann", "--yes").output == run(app, "ann", "--yes", typed="n\n").output == "ann\n"
    assert run(app, "nobody").output == "nobody\n"


def test_input_is_read_and_questions_are_asked_before_a_database_is_looked_for(anywhere: Command) -> None:
    assert "--data is no JSON" in anywhere("contacts", "create", "--data", "{").complaint
    assert "Erase ann for ever?" in anywhere("contacts", "delete", "ann", typed="n\n").err


def test_a_command_has_the_options_of_what_it_works_with() -> None:
    def shared(name: str) -> set[str]:
        return ONLY_SHARED & {option for one in COMMANDS[name].params for option in one.opts}

    database = {"--database-url", "--data-dir", "--json"}
    assert shared("workflows validate") == {"--json"}
    assert shared("db status") == shared("verify") == database
    assert shared("providers unroute") == database | {"--actor"}
    assert shared("outbox in-doubt") == ONLY_SHARED - {"--actor"}
    assert shared("outbox resolve") == ONLY_SHARED
    assert shared("db stop") == {"--data-dir", "--json"}
