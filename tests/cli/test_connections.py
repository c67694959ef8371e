"""`tidings connections`: what can be connected is listed, and a credential comes from anywhere but an argument."""

import json
from base64 import b64encode

from tests.cli.conftest import Command

KEY = b64encode(b"k" * 32).decode()
CANARY = "re_canary_51f0"


def test_kinds_lists_all_and_one_with_what_it_must_be_told(tidings: Command) -> None:
    every, one, wrong = (tidings("connections", "kinds", *name) for name in ((), ("resend",), ("resned",)))

    assert {"resend", "twilio", "apns", "webhook"} <= set(every.out.split())
    assert "--credential" in one.out
    assert "twilio" not in one.out
    assert "did you mean 'resend'?" in wrong.complaint


def test_a_credential_is_read_from_a_file_or_the_environment_and_never_shown(tidings: Command) -> None:
    (tidings.directory / "key.txt").write_text(f"{CANARY}\n")
    settings = {"TIDINGS_SECRET_KEY": KEY}
    sender = ("--set", "from=you@example.com")

    by_file = tidings("connections", "add", "first", "resend", *sender, "--credential", "apiKey=@key.txt", **settings)
    by_name = tidings(
        *("connections", "add", "second", "resend", *sender), TIDINGS_CREDENTIAL_API_KEY=CANARY, **settings
    )
    shown = tidings("connections", "list", "--json", **settings)

    own = {one["name"]: one["credentials"] for one in json.loads(shown.out) if not one["operators"]}
    assert own == {"first": ["apiKey"], "second": ["apiKey"]}
    assert CANARY not in by_file.out + by_name.out + shown.out


def test_a_credential_as_an_argument_is_refused_without_repeating_it(tidings: Command) -> None:
    ended = tidings("connections", "add", "first", "resend", "--credential", f"apiKey={CANARY}", TIDINGS_SECRET_KEY=KEY)

    assert "must name a file" in ended.complaint
    assert CANARY not in ended.complaint


def test_what_a_connection_lacks_is_said_at_its_place(tidings: Command) -> None:
    ended = tidings("connections", "add", "first", "twilio", "--channel", "sms", TIDINGS_SECRET_KEY=KEY)

    assert "settings.accountSid" in ended.complaint
    assert "credentials.authToken" in ended.complaint
