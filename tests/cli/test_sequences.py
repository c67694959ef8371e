"""`tidings sequences`, as a user runs it."""

import json

from tests.cli.conftest import Command

STEPS = json.dumps(
    {
        "timezone": "contact",
        "steps": [
            {"dayOffset": 0, "channel": "email", "subject": "Hi", "content": "Welcome!"},
            {"dayOffset": 3, "sendHour": 9, "channel": "sms", "content": "How is it going?"},
        ],
    }
)


def test_a_sequence_is_made_step_by_step_published_paused_and_resumed(tidings: Command) -> None:
    made = tidings("sequences", "create", "Onboarding", "--json").json
    tidings("sequences", "steps", "add", "Onboarding", "--day", "0", "--channel", "email", "--content", "Welcome!")
    text = tidings.directory / "nudge.txt"
    text.write_text("How is it going, {{ contact.name }}?")
    step = ("--day", "3", "--hour", "9", "--channel", "sms", "--content", f"@{text}", "--max-lateness", "PT12H")
    added = tidings("sequences", "steps", "add", made["id"], *step, "--json").json
    published = tidings("sequences", "publish", "Onboarding")
    paused = tidings("sequences", "pause", "Onboarding")
    resumed = tidings("sequences", "resume", "Onboarding")
    listed = tidings("sequences", "list", "--status", "active", "--json").json

    assert (made["status"], made["published"]) == ("draft", None)
    assert (added["stepOrder"], added["sendHour"], added["maxLateness"]) == (2, 9, "PT12H")
    assert added["content"] == "How is it going, {{ contact.name }}?"
    assert "Onboarding  active · version 1" in published.out
    assert (paused.out, resumed.out) == ("Onboarding is paused\n", "Onboarding is active\n")
    assert [(one["name"], len(one["steps"])) for one in listed] == [("Onboarding", 2)]


def test_a_step_for_a_chat_says_where_it_goes(tidings: Command) -> None:
    tidings("sequences", "create", "drip")
    chat = ("--day", "0", "--channel", "chat", "--content", "{{ contact.name }} began", "--to", "C1", "--to", "C2")

    added = tidings("sequences", "steps", "add", "drip", *chat, "--json").json
    changed = tidings("sequences", "steps", "change", "drip", "1", "--to", "C3", "--json").json

    assert (added["to"], changed["to"]) == (["C1", "C2"], ["C3"])
    assert "C3" in tidings("sequences", "steps", "list", "drip").out


def test_a_draft_is_shown_beside_what_is_published(tidings: Command) -> None:
    tidings("sequences", "create", "drip", "--data", STEPS)
    tidings("sequences", "publish", "drip")

    changed = tidings("sequences", "steps", "change", "drip", "2", "--day", "4", "--json").json
    tidings("sequences", "update", "drip", "--data", '{"name": "Drip", "onStepFailure": "stop"}')
    shown = tidings("sequences", "show", "Drip")
    gone = tidings("sequences", "steps", "delete", "Drip", "1", "--json").json
    again = tidings("sequences", "publish", "Drip", "--in-flight", "move", "--json").json

    assert changed["dayOffset"] == 4
    assert "draft" in shown.out
    assert "published as version 1" in shown.out
    assert "onStepFailure=stop" in shown.out
    assert gone["deleted"]
    assert (again["published"]["version"], again["moved"]["left"]) == (2, 0)
    assert len(tidings("sequences", "steps", "list", "Drip", "--json").json) == 1


def test_a_funnel_shows_how_far_contacts_have_come(tidings: Command) -> None:
    tidings("sequences", "create", "drip", "--data", STEPS)
    tidings("sequences", "publish", "drip")
    tidings("contacts", "create", "--data", '{"externalId": "ada", "email": "ada@example.com"}')
    tidings("sequences", "enroll", "drip", "--contact", "ada")

    shown, answer = tidings("sequences", "funnel", "drip"), tidings("sequences", "funnel", "drip", "--json").json

    assert "1 enrolled · 1 under way · 0 completed" in shown.out
    assert [(one["stepOrder"], one["waiting"]) for one in answer["steps"]] == [(1, 1), (2, 0)]


def test_a_sequence_is_removed_after_asking(tidings: Command) -> None:
    tidings("sequences", "create", "drip")

    refused = tidings("sequences", "delete", "drip", typed="n\n")
    removed = tidings("sequences", "delete", "drip", "--yes")

    assert refused.status == 1
    assert removed.out == "drip is removed\n"
    assert tidings("sequences", "list").out == "there is no sequence\n"


def test_what_is_wrong_is_said_in_one_line(tidings: Command) -> None:
    tidings("sequences", "create", "drip")
    step = ("sequences", "steps", "add", "drip", "--day", "0", "--channel", "sms")

    assert "steps: give at least one step" in tidings("sequences", "publish", "drip").complaint
    assert "--hour: 24 is not" in tidings(*step, "--content", "x", "--hour", "24").complaint
    assert "cannot be read" in tidings(*step, "--content", "@gone.txt").complaint
    assert "there is no sequence 'nobody'" in tidings("sequences", "show", "nobody").complaint
    assert "0 steps have the order '7'" in tidings("sequences", "steps", "delete", "drip", "7").complaint
    assert "is draft, not paused" in tidings("sequences", "resume", "drip").complaint
    assert "steps: give a list" in tidings("sequences", "create", "x", "--data", '{"steps": 3}').complaint
    assert "name: 3 is not a string" in tidings("sequences", "update", "drip", "--data", '{"name": 3}').complaint
