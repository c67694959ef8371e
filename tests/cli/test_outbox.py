from uuid import UUID, uuid4

import pytest

from tests.cli.conftest import Command
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.outcome import Unknown
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import OutboxFilter

WELCOME = {
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}
LOST = Unknown("[lost] \x1b[31m after the dot")


async def make_doubt(engine: Engine, provider: FakeProvider, workspace: Workspace) -> UUID:
    provider.answer = LOST
    await engine.define("welcome", WELCOME, workspace)
    await engine.trigger("welcome", {"email": "ann@example.com"}, "k1", workspace)
    await engine.work_everything()
    [item] = (await engine.outbox.list(workspace, OutboxFilter(in_doubt=True))).items
    return item.id


@pytest.fixture
async def doubtful(engine: Engine, provider: FakeProvider) -> UUID:
    """An item whose answer was lost."""
    return await make_doubt(engine, provider, Workspace())


def test_nothing_in_doubt_is_said_so(tidings: Command) -> None:
    assert tidings("outbox", "in-doubt").out == "nothing is in doubt\n"
    assert tidings("outbox", "in-doubt", "--json").json == []


def test_items_in_doubt_are_listed_with_what_is_known(tidings: Command, doubtful: UUID) -> None:
    shown, answer = tidings("outbox", "in-doubt", COLUMNS="400"), tidings("outbox", "in-doubt", "--json")

    assert str(doubtful) in shown.out
    assert "[lost] \\x1b[31m after the dot" in shown.out  # neither taken for colour nor let through to the terminal
    [item] = answer.json
    assert (item["id"], item["recipient"], item["inDoubt"]) == (str(doubtful), "ann@example.com", True)


def test_an_item_is_shown_with_its_attempts(tidings: Command, doubtful: UUID) -> None:
    shown, answer = tidings("outbox", "show", str(doubtful)), tidings("outbox", "show", str(doubtful), "--json")

    assert "nobody has touched it" in shown.out
    assert "next: somebody decides" in shown.out
    assert (answer.json["evidence"]["providerClass"], answer.json["evidence"]["next"]) == (None, "person")
    assert answer.json["failedAttempts"][0]["outcome"] == "unknown"
    assert answer.json["history"] == []


@pytest.mark.parametrize(
    ("choice", "status", "event"),
    [
        ("--sent", ItemStatus.SENT, "resolved_sent"),
        ("--failed", ItemStatus.FAILED, "resolved_failed"),
        ("--resend", ItemStatus.QUEUED, "resolved_resend"),
    ],
)
async def test_a_person_ends_doubt_and_it_is_on_record(
    tidings: Command, engine: Engine, doubtful: UUID, choice: str, status: ItemStatus, event: str
) -> None:
    ended = tidings("outbox", "resolve", str(doubtful), choice, "--note", "asked Ann", "--actor", "bob", "--json")

    assert (ended.json["id"], ended.json["status"], ended.json["inDoubt"]) == (str(doubtful), status, False)
    found = await engine.outbox.get(Workspace(), doubtful)
    assert (found.status, found.in_doubt) == (status, False)
    [entry] = found.history
    assert (entry.event, entry.actor, entry.detail) == (event, "bob", {"note": "asked Ann"})


async def test_doubt_that_has_ended_cannot_be_ended_again(tidings: Command, engine: Engine, doubtful: UUID) -> None:
    first = tidings("outbox", "resolve", str(doubtful), "--sent", "--note", "asked Ann")
    again = tidings("outbox", "resolve", str(doubtful), "--failed", "--note", "on second thoughts")

    assert first.out == f"{doubtful} is no longer in doubt: sent\n"
    assert f"item {doubtful} is not in doubt: it is sent" in again.complaint
    found = await engine.outbox.get(Workspace(), doubtful)
    assert (found.status, len(found.history)) == (ItemStatus.SENT, 1)


@pytest.mark.parametrize("choices", [[], ["--sent", "--resend"]])
def test_exactly_one_outcome_must_be_chosen(anywhere: Command, choices: list[str]) -> None:
    ended = anywhere("outbox", "resolve", str(uuid4()), *choices, "--note", "x")

    assert ended.status == 2
    assert "choose one of --sent, --resend and --failed" in ended.err


def test_a_note_must_say_something(tidings: Command, doubtful: UUID) -> None:
    assert "a note is needed" in tidings("outbox", "resolve", str(doubtful), "--sent", "--note", " ").complaint


def test_an_item_that_is_not_there_is_one_line(tidings: Command) -> None:
    missing = uuid4()

    assert tidings("outbox", "show", str(missing)).complaint == f"tidings: there is no item {missing}"


async def test_another_workspace_s_items_are_neither_seen_nor_touched(
    tidings: Command, engine: Engine, provider: FakeProvider
) -> None:
    theirs = await make_doubt(engine, provider, Workspace("acme", "shop"))
    ours = await make_doubt(engine, provider, Workspace())
    at_acme = ("--tenant", "acme", "--workspace", "shop")

    def listed(*where: str) -> list[str]:
        return [item["id"] for item in tidings("outbox", "in-doubt", *where, "--json").json]

    assert (listed(), listed(*at_acme)) == ([str(ours)], [str(theirs)])
    assert (listed("--tenant", "acme"), listed("--workspace", "shop")) == ([], [])
    for item, where in ((theirs, ()), (theirs, ("--tenant", "acme")), (ours, at_acme)):
        for command in (("show", str(item)), ("resolve", str(item), "--resend", "--note", "it never arrived")):
            assert tidings("outbox", *command, *where).complaint == f"tidings: there is no item {item}"
    assert (listed(), listed(*at_acme)) == ([str(ours)], [str(theirs)])

    assert tidings("outbox", "resolve", str(theirs), "--sent", "--note", "asked Ann", *at_acme).status == 0
    assert (listed(), listed(*at_acme)) == ([str(ours)], [])
