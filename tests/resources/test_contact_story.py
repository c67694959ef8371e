"""The story of a contact: everything that happened to one person, whatever product it belongs to."""

from collections.abc import Sequence

import pytest

from tests.conftest import ManualClock
from tests.kernel.people import ANN, change, make, start_for, to_contact
from tests.resources.campaign_scenes import deploy, work_until_ended
from tidings.domain.caller import Caller
from tidings.domain.errors import NotFound
from tidings.domain.flow.outcome import Rejected
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.views.sequences import SequenceStatus
from tidings.views.stories import StoryLine

HOME = ANN.workspace


async def live_through_everything(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    """A contact gets a campaign, a sequence's step, and a workflow's message that is refused; then consent ends."""
    ada = await make(engine, pushTokens=[], phone=None)
    clock.advance(minutes=1)
    run = await deploy(engine, ANN, audience={"all": True})
    await work_until_ended(engine, clock, run, ANN)
    clock.advance(minutes=1)
    steps = [{"dayOffset": 0, "channel": "email", "subject": "Step", "content": "One"}]
    drip = await engine.sequences.create(ANN, "Drip", steps=steps)
    await engine.sequences.update(ANN, drip.id, status=SequenceStatus.ACTIVE)
    await engine.enrollments.enroll(ANN, drip.id, ada)
    await engine.work_everything()
    clock.advance(minutes=1)
    provider.script["ada@example.com"] = [Rejected("no such mailbox")]
    await start_for(engine, ada, to_contact(subject="Hello {{ contact.name }}"))
    await engine.work_everything()
    clock.advance(minutes=1)
    await change(engine, ada, consent={"email": {"status": "withdrawn"}})


def told(lines: Sequence[StoryLine]) -> list[tuple[str, ...]]:
    return [(one.kind.value, one.product.value if one.product else "", one.name or "", one.outcome) for one in lines]


async def test_it_tells_messages_enrollments_executions_and_changes_newest_first(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await live_through_everything(engine, clock, provider)

    lines = (await engine.contacts.story(HOME, "ada")).items

    assert [one.id for one in lines] == sorted((one.id for one in lines), reverse=True)
    by_minute = sorted(lines, key=lambda one: (one.at.replace(second=0, microsecond=0), one.kind), reverse=True)
    assert told(by_minute) == [
        ("change", "", "", "updated"),
        ("message", "workflow", "flow", "failed"),
        ("execution", "workflow", "flow", "failed"),
        ("message", "sequence", "Drip", "sent"),
        ("enrollment", "sequence", "Drip", "completed"),
        ("message", "campaign", lines[-2].name or "", "sent"),
        ("change", "", "", "created"),
    ]
    consent, refused = by_minute[0], by_minute[1]
    assert (consent.actor, list(consent.fields)) == ("ann", ["consent"])
    assert (refused.words, refused.why, refused.channel) == ("Hello Ada Lovelace", "no such mailbox", "email")
    assert refused.execution_id == by_minute[2].id
    assert refused.workflow_id == by_minute[2].workflow_id
    assert by_minute[3].execution_id == by_minute[4].id
    assert all(one.ended_at for one in lines)


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_pages_are_parts_of_the_whole(
    limit: int, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await live_through_everything(engine, clock, provider)
    whole = await engine.contacts.story(HOME, "ada")

    found: list[StoryLine] = []
    cursor: str | None = None
    while True:
        page = await engine.contacts.story(HOME, "ada", limit=limit, cursor=cursor)
        assert len(page.items) == limit or page.next_cursor is None
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break

    assert whole.next_cursor is None
    assert found == whole.items


async def test_an_erased_person_s_story_names_nobody_and_ends_with_the_erasure(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await live_through_everything(engine, clock, provider)
    ada = (await engine.contacts.find(HOME, "ada")).id
    clock.advance(minutes=1)
    await engine.contacts.delete(ANN, ada)

    lines = (await engine.contacts.story(HOME, ada)).items

    assert (lines[0].kind, lines[0].outcome) == ("change", "deleted")
    assert len([one for one in lines if one.kind == "message"]) == 3
    assert "ada" not in repr(lines).lower().replace("'ann'", "")


async def test_nobody_reads_a_stranger_s_contact(engine: Engine, stranger: Caller) -> None:
    await make(engine)

    with pytest.raises(NotFound):
        await engine.contacts.story(stranger.workspace, "ada")
