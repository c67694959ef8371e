"""A forked command is what a user starts: it says the same, and nothing of it is left in the next one."""

from dataclasses import replace

import pytest

from tests.cli.conftest import Command, Ended
from tests.warm import Warm

APP = """
import json, os, sys
import tidings

seen = {name: os.environ.get(name) for name in ("TIDINGS_BATCH", "TIDINGS_POLL_SECONDS")}
print(json.dumps({**seen, "typed": sys.stdin.read(), "cwd": os.getcwd(), "left": hasattr(tidings, "left")}))
tidings.left = True
sys.exit(7)
"""


@pytest.mark.own_process
def test_a_forked_command_says_what_a_new_process_says(tidings: Command, forked: Warm) -> None:
    (tidings.directory / "broken.py").write_text("raise ZeroDivisionError('nobody foresaw this')")

    def every_end(command: Command) -> list[Ended]:
        return [
            command("verify"),
            command("verify", COLUMNS="60"),
            command("verify", TIDINGS_BATCH="many"),
        ]

    crash = replace(tidings, warm=forked)("worker", "--app", "broken:app")

    assert every_end(tidings) == every_end(replace(tidings, warm=forked))
    assert (crash.status, crash.err.splitlines()[-1]) == (1, "ZeroDivisionError: nobody foresaw this")


def test_a_forked_command_has_what_it_is_given_and_nothing_of_the_one_before(anywhere: Command) -> None:
    (anywhere.directory / "app.py").write_text(APP)

    first = anywhere("worker", "--app", "app", typed="one", TIDINGS_BATCH="7")
    second = anywhere("worker", "--app", "app", TIDINGS_POLL_SECONDS="3")

    same = {"cwd": str(anywhere.directory), "left": False}
    assert first.status == second.status == 7
    assert first.json == {"TIDINGS_BATCH": "7", "TIDINGS_POLL_SECONDS": None, "typed": "one", **same}
    assert second.json == {"TIDINGS_BATCH": None, "TIDINGS_POLL_SECONDS": "3", "typed": "", **same}
