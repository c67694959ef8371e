"""`tidings simulate` as a user runs it: a calendar, a plot, and JSON; nothing is started."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.testing.conftest import ADA, WELCOME
from tidings.cli.calendar import bar, rows_of, sparkline
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.simulation import Hour
from tidings.engine import Engine


@pytest.fixture
def caller() -> Caller:
    return Caller(Workspace(), "ann")


@pytest.fixture
def welcome(tidings: Command, tmp_path: Path) -> Command:
    file = tmp_path / "welcome.json"
    file.write_text(json.dumps({"name": "welcome", **WELCOME}))
    assert tidings("workflows", "apply", str(file)).status == 0
    return tidings


def test_a_workflow_s_weeks_are_shown_as_a_calendar_with_bars_and_messages(welcome: Command) -> None:
    alone = replace(welcome, server=None)  # it starts a server for itself, as everywhere but in tests
    ended = alone("simulate", "workflow", "welcome", "--data", json.dumps(ADA), "--from", "2026-03-02T09:00:00Z")

    assert ended.status == 0, ended.err
    assert "workflow welcome (version 1)" in ended.out
    assert "2 sent, 0 skipped, 0 failed" in ended.out
    assert "Mon 2026-03-02" in ended.out
    assert "Thu 2026-03-05" in ended.out
    assert "████" in ended.out
    assert "hour of the day" in ended.out
    assert "body: Still there, Ada?" in ended.out
    assert welcome("executions", "list", "--json").json == []


def test_a_definition_in_a_file_is_simulated_as_it_would_be_with_json_for_scripts(
    welcome: Command, tmp_path: Path
) -> None:
    file, people = tmp_path / "changed.json", tmp_path / "people.json"
    file.write_text(json.dumps({"name": "welcome", **WELCOME}).replace("P3D", "P7D"))
    people.write_text(json.dumps([ADA, ADA]))

    found = welcome(
        *("simulate", "workflow", "welcome", "--file", str(file), "--data", f"@{people}", "--days", "8"),
        *("--from", "2026-03-02T23:30:00Z", "--zone", "Europe/Berlin", "--json"),
    ).json

    hours = [(hour["day"], hour["hour"], hour["step"], hour["channel"], hour["count"]) for hour in found["calendar"]]
    assert hours == [("2026-03-03", 0, "hello", "email", 2), ("2026-03-10", 0, "nudge", "sms", 2)]
    assert (found["complete"], found["ended"], found["timeZone"]) == (True, {"completed": 2}, "Europe/Berlin")
    assert found["version"] is None


BAD: dict[str, tuple[str, ...]] = {
    "nothing would start it": ("welcome",),
    "there is no workflow 'nothing'": ("nothing", "--data", "{}"),
    "--data must be a JSON object, or a list of them": ("welcome", "--data", "[1]"),
    "--data is no JSON": ("welcome", "--data", "{"),
    "Missing template variables": ("welcome", "--data", "{}"),
    "--contacts 'colour=red'": ("welcome", "--contacts", "colour=red"),
    "--contacts.all: says everyone": ("welcome", "--contacts", "all", "--contacts", "tag=vip"),
    "the audience has no contacts": ("welcome", "--contacts", "tag=vip"),
    "there is no contact 'nobody'": ("welcome", "--contact", "nobody"),
    "--from 'soon' is not a time": ("welcome", "--data", "{}", "--from", "soon"),
    "--zone: 'Mars' is not a time zone": ("welcome", "--data", "{}", "--zone", "Mars"),
    "--results is no JSON object": ("welcome", "--data", "{}", "--results", "7"),
}


def test_bad_input_is_one_line_that_says_what_to_do(welcome: Command) -> None:
    for complaint, arguments in BAD.items():
        assert complaint in welcome("simulate", "workflow", *arguments).complaint


async def test_a_draft_of_a_sequence_is_simulated_for_the_contacts_that_match(
    tidings: Command, engine: Engine, caller: Caller
) -> None:
    steps = [{"dayOffset": day, "sendHour": 9, "channel": "email", "content": f"Day {day}"} for day in (0, 3, 7)]
    await engine.sequences.create(caller, "Onboarding", {}, steps)
    people = [{"externalId": f"p{n}", "email": f"p{n}@example.com", "tags": ["vip"]} for n in range(3)]
    await engine.contacts.upsert_many(caller, [*people, {"externalId": "other", "tags": ["vip"]}])
    await engine.contacts.create(caller, {"email": "else@example.com"})

    ended = tidings(
        *("simulate", "sequence", "Onboarding", "--contacts", "tag=vip", "--contact", "p1"),
        *("--days", "90", "--from", "2026-03-02T08:00:00Z"),
    )

    assert ended.status == 0, ended.err
    assert "sequence Onboarding (not published) · 4 of 4 contacts" in ended.out
    assert "9 sent, 3 skipped, 0 failed · 4 completed" in ended.out
    for text in ("Mon 2026-03-02", "Thu 2026-03-05", "Mon 2026-03-09", "1. day 0", "the contact has no e-mail address"):
        assert text in ended.out
    assert "email to p1@example.com  sent" in ended.out
    assert "was never published" in tidings("simulate", "sequence", "Onboarding", "--published").complaint


# Drawing


def test_a_bar_is_as_long_as_its_share_and_whatever_is_there_is_seen() -> None:
    assert bar(100, 100, 10) == "█" * 10
    assert bar(50, 100, 10) == "█" * 5
    assert bar(1, 100_000, 10) == "▏"
    assert bar(0, 100, 10) == ""


def test_a_sparkline_has_a_sign_for_each_count() -> None:
    assert sparkline([0, 1, 4, 8]) == " ▁▄█"
    assert sparkline([0, 0]) == "  "


def test_very_many_days_are_shown_as_weeks_and_nothing_is_lost() -> None:
    hours = [
        Hour(date(2026, 1, 5).fromordinal(date(2026, 1, 5).toordinal() + day), 9, "a", Channel.EMAIL, 2)
        for day in range(70)
    ]

    rows = rows_of(hours)

    assert len(rows) == 10
    assert {day.weekday() for day in rows} == {0}
    assert sum(sum(counts.values()) for counts in rows.values()) == 140
    assert len(rows_of(hours[:60])) == 60
