"""`tidings workflows`, as a user runs it."""

from pathlib import Path
from uuid import uuid4

import pytest

from tests.cli.conftest import Command

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "workflows").glob("*.yaml"))
WELCOME = """
name: welcome
description: Says hello
entryNodeId: hello
nodes:
  - {id: hello, type: email, to: "{{ email }}", subject: Hi, body: Welcome}
  - {id: wait, type: delay, duration: PT1H}
edges:
  - {from: hello, to: wait}
"""
WRONG = """
name: wrong
entryNodeId: nowhere
nodes:
  - {id: hello, type: email, to: "{{ email", subject: Hi, body: Welcome}
  - {id: wait, type: delay, duration: soon}
edges:
  - {from: hello, to: gone}
"""


@pytest.fixture
def welcome(tidings: Command) -> Path:
    """A file with one workflow."""
    file = tidings.directory / "welcome.yaml"
    file.write_text(WELCOME)
    return file


def test_applying_creates_then_leaves_then_updates(tidings: Command, welcome: Path) -> None:
    first = tidings("workflows", "apply", str(welcome), "--json").json
    again = tidings("workflows", "apply", str(welcome), "--json").json
    welcome.write_text(WELCOME.replace("PT1H", "PT2H"))
    changed = tidings("workflows", "apply", str(welcome), "--json").json

    assert [(one["change"], one["version"]) for [one] in (first, again, changed)] == [
        ("created", 1),
        ("unchanged", 1),
        ("updated", 2),
    ]
    assert first[0]["id"] == changed[0]["id"]


def test_what_was_applied_is_printed_as_a_table(tidings: Command) -> None:
    shown = tidings("workflows", "apply", *map(str, EXAMPLES))

    assert shown.status == 0, shown.err
    for name in ("proposal_accepted", "listing_submitted", "user_signup_complete", "email_delay_sms"):
        assert name in shown.out
    assert shown.out.count("created") == len(EXAMPLES)


def test_one_wrong_file_keeps_everything_as_it_is(tidings: Command, welcome: Path) -> None:
    wrong = tidings.directory / "wrong.yaml"
    wrong.write_text(WRONG)

    refused = tidings("workflows", "apply", str(welcome), str(wrong))

    assert refused.status == 1
    assert tidings("workflows", "list", "--json").json == []


def test_active_in_a_file_switches_the_workflow(tidings: Command, welcome: Path) -> None:
    welcome.write_text(WELCOME + "active: false\n")
    [off] = tidings("workflows", "apply", str(welcome), "--json").json
    welcome.write_text(WELCOME + "active: true\n")
    [on] = tidings("workflows", "apply", str(welcome), "--json").json

    assert (off["active"], off["change"]) == (False, "created")
    assert (on["active"], on["change"]) == (True, "updated")


def test_validation_says_every_problem_with_file_line_and_place(anywhere: Command) -> None:
    wrong = anywhere.directory / "wrong.yaml"
    wrong.write_text(WRONG)

    said, answer = (
        anywhere("workflows", "validate", "wrong.yaml"),
        anywhere("workflows", "validate", "wrong.yaml", "--json"),
    )

    assert (said.status, answer.status) == (1, 1)
    places = [problem["place"] for problem in answer.json["errors"]]
    assert {"entryNodeId", "nodes[0].to", "nodes[1].duration", "edges[0].to"} <= set(places)
    assert len(said.out.splitlines()) == len(places)
    assert "wrong.yaml:6: wrong: nodes[1].duration: " in said.out
    assert not (anywhere.directory / "data").exists()  # it needs no database


def test_valid_files_are_said_to_be_so(anywhere: Command) -> None:
    said = anywhere("workflows", "validate", *map(str, EXAMPLES))

    assert said.status == 0
    assert said.out.startswith("valid: ")


def test_a_workflow_is_drawn_with_its_versions(tidings: Command, welcome: Path) -> None:
    tidings("workflows", "apply", str(welcome))
    welcome.write_text(WELCOME.replace("PT1H", "PT2H"))
    tidings("workflows", "apply", str(welcome))

    shown, answer = tidings("workflows", "show", "welcome"), tidings("workflows", "show", "welcome", "--json").json

    assert "✉ hello  email  to {{ email }}: Hi" in shown.out
    assert "◷ wait  delay  PT2H" in shown.out
    assert "Says hello" in shown.out
    assert sorted(version["number"] for version in answer["versions"]) == [1, 2]
    assert tidings("workflows", "show", answer["id"], "--json").json == answer


def test_workflows_are_listed_and_filtered(tidings: Command, welcome: Path) -> None:
    tidings("workflows", "apply", str(welcome), *map(str, EXAMPLES))
    tidings("workflows", "deactivate", "welcome")

    shown = tidings("workflows", "list")
    active = tidings("workflows", "list", "--active", "--json").json
    inactive = tidings("workflows", "list", "--inactive", "--json").json

    assert "welcome" in shown.out
    assert len(active) == len(EXAMPLES)
    assert [one["name"] for one in inactive] == ["welcome"]
    assert tidings("workflows", "list", "--workspace", "other").out == "there is no workflow\n"


def test_a_triggered_workflow_is_removed_only_when_it_is_not_active(tidings: Command, welcome: Path) -> None:
    tidings("workflows", "apply", str(welcome))
    tidings("trigger", "welcome", "--data", '{"email": "ann@example.com"}')

    refused = tidings("workflows", "delete", "welcome", "--yes")
    switched = tidings("workflows", "deactivate", "welcome")
    removed = tidings("workflows", "delete", str(welcome), "--yes")

    assert "welcome" in refused.complaint
    assert switched.out == "welcome is not active\n"
    assert removed.out == "welcome is removed\n"
    assert tidings("workflows", "list", "--json").json == []


def test_removing_asks_first(tidings: Command, welcome: Path) -> None:
    tidings("workflows", "apply", str(welcome))

    kept = tidings("workflows", "delete", "welcome", typed="n\n")

    assert kept.status == 1
    assert "Remove welcome?" in kept.err
    assert len(tidings("workflows", "list", "--json").json) == 1


@pytest.mark.parametrize("arguments", [["show"], ["activate"], ["delete", "--yes"]])
def test_a_workflow_that_is_not_there_is_one_line(tidings: Command, arguments: list[str]) -> None:
    assert "nothing_here" in tidings("workflows", *arguments, "nothing_here").complaint
    missing = str(uuid4())
    assert missing in tidings("workflows", *arguments, missing).complaint
