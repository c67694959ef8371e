"""`tidings sequences enroll` and `tidings enrollments`, as a user runs them."""

import json
import re

from tests.cli.conftest import Command

STEPS = json.dumps(
    {
        "steps": [
            {"dayOffset": 1, "channel": "email", "subject": "Hi", "content": "Welcome!"},
            {"dayOffset": 3, "sendHour": 9, "channel": "sms", "content": "How is it going?"},
        ]
    }
)


def set_up(tidings: Command) -> None:
    tidings("sequences", "create", "drip", "--data", STEPS)
    for number in range(3):
        fields = {"externalId": f"p{number}", "email": f"p{number}@example.com", "tags": ["vip"] if number else []}
        tidings("contacts", "create", "--data", json.dumps(fields))


def test_contacts_are_counted_enrolled_shown_and_stopped(tidings: Command) -> None:
    set_up(tidings)
    draft = tidings("sequences", "enroll", "drip", "--all")
    tidings("sequences", "publish", "drip")

    counted = tidings("sequences", "enroll", "drip", "--tag", "vip", "--dry-run")
    done = tidings("sequences", "enroll", "drip", "--tag", "vip", "--contact", "p0", "--exclude", "p1", "--json").json
    again = tidings("sequences", "enroll", "drip", "--all")
    listed = tidings("enrollments", "list", "--sequence", "drip", "--json").json
    [mine] = tidings("enrollments", "list", "--contact", "p0", "--json").json
    shown = tidings("enrollments", "show", mine["id"])
    why = tidings("enrollments", "why", "drip", "p0")
    paused = tidings("enrollments", "pause", mine["id"], "--json").json
    many = tidings("enrollments", "pause", "--sequence", "drip", "--all")
    resumed = tidings("enrollments", "resume", "--sequence", "drip", "--tag", "vip", "--json").json
    cancelled = tidings("enrollments", "cancel", "--sequence", "drip", "--contact", "p0", "--yes", "--json").json
    left = tidings("sequences", "enroll", "drip", "--contact", "p0")
    anew = tidings("sequences", "enroll", "drip", "--contact", "p0", "--include-cancelled")

    assert "is a draft" in draft.complaint
    assert counted.out == "2 would be enrolled\n"
    assert (done["enrolledCount"], done["skippedCount"]) == (2, 0)
    assert again.out == "1 enrolled\n2 in the sequence already\n"
    assert {one["status"] for one in listed} == {"active"}
    assert len(listed) == 3
    assert mine["id"] in shown.out
    assert "nothing was sent yet" in shown.out
    assert "the contact was enrolled at" in why.out
    assert "the contact has no phone number" in why.out
    assert paused["status"] == "paused"
    assert many.out == "2 paused\n"
    assert resumed == {"count": 2}
    assert cancelled == {"count": 1}
    assert left.out == "0 enrolled\n1 were cancelled in it; --include-cancelled enrolls them anew\n"
    assert anew.out == "1 enrolled\n1 of them had been cancelled in it\n"


def test_what_names_nobody_or_too_much_is_refused(tidings: Command) -> None:
    set_up(tidings)
    tidings("sequences", "publish", "drip")

    assert "names nobody" in tidings("sequences", "enroll", "drip").complaint
    assert "there is no contact 'p9'" in tidings("sequences", "enroll", "drip", "--contact", "p9").complaint
    assert "there is no sequence 'x'" in tidings("sequences", "enroll", "x", "--all").complaint
    assert "names nobody" in tidings("enrollments", "pause", "--sequence", "drip").complaint
    assert tidings("enrollments", "pause").status == 2
    assert tidings("enrollments", "list").status == 2
    refused = tidings("enrollments", "cancel", "--sequence", "drip", "--all", typed="n\n")
    assert refused.status == 1


def test_people_count_steps_from_1_and_fields_from_0(tidings: Command) -> None:
    set_up(tidings)
    tidings("sequences", "publish", "drip")
    tidings("sequences", "enroll", "drip", "--contact", "p0")

    [listed] = tidings("enrollments", "list", "--sequence", "drip", "--json").json
    why = tidings("enrollments", "why", "drip", "p0", "--json").json
    execution = tidings("executions", "show", listed["id"])
    shown = tidings("enrollments", "show", listed["id"])
    table = re.findall(r"^│ (\d+) ", tidings("enrollments", "why", "drip", "p0").out, re.MULTILINE)

    assert listed["currentStepIndex"] == 0
    assert [one["stepIndex"] for one in why["steps"]] == [0, 1]
    assert "step 1 of 2" in execution.out
    assert re.search(r"^step: +1$", shown.out, re.MULTILINE)
    assert table == ["1", "2"]
