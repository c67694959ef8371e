"""Errors name the flags of the command that they are shown by."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import typer.main

from tests.cli.conftest import Command
from tests.cli.test_json import COMMANDS
from tidings.cli.app import app
from tidings.cli.flags import FIELDS, running_command, with_flags
from tidings.domain.errors import DataMissing, InputInvalid

PEOPLE = "externalId,email\nada,ada@example.com\n"
LETTER = {"name": "spring", "channel": "email", "content": {"subject": "Hi", "body": "x"}, "audience": {"all": True}}


@pytest.fixture
def people(tidings: Command) -> Command:
    """A contact on the way through a sequence whose draft has changed, and a campaign."""
    (tidings.directory / "people.csv").write_text(PEOPLE)
    tidings("contacts", "import", "people.csv")
    tidings("sequences", "create", "drip")
    tidings("sequences", "steps", "add", "drip", "--day", "3", "--channel", "email", "--content", "Hi")
    tidings("sequences", "publish", "drip")
    tidings("sequences", "enroll", "drip", "--all")
    tidings("sequences", "steps", "change", "drip", "1", "--content", "Good day")
    tidings("campaigns", "create", "--data", json.dumps(LETTER))
    return tidings


def test_a_message_names_the_flag_that_is_missing_or_wrong(people: Command) -> None:
    past = (datetime.now(UTC) - timedelta(days=9)).strftime("%Y-%m-%d")
    far = "9000-01-01"

    said = {
        "say --in-flight leave to let them finish it": people("sequences", "publish", "drip"),
        "give one of status, --step, --contact, --company, --tag, contacts; for everyone --all": people(
            "enrollments", "pause", "--sequence", "drip"
        ),
        "--channel: ": people("sequences", "steps", "change", "drip", "1", "--channel", "fax"),
        "--day: ": people("sequences", "steps", "change", "drip", "1", "--day", "99999"),
        "--at: is more than ten years away": people("campaigns", "deploy", "spring", "--at", far),
        f"--expires: {past}": people("keys", "create", "app", "--role", "systemAdmin", "--expires", past),
    }

    for words, ended in said.items():
        assert words in ended.complaint


def test_fields_of_json_and_of_files_keep_their_names(people: Command) -> None:
    (people.directory / "event.json").write_text(json.dumps({"trigger": "quote_sent", "idempotencyKey": ""}))

    assert "timeZone: " in people("contacts", "create", "--data", '{"timeZone": "Mars"}').complaint
    assert "maxLateness: " in people("campaigns", "update", "spring", "--data", '{"maxLateness": "soon"}').complaint
    assert "idempotencyKey: " in people("events", "send", "event.json").complaint
    assert "--key: " in people("events", "send", "event.json", "--key", "").complaint


def say(error: InputInvalid, *arguments: str) -> str:
    return with_flags(error, running_command(typer.main.get_command(app), arguments), arguments)


def test_what_only_looks_like_a_field_is_left_alone() -> None:
    words = "contact 7 is at step 2, tag or company; data.contactId and 'stepId' are theirs"

    assert say(InputInvalid(words), "enrollments", "list") == words
    assert say(InputInvalid("inFlight: leave"), "no", "such", "command") == "inFlight: leave"


def test_a_name_of_the_user_s_own_data_is_no_flag() -> None:
    hint = "Name a contact (--contact), or give `contact` in data"

    assert say(DataMissing(["contactId"]), "trigger", "w") == "Missing required fields: contactId"
    assert say(DataMissing((), ["contact"]), "trigger", "w").endswith(hint)


def test_every_flag_that_stands_for_other_fields_is_there() -> None:
    flags = {option for command in COMMANDS.values() for param in command.params for option in param.opts}

    assert set(FIELDS) <= flags
