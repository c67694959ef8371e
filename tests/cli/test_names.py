"""Names beside ids in tables, as a user reads them."""

import json

from tests.cli.conftest import Command

LETTER = {
    "name": "spring",
    "channel": "email",
    "content": {"subject": "Hello {{ contact.name }}", "body": "News"},
    "audience": {"contactIds": ["crm-1"]},
}
GREETING = {"entryNodeId": "hi", "nodes": [{"id": "hi", "type": "email", "subject": "Hi", "body": "Hi"}], "edges": []}
SERIES = {"steps": [{"dayOffset": 0, "channel": "email", "content": "Hi"}]}


def make_contact(tidings: Command) -> None:
    given = {"externalId": "crm-1", "name": "Ada Lovelace", "email": "ada@example.com"}
    assert tidings("contacts", "create", "--data", json.dumps(given)).status == 0


def test_runs_and_items_are_listed_with_their_campaign_and_found_by_its_name(tidings: Command) -> None:
    make_contact(tidings)
    tidings("campaigns", "create", "--data", json.dumps(LETTER))
    run = tidings("campaigns", "deploy", "spring", "--json").json["id"]

    listed = tidings("runs", "list", "--campaign", "spring", COLUMNS="250")
    shown = tidings("runs", "show", run, COLUMNS="250")

    for printed in (listed.out, shown.out):
        assert run in printed
        assert "spring" in printed
    assert "there is no campaign 'autumn'" in tidings("runs", "list", "--campaign", "autumn").complaint


def test_a_contact_stands_by_name_and_external_id_in_executions_enrollments_and_why(tidings: Command) -> None:
    make_contact(tidings)
    (tidings.directory / "greet.json").write_text(json.dumps({"name": "greet", **GREETING}))
    tidings("workflows", "apply", "greet.json")
    tidings("sequences", "create", "drip", "--data", json.dumps(SERIES))
    tidings("sequences", "publish", "drip")
    execution = tidings("trigger", "greet", "--contact", "crm-1", "--json").json["id"]
    assert tidings("sequences", "enroll", "drip", "--contact", "crm-1").status == 0

    printed = [
        tidings("executions", "list", "--contact", "crm-1", COLUMNS="250").out,
        tidings("executions", "show", execution, COLUMNS="250").out,
        tidings("enrollments", "list", "--sequence", "drip", COLUMNS="250").out,
        tidings("enrollments", "why", "drip", "crm-1", COLUMNS="250").out,
    ]

    for one in printed:
        assert "Ada Lovelace (crm-1)" in one


def test_the_outbox_is_listed_with_whom_and_what_each_item_is_for(tidings: Command) -> None:
    make_contact(tidings)
    rule = {
        "trigger": "quote_sent",
        "channel": "email",
        "audience": "lead",
        "steps": [{"template": {"subject": "Q", "body": "Good day"}}],
    }
    (tidings.directory / "rule.json").write_text(json.dumps(rule))
    (tidings.directory / "event.json").write_text(json.dumps({"trigger": "quote_sent", "lead": {"contactId": "crm-1"}}))
    assert tidings("rules", "apply", "rule.json").status == 0
    assert tidings("events", "send", "event.json").status == 0

    listed = tidings("outbox", "list", "--contact", "crm-1", COLUMNS="250")
    events = tidings("events", "list", "--contact", "crm-1", "--json").json

    assert "Ada Lovelace (crm-1)" in listed.out
    assert "quote_sent" in listed.out
    assert len(events) == 1
    assert "there is no contact 'nobody'" in tidings("outbox", "list", "--contact", "nobody").complaint


def test_a_campaign_is_tried_out_for_a_contact_by_its_external_id(tidings: Command) -> None:
    make_contact(tidings)
    tidings("campaigns", "create", "--data", json.dumps(LETTER))

    preview = tidings("campaigns", "preview", "spring", "--contact", "crm-1")
    tried = tidings("campaigns", "test", "spring", "me@example.com", "--contact", "crm-1")

    assert "Hello Ada Lovelace" in preview.out
    assert tried.status == 0
