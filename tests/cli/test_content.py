"""What a message says is shown as it reads, and no record as Python would write it."""

import json
import re

import pytest

from tests.cli.conftest import Command

LETTER = {
    "name": "spring",
    "channel": "email",
    "content": {"body": "Dear {{ contact.name }},\n\nspring is here.", "subject": "Spring"},
    "audience": {"tag": "vip", "company": "Acme"},
    "data": {"season": "spring"},
}
POSTS = {
    "name": "posts",
    "channel": "social",
    "content": {"posts": [{"id": "first", "body": "We are open", "accounts": ["mastodon:us", "bluesky:us"]}]},
}
ADA = {
    "externalId": "ada",
    "name": "Ada",
    "email": "ada@example.com",
    "company": "Acme",
    "tags": ["vip"],
    "attributes": {"companySize": 9},
    "consent": {"email": "granted"},
}
RULE = """
trigger: quote_sent
channel: email
audience: lead
steps:
  - template: {subject: "Quote {{ number }}", body: "Good day {{ lead.name }},\\n\\nhere it is."}
    recipientConfig: {includeLeadContact: true, customEmails: [sales@example.com]}
  - template: {subject: Tomorrow, body: See you}
    sendBefore: {time: "{{ starts }}", by: P1D}
"""
EVENT = {
    "trigger": "quote_sent",
    "lead": {"name": "Ada", "email": "ada@example.com"},
    "variables": {"number": "Q-17", "starts": "2126-01-01T09:00:00Z"},
}
SHOWN_BY_PYTHON = re.compile(r"\{\'|\[\'|datetime|UUID\(|\bTrue\b|\bFalse\b|\bNone\b")


@pytest.fixture
def scene(tidings: Command) -> Command:
    (tidings.directory / "rule.yaml").write_text(RULE)
    (tidings.directory / "event.json").write_text(json.dumps(EVENT))
    steps = {
        "steps": [{"dayOffset": 0, "channel": "email", "content": "Good day\n\nand welcome", "maxLateness": "PT2H"}]
    }
    for command in (
        *(["contacts", "create", "--data", json.dumps(ADA)], ["campaigns", "create", "--data", json.dumps(LETTER)]),
        *(["campaigns", "create", "--data", json.dumps(POSTS)], ["rules", "apply", "rule.yaml"]),
        ["segments", "create", "--data", json.dumps({"name": "us", "audience": LETTER["audience"]})],
        ["sequences", "create", "drip", "--data", json.dumps(steps)],
    ):
        assert tidings(*command).status == 0
    return tidings


def words(text: str) -> str:
    """What is shown, without the lines of tables and the space between words."""
    return " ".join(re.sub("[│┃]", " ", text).split())


SHOWN = [
    ("campaigns show spring", ["subject: Spring body: Dear {{ contact.name }}, spring is here."]),
    ("campaigns show spring", ["audience: contacts at Acme and with the tag vip", "data: season=spring"]),
    ("campaigns show posts", ["body: We are open", "accounts: mastodon:us, bluesky:us"]),
    ("campaigns list", ["contacts at Acme and with the tag vip"]),
    ("campaigns preview spring", ["to: ada@example.com subject: Spring body: Dear Ada, spring is here."]),
    ("segments list", ["contacts at Acme and with the tag vip"]),
    ("segments show us", ["1 in it, contacts at Acme and with the tag vip"]),
    ("contacts show ada", ["attributes: companySize=9", "consent: email (", "status=granted", "tags: vip"]),
    ("rules show quote_sent/email/lead", ["subject: Quote {{ number }}", "the lead, sales@example.com"]),
    ("rules show quote_sent/email/lead", ["P1D before {{ starts }}"]),
    ("events explain event.json", ["subject: Quote Q-17", "body: Good day Ada,"]),
    ("sequences show drip", ["onStepFailure=continue, allowReentry=no", "PT2H"]),
    ("sequences steps list drip", ["Good day", "and welcome"]),
]
"""What each command shows of one scene: none of them changes it."""


def test_content_is_shown_as_content(scene: Command) -> None:
    ended = {command: scene(*command.split()) for command, _ in SHOWN}

    assert {command: one.err for command, one in ended.items() if one.status} == {}
    assert {command: one.out for command, one in ended.items() if SHOWN_BY_PYTHON.search(one.out)} == {}
    missing = [
        (command, part, ended[command].out)
        for command, expected in SHOWN
        for part in expected
        if part not in words(ended[command].out)
    ]
    assert missing == []


def test_the_lines_of_a_message_stand_below_each_other(scene: Command) -> None:
    shown = scene("campaigns", "show", "spring").out

    assert "  subject: Spring\n  body:    Dear {{ contact.name }},\n           \n           spring is here.\n" in shown
