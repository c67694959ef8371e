"""`tidings campaigns`, `segments` and `runs`, as a user runs them."""

import csv
import io
import json

from tests.cli.conftest import Command

LETTER = {
    "name": "spring",
    "channel": "email",
    "content": {"subject": "Hello {{ contact.name }}", "body": "News"},
    "audience": {"all": True},
}


def make_contacts(tidings: Command, count: int) -> None:
    lines = "".join(f"p{n},P{n},p{n}@example.com\n" for n in range(1, count + 1))
    (tidings.directory / "people.csv").write_text(f"externalId,name,email\n{lines}")
    assert tidings("contacts", "import", "people.csv").status == 0


def test_a_campaign_from_its_file_to_its_run(tidings: Command) -> None:
    make_contacts(tidings, 3)
    (tidings.directory / "spring.json").write_text(json.dumps(LETTER))

    made = tidings("campaigns", "create", "--data", "@spring.json", "--json").json
    counted = tidings("campaigns", "count", "spring", "--json").json
    preview = tidings("campaigns", "preview", "spring")
    deployed = tidings("campaigns", "deploy", "spring", "--json").json
    again = tidings("campaigns", "deploy", made["id"], "--json").json
    listed = tidings("runs", "list", "--campaign", made["id"], "--json").json
    shown = tidings("runs", "show", deployed["id"])

    assert counted == {"matching": 3, "reachable": 3, "withoutAddress": 0, "refused": 0, "missing": []}
    assert "Hello P" in preview.out
    assert (deployed["status"], deployed["duplicate"]) == ("queued", False)
    assert (again["id"], again["duplicate"]) == (deployed["id"], True)
    assert [one["id"] for one in listed] == [deployed["id"]]
    assert "queued" in shown.out
    assert "deployed" in shown.out


def test_a_run_is_told_to_pause_go_on_and_end(tidings: Command) -> None:
    make_contacts(tidings, 1)
    tidings("campaigns", "create", "--data", json.dumps(LETTER))
    run = tidings("campaigns", "deploy", "spring", "--json").json["id"]

    paused = tidings("runs", "pause", run, "--json").json
    resumed = tidings("runs", "resume", run, "--json").json
    nothing = tidings("runs", "retry", run, "--where", "error=429", "--dry-run")
    cancelled = tidings("runs", "cancel", run, "--json").json
    exported = tidings("runs", "export", run)

    assert (paused["paused"], resumed["paused"], cancelled["cancelled"]) == (True, False, True)
    assert "0 would be tried again" in nothing.out
    assert next(csv.reader(io.StringIO(exported.out)))[0] == "campaign_id"
    assert "no failed item" in tidings("runs", "retry", run).complaint
    assert "error=429" in tidings("runs", "retry", run, "--where", "x").complaint


def test_segments(tidings: Command) -> None:
    make_contacts(tidings, 2)
    made = tidings("segments", "create", "--data", '{"name": "us", "audience": {"all": true}}', "--json").json
    shown = tidings("segments", "show", "us", "--json").json
    tidings("segments", "update", "us", "--data", '{"name": "we"}')
    gone = tidings("segments", "delete", "we", "--yes")

    assert (shown["id"], shown["matching"]) == (made["id"], 2)
    assert "is deleted" in gone.out
    assert "there is no segment" in tidings("segments", "show", "us").complaint


def test_what_is_wrong_is_said_in_one_line(tidings: Command) -> None:
    bare = json.dumps({**LETTER, "audience": {}})
    assert "audience: names nobody" in tidings("campaigns", "create", "--data", bare).complaint
    tidings("campaigns", "create", "--data", json.dumps(LETTER))
    assert "matches nobody" in tidings("campaigns", "deploy", "spring").complaint
    assert "there is no campaign 'autumn'" in tidings("campaigns", "deploy", "autumn").complaint
