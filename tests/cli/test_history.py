"""`tidings runs history` and `tidings events list --contact`, as a user runs them."""

import json

from tests.cli.conftest import Command
from tests.resources.campaign_scenes import letter

RULE = """
trigger: quote_sent
channel: email
audience: lead
steps: [{template: {subject: Your quote, body: Here it is}}]
"""


def test_a_run_has_no_history_of_jobs_before_it_has_jobs(tidings: Command) -> None:
    tidings("contacts", "create", "--data", json.dumps({"externalId": "ada", "email": "ada@example.com"}))
    tidings("campaigns", "create", "--data", json.dumps(letter()))
    run = tidings("campaigns", "deploy", "spring", "--json").json["id"]

    assert tidings("runs", "history", run, "--json").json == []
    assert "it has no jobs yet" in tidings("runs", "history", run).out


def test_an_event_is_found_by_its_contact(tidings: Command) -> None:
    (tidings.directory / "rule.yaml").write_text(RULE)
    tidings("rules", "apply", "rule.yaml")
    ada = tidings("contacts", "create", "--data", json.dumps({"email": "ada@example.com"}), "--json").json["id"]
    (tidings.directory / "event.yaml").write_text(f"trigger: quote_sent\nlead: {{contactId: {ada}}}")

    sent = tidings("events", "send", "event.yaml", "--json").json
    tidings("events", "send", "event.yaml", "--json")
    listed = tidings("events", "list", "--contact", ada, "--json").json

    [item] = sent["decisions"][0]["items"]
    assert (item["recipient"], item["contactId"]) == ("ada@example.com", ada)
    assert sent["id"] in [one["id"] for one in listed]
    assert len(listed) == 2
