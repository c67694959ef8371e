"""`tidings keys`, as a user runs it."""

from uuid import uuid4

from tests.cli.conftest import Command
from tidings.engine import Engine


async def test_a_key_opens_the_door_until_it_is_revoked(tidings: Command, engine: Engine) -> None:
    made = tidings("keys", "create", "signup form", "--role", "triggerOperator", "--json").json
    identity = await engine.access.authenticate(made["secret"])

    revoked = tidings("keys", "revoke", made["id"])
    other = await _another(engine)

    assert identity is not None
    assert identity.roles == {"triggerOperator"}
    assert revoked.out == f"key {made['id']} opens nothing any more\n"
    assert await other.access.authenticate(made["secret"]) is None


def test_the_secret_stands_alone_on_standard_output(tidings: Command) -> None:
    made = tidings("keys", "create", "app", "--role", "workflowManager", "--expires", "2030-01-01")

    assert made.out.startswith("tid_")
    assert len(made.out.splitlines()) == 1
    assert "shown this once" in made.err


def test_keys_are_listed_without_their_secrets(tidings: Command) -> None:
    secret = tidings("keys", "create", "app", "--role", "systemAdmin").out.strip()

    shown, answer = tidings("keys", "list"), tidings("keys", "list", "--json")

    assert "app" in shown.out
    assert secret not in shown.out + answer.out
    assert [(key["name"], key["role"], key["revokedAt"]) for key in answer.json] == [("app", "systemAdmin", None)]


def test_what_is_wrong_is_said(tidings: Command) -> None:
    missing = str(uuid4())

    assert tidings("keys", "create", "app", "--role", "king").status == 2
    assert missing in tidings("keys", "revoke", missing).complaint
    assert "2020" in tidings("keys", "create", "app", "--role", "systemAdmin", "--expires", "2020-01-01").complaint


async def _another(engine: Engine) -> Engine:
    """An engine that has not seen the key yet."""
    return Engine(engine.kernel)
