"""`tidings simulate campaign` as a user runs it."""

from tests.cli.conftest import Command
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine

CALLER = Caller(Workspace(), "ann")


async def test_a_campaign_is_simulated_as_if_it_were_deployed(tidings: Command, engine: Engine) -> None:
    people = [{"externalId": f"p{n}", "name": f"P{n}", "email": f"p{n}@example.com"} for n in range(3)]
    await engine.contacts.upsert_many(CALLER, [*people, {"externalId": "nobody"}])
    content = {"subject": "Hi", "body": "Dear {{ contact.name }}"}
    letter = {"name": "spring", "channel": "email", "content": content, "audience": {"all": True}, "sendHour": 9}
    await engine.campaigns.create(CALLER, letter)

    ended = tidings(
        *("simulate", "campaign", "spring", "--contact", "p1", "--days", "3"),
        *("--from", "2026-03-02T08:00:00Z", "--at", "2026-03-03T10:00:00Z"),
    )

    assert ended.status == 0, ended.err
    assert "campaign spring (version 1) · 4 of 4 contacts" in ended.out
    assert "3 sent, 1 skipped, 0 failed · 1 completed" in ended.out
    for text in (
        "Wed 2026-03-04",
        "most at 9:00",
        "the contact has no e-mail address",
        "subject: Hi\n    body:    Dear P1",
    ):
        assert text in ended.out
    assert tidings("runs", "list", "--json").json == []
    for complaint, arguments in {
        "there is no campaign 'nothing'": ("nothing",),
        "--at 'soon' is not a time": ("spring", "--at", "soon"),
    }.items():
        assert complaint in tidings("simulate", "campaign", *arguments).complaint
