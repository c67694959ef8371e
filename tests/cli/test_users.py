"""`tidings users`, as a user runs it."""

import pytest

from tests.cli.conftest import Command
from tests.http.people import ELSEWHERE
from tidings.engine import Engine
from tidings.resources.sessions import OwnChange

ADA = "ada@example.com"


def invite(tidings: Command, email: str = ADA, *roles: str) -> dict[str, object]:
    named = [part for role in roles for part in ("--role", role)]
    found: dict[str, object] = tidings("users", "invite", email, "--name", "Ada", *named, "--json").json
    return found


def test_the_link_stands_alone_on_standard_output(tidings: Command) -> None:
    made = tidings("users", "invite", ADA, "--name", "Ada", "--role", "reader")
    elsewhere = tidings("users", "link", ADA, TIDINGS_PUBLIC_URL="https://news.example.com/")

    assert made.out.startswith("http://127.0.0.1:8080/welcome#")
    assert len(made.out.splitlines()) == 1
    assert "lets ada@example.com in once" in made.err
    assert elsewhere.out.startswith("https://news.example.com/welcome#")


async def test_an_invited_person_has_the_given_roles_and_comes_in_by_the_link(tidings: Command, engine: Engine) -> None:
    made = invite(tidings, ADA, "reader", "second=triggerOperator", "second=workflowManager")

    begun = await engine.sessions.redeem(str(made["link"]).rpartition("#")[2], OwnChange(), ELSEWHERE)

    assert begun is not None
    assert begun.signed_in.tenant == "default"
    assert begun.signed_in.roles == {
        "default": frozenset(["reader"]),
        "second": frozenset(["triggerOperator", "workflowManager"]),
    }


def test_people_are_listed_and_shown_without_what_lets_them_in(tidings: Command) -> None:
    link = str(invite(tidings, ADA, "reader")["link"])
    token = link.rpartition("#")[2]

    listed, shown = tidings("users", "list"), tidings("users", "show", "ADA@example.com")
    answer = tidings("users", "list", "--json")

    assert ADA in listed.out
    assert "default: reader" in shown.out
    assert [one["email"] for one in answer.json] == [ADA]
    assert token not in listed.out + shown.out + answer.out


async def test_people_are_changed_disabled_enabled_signed_out_and_removed(tidings: Command, engine: Engine) -> None:
    made = invite(tidings)
    begun = await engine.sessions.redeem(str(made["link"]).rpartition("#")[2], OwnChange(), ELSEWHERE)
    assert begun is not None
    changed = tidings("users", "update", ADA, "--role", "operator", "--name", "Countess", "--json").json
    taken = tidings("users", "update", ADA, "--no-roles", "--json").json
    disabled = tidings("users", "disable", ADA, "--json").json
    refused = tidings("users", "link", ADA).complaint
    enabled = tidings("users", "enable", ADA, "--json").json
    signed_out = tidings("users", "sign-out", ADA)
    removed = tidings("users", "remove", ADA, "--yes")

    engine.users.memory.forget()
    assert (changed["name"], changed["workspaces"][0]["roles"]) == ("Countess", ["operator"])
    assert taken["workspaces"] == []
    assert (disabled["disabledAt"] is None, enabled["disabledAt"]) == (False, None)
    assert "enable them first" in refused
    assert "signed out everywhere" in signed_out.out
    assert "is removed" in removed.out
    assert await engine.sessions.authenticate(begun.token) is None
    assert "there is no person" in tidings("users", "show", ADA).complaint


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["invite", "nobody", "--name", "Ada"], "is not an e-mail address"),
        (["invite", ADA, "--name", "Ada", "--role", "king"], "use one of operator, reader"),
        (["invite", ADA, "--name", "Ada", "--role", "workerService"], "is for programs"),
        (["show", "bob@example.com"], "there is no person with the address"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], told: str, tidings: Command) -> None:
    assert told in tidings("users", *arguments).complaint
