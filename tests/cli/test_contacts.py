"""`tidings contacts`, as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

ADA = '{"externalId": "ada", "name": "Ada", "email": "ada@EXAMPLE.com", "tags": ["vip"]}'


@pytest.fixture
def people(tidings: Command) -> Path:
    """A file with two good lines, a bad one and one in another encoding."""
    file = tidings.directory / "people.csv"
    file.write_bytes(b"Nr;Mail;Tarif\n1;ada@example.com;pro\n2;broken;pro\n" + b"3;caf\xe9;x\n4;eve@example.com;x\n")
    return file


def test_a_contact_is_made_changed_shown_listed_and_erased(tidings: Command) -> None:
    made = tidings("contacts", "create", "--data", ADA, "--json").json
    again = tidings("contacts", "create", "--data", ADA, "--json").json
    changed = tidings("contacts", "update", "ada", "--data", '{"company": "Engines", "email": null}', "--json").json
    shown = tidings("contacts", "show", made["id"])
    listed = tidings("contacts", "list", "--tag", "vip", "--text", "engin", "--json").json
    erased = tidings("contacts", "delete", "ada", "--yes", "--json").json

    assert (made["change"], made["email"], again["change"]) == ("created", "ada@example.com", "unchanged")
    assert (changed["company"], changed["email"]) == ("Engines", None)
    assert "Engines" in shown.out
    assert [one["id"] for one in listed] == [made["id"]]
    assert erased == {"id": made["id"], "deleted": True}
    assert "there is no contact 'ada'" in tidings("contacts", "show", "ada").complaint
    assert "no such contact" in tidings("contacts", "list").out


def test_a_file_is_tried_and_nothing_is_stored(tidings: Command, people: Path) -> None:
    columns = ("--map", "Nr=externalId", "--map", "Mail=email")

    tried = tidings("contacts", "import", str(people), *columns, "--dry-run")
    answer = tidings("contacts", "import", str(people), *columns, "--dry-run", "--json").json

    assert "nothing is stored; it would be: 4 lines, 2 created, 2 rejected" in tried.out
    assert (answer["dryRun"], answer["created"], answer["rejected"]) == (True, 2, 2)
    assert tidings("contacts", "list", "--json").json == []


def test_the_story_of_a_contact_is_told(tidings: Command) -> None:
    tidings("contacts", "create", "--data", ADA)
    tidings("contacts", "update", "ada", "--data", '{"consent": {"email": {"status": "withdrawn"}}}', "--actor", "bob")

    told, answer = tidings("contacts", "story", "ada"), tidings("contacts", "story", "ada", "--json").json

    assert (answer[0]["kind"], answer[0]["outcome"], answer[0]["actor"]) == ("change", "updated", "bob")
    assert answer[0]["fields"] == ["consent"]
    assert "consent" in told.out
    assert "there is no contact 'eve'" in tidings("contacts", "story", "eve").complaint


def test_everything_about_a_person_is_written_and_an_address_is_erased(tidings: Command) -> None:
    made = tidings("contacts", "create", "--data", ADA, "--json").json
    file = tidings.directory / "ada.json"
    tidings("contacts", "export", "ada", "--to", str(file))
    counted = tidings("contacts", "erase", "--address", "eve@example.com", "--dry-run", "--json").json
    erased = tidings("contacts", "erase", "--address", "eve@example.com", "--yes")
    refused = tidings("contacts", "erase", "--address", "ada@example.com", "--yes")

    assert json.loads(file.read_text())["contact"]["id"] == made["id"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert tidings("contacts", "export", "ada").json["contact"]["id"] == made["id"]
    assert (counted["dryRun"], counted["nextCursor"], counted["items"]) == (True, None, 0)
    assert "replaced in records about others: 0" in erased.out
    assert made["id"] in refused.complaint


def test_what_is_wrong_is_said_in_one_line(tidings: Command) -> None:
    assert "'ada' is not an e-mail address" in tidings("contacts", "create", "--data", '{"email": "ada"}').complaint
    assert "no JSON" in tidings("contacts", "create", "--data", "x").complaint
    assert "cannot be read" in tidings("contacts", "import", "gone.csv").complaint


def test_erasing_asks_first(tidings: Command) -> None:
    tidings("contacts", "create", "--data", ADA)

    refused = tidings("contacts", "delete", "ada", typed="n\n")

    assert refused.status == 1
    assert tidings("contacts", "show", "ada").status == 0


def test_a_file_is_imported_with_a_report_of_what_was_rejected(tidings: Command, people: Path) -> None:
    report = tidings.directory / "rejected.csv"
    mapping = ("--map", "Nr=externalId", "--map", "Tarif=attributes.plan")

    first = tidings("contacts", "import", str(people), *mapping, "--rejected", str(report))
    again = tidings("contacts", "import", str(people), *mapping, "--json")

    assert first.status == again.status == 1
    assert "2 created" in first.out
    assert "'broken' is not an e-mail address" in first.out
    assert (again.json["unchanged"], again.json["created"], again.json["rejected"]) == (2, 0, 2)
    assert [line.split(",")[:2] for line in report.read_text().splitlines()] == [
        *(["line", "field"], ["3", "email"], ["4", "line"]),
    ]


def test_a_file_without_a_fault_exits_with_success(tidings: Command) -> None:
    file = tidings.directory / "people.ndjson"
    file.write_text('{"externalId": "1", "attributes": {"n": 1}}\n{"externalId": "2"}\n')

    imported = tidings("contacts", "import", str(file), "--json")
    typed = tidings("contacts", "import", "-", typed="externalId,name\n1,Ada\n3,Eve\n")

    assert (imported.status, imported.json["created"]) == (0, 2)
    assert (typed.status, typed.out.strip()) == (0, "2 lines, 1 created, 1 updated")


def test_a_mapping_that_does_not_fit_changes_nothing(tidings: Command, people: Path) -> None:
    assert "no column gone" in tidings("contacts", "import", str(people), "--map", "Gone=email").complaint
    assert "names no field" in tidings("contacts", "import", str(people), "--map", "Nr=number").complaint
    assert tidings("contacts", "list", "--json").json == []


def test_where_chooses_people_and_says_what_it_cannot_read(tidings: Command) -> None:
    many = [
        '{"externalId": "ada", "email": "ada@example.com", "attributes": {"plan": "Pro", "seats": "12"}}',
        '{"externalId": "bob", "tags": ["vip"], "attributes": {"plan": "free"}}',
    ]
    for one in many:
        tidings("contacts", "create", "--data", one)
    file = tidings.directory / "where.json"
    file.write_text('{"not": {"path": "attributes.plan", "value": "FREE"}}')

    def listed(where: str) -> list[str]:
        return [one["externalId"] for one in tidings("contacts", "list", "--where", where, "--json").json]

    assert listed("plan = pro and seats > 9") == listed(f"@{file}") == ["ada"]
    assert listed("created after 1 hour ago and not has email") == ["bob"]
    made = tidings("segments", "create", "--data", '{"name": "vips"}', "--where", "tag = VIP or seats >= 100", "--json")
    assert made.json["inWords"] == "contacts with the tag VIP or whose seats is at least 100"
    assert "1 in it, contacts with the tag VIP" in tidings("segments", "show", "vips").out
    for where, problem in (("plan ~ pro", "is no operator"), ("has pigeon", "no way to reach a person")):
        assert problem in tidings("contacts", "list", "--where", where).complaint
