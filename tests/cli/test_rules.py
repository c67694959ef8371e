"""`tidings rules` and `tidings events`, as a user runs them."""

import json

import pytest

from tests.cli.conftest import Command
from tests.databases import execute

RULES = """
trigger: quote_sent
channel: email
audience: lead
steps:
  - template:
      subject: Quote {{ quote.number }}
      body: Good day {{ lead.name }}
    recipientConfig: {includeLeadContact: true, customEmails: [sales@example.com]}
---
trigger: quote_sent
channel: whatsapp
audience: lead
enabled: false
"""
EVENT = """
trigger: quote_sent
idempotencyKey: quote-17
lead: {name: Ada, email: ada@example.com}
variables: {quote: {number: Q-17}}
"""
APP = """
from tidings import App

app = App(fallbacks={("quote_sent", "email", "agent"): lambda action, payload: {"ok": True}})
"""

KNOWN_FALLBACK = "insert into tidings.fallbacks values ('quote_sent', 'email', 'agent', '2026-01-01')"


@pytest.fixture
def files(tidings: Command) -> Command:
    for name, text in (("rules.yaml", RULES), ("event.yaml", EVENT), ("legacy.py", APP)):
        (tidings.directory / name).write_text(text)
    return tidings


def test_rules_are_applied_from_files_and_a_repeat_changes_nothing(files: Command) -> None:
    first = files("rules", "apply", "rules.yaml", "--json")
    again = files("rules", "apply", "rules.yaml", "--json")

    assert [(row["rule"], row["change"]) for row in first.json] == [
        ("quote_sent/email/lead", "created"),
        ("quote_sent/whatsapp/lead", "created"),
    ]
    assert [(row["id"], row["change"]) for row in again.json] == [(row["id"], "unchanged") for row in first.json]


def test_a_rule_is_shown_listed_switched_and_deleted_by_its_key(files: Command) -> None:
    files("rules", "apply", "rules.yaml")
    name = "quote_sent/email/lead"

    assert "sales@example.com" in files("rules", "show", name).out
    assert [row["channel"] for row in files("rules", "list", "--channel", "email", "--json").json] == ["email"]
    assert files("rules", "disable", name, "--json").json["enabled"] is False
    assert files("rules", "enable", name, "--json").json["enabled"] is True
    assert files("rules", "delete", name, "--yes").out == f"{name} is deleted\n"
    assert "there is no rule for" in files("rules", "show", name).complaint
    assert "names no rule" in files("rules", "show", "quote_sent/pigeon/lead").complaint
    assert "names no rule" in files("rules", "show", "x").complaint


def test_the_matrix_shows_what_becomes_of_each_trigger(files: Command) -> None:
    files("rules", "apply", "rules.yaml")

    shown, answer = files("rules", "matrix"), files("rules", "matrix", "--json").json

    assert "quote_sent" in shown.out
    assert "suppressed" in shown.out
    cells = {(one["channel"], one["audience"]): one["outcome"] for one in answer["rows"][0]["cells"]}
    assert (cells["email", "lead"], cells["whatsapp", "lead"], cells["sms", "lead"]) == (
        "enqueued",
        "suppressed",
        "none",
    )


def test_what_is_wrong_in_a_file_is_told_with_its_line_and_nothing_is_applied(files: Command) -> None:
    wrong = RULES.replace("sales@example.com", "nobody").replace("Good day {{ lead.name }}", "'{{ lead.name'")
    (files.directory / "wrong.yaml").write_text(wrong)

    applied = files("rules", "apply", "wrong.yaml")
    validated = files("rules", "validate", "wrong.yaml", "--json")

    assert applied.status == validated.status == 1
    assert "wrong.yaml:8: quote_sent/email/lead: steps[0].template.body" in applied.out
    assert "wrong.yaml:9: quote_sent/email/lead: steps[0].recipientConfig.customEmails[0]" in applied.out
    assert [one["line"] for one in validated.json["errors"]] == [8, 9]
    assert files("rules", "list").out == "there is no such rule\n"
    assert files("rules", "validate", "rules.yaml").out == "2 rules, nothing wrong\n"


def test_an_event_is_explained_sent_shown_and_cancelled(files: Command) -> None:
    files("rules", "apply", "rules.yaml")

    explained = files("events", "explain", "event.yaml", "--app", "legacy:app")
    sent = files("events", "send", "event.yaml", "--app", "legacy:app", "--json")
    again = files("events", "send", "event.yaml", "--json")
    shown = files("events", "show", sent.json["id"])
    listed = files("events", "list", "--json")
    cancelled = files("events", "cancel", sent.json["id"])

    assert "email to the lead: enqueued" in explained.out
    assert "whatsapp to the lead: suppressed" in explained.out
    assert "email to the agent: fallback" in explained.out
    assert "Quote Q-17" in explained.out
    assert [one["outcome"] for one in sent.json["decisions"]] == ["enqueued", "suppressed", "fallback", "none"]
    assert (sent.json["duplicate"], again.json["duplicate"], sent.json["source"]) == (False, True, "cli")
    assert "sales@example.com" in shown.out
    assert [one["id"] for one in listed.json] == [sent.json["id"]]
    assert "is cancelled" in cancelled.out
    assert "skipped" in cancelled.out
    assert "pending" not in cancelled.out
    assert again.json["note"] is None


def test_a_repeat_with_other_data_says_so(files: Command) -> None:
    files("rules", "apply", "rules.yaml")
    files("events", "send", "event.yaml")
    (files.directory / "event.yaml").write_text(EVENT.replace("Q-17", "Q-18"))

    again = files("events", "send", "event.yaml")

    assert again.status == 0
    assert "(this key had sent it before)" in again.out
    assert "this key had other data before, which holds: variables.quote" in again.out


def test_a_key_on_the_command_line_is_another_event(files: Command) -> None:
    files("rules", "apply", "rules.yaml")

    sent = [files("events", "send", "event.yaml", *more, "--json").json for more in ((), ("--key", "quote-18"))]

    assert [one["idempotencyKey"] for one in sent] == ["quote-17", "quote-18"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("trigger: quote_sent\nlead: {email: ada@example.com}", "variables.quote.number: is missing"),
        ("trigger: a b", "is no trigger"),
        ("- trigger: a\n- trigger: b", "holds 2 events"),
        ("", "there is no event in it"),
        ("just text", "write the event as an object"),
        ("{", "is no YAML"),
    ],
)
def test_a_bad_event_is_one_line(files: Command, text: str, complaint: str) -> None:
    files("rules", "apply", "rules.yaml")
    (files.directory / "bad.yaml").write_text(text)

    assert complaint in files("events", "send", "bad.yaml").complaint


def test_a_trigger_that_no_rule_knows_is_refused_with_the_nearest_one_unless_asked_not_to(files: Command) -> None:
    files("rules", "apply", "rules.yaml")
    (files.directory / "slip.json").write_text(json.dumps({"trigger": "quote_snet"}))

    told = "no rule and no fallback knows 'quote_snet'; did you mean 'quote_sent'?"
    explained = files("events", "explain", "slip.json")
    refused = files("events", "send", "slip.json").complaint
    listed = files("events", "list", "--json").json
    sent = files("events", "send", "slip.json", "--allow-unknown-trigger")

    assert (explained.status, explained.out.strip()) == (0, f"{told}: nothing is sent")
    assert f"trigger: {told}" in refused
    assert "nothing was stored; --allow-unknown-trigger stores it all the same" in refused
    assert listed == []
    assert sent.status == 0
    assert "no rule and no fallback knows this trigger" in sent.out


def test_a_trigger_that_only_a_fallback_knows_is_sent_with_its_application(files: Command) -> None:
    sent = files("events", "send", "event.yaml", "--app", "legacy:app")

    assert sent.status == 0
    assert "email to the agent: fallback" in sent.out


async def test_a_fallback_that_was_once_started_is_decided_by_without_its_application_until_it_is_forgotten(
    files: Command,
) -> None:
    name = "fallback:quote_sent/email/agent"
    await execute(files.settings["DATABASE_URL"], KNOWN_FALLBACK)

    sent = files("events", "send", "event.yaml", "--json").json
    listed = {one["name"]: one["servedBy"] for one in files("providers", "list", "--json").json}
    forgotten = files("providers", "forget", name)
    again = files("providers", "forget", name).complaint
    refused = files("events", "send", "event.yaml", "--key", "k2").complaint

    [decision] = sent["decisions"]
    assert (decision["outcome"], [item["status"] for item in decision["items"]]) == ("fallback", ["pending"])
    assert listed[name] == []
    assert forgotten.out == f"{name} is forgotten\n"
    assert f"there is no fallback '{name}'" in again
    assert "no rule and no fallback knows 'quote_sent'" in refused


@pytest.mark.parametrize("flag", ["--channel", "--audience"])
def test_a_filter_that_no_rule_can_match_is_refused(files: Command, flag: str) -> None:
    complaint = files("rules", "list", flag, "fax").complaint

    assert f"{flag.removeprefix('--')} 'fax': use one of " in complaint


@pytest.mark.parametrize(("flag", "name"), [("--workspace", " "), ("--workspace", "a\u202eb"), ("--tenant", "a\x07b")])
def test_a_workspace_that_cannot_be_shown_is_refused(files: Command, flag: str, name: str) -> None:
    assert flag in files("rules", "list", flag, name).complaint
