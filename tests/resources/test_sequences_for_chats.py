"""Steps of sequences over chat and webhooks: about the contact, and to where the step or the connection says."""

from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql
from tests.resources.enrolling import enroll
from tests.resources.test_sequence_walk import publish, run_until, step
from tidings.domain.caller import Caller
from tidings.domain.errors import DefinitionInvalid
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

CHAT = {"channel": "chat", "content": "{{ contact.name }} began"}


async def test_a_step_tells_a_chat_and_a_system_about_the_contact(
    engine: Engine, caller: Caller, sql: Sql, clock: ManualClock, provider: FakeProvider
) -> None:
    hook = {"body": {"who": "{{ contact.name }}"}, "event": "began"}
    drip = await publish(
        engine,
        caller,
        step(0, **CHAT),
        step(1, **CHAT, to="C1"),
        step(2, channel="webhook", content=hook, to=["https://example.com/a", "https://example.com/b"]),
    )
    await enroll(engine, sql, caller, drip, "ada", "UTC")

    await run_until(engine, clock, clock.time + timedelta(days=4))

    assert [call.recipient for call in provider.calls[:2]] == ["default", "C1"]
    assert {call.recipient for call in provider.calls[2:]} == {"https://example.com/a", "https://example.com/b"}
    assert provider.calls[0].payload["body"].endswith(" began")


async def test_a_step_keeps_where_it_goes_and_null_takes_it_away(engine: Engine, caller: Caller) -> None:
    made = await engine.sequences.create(caller, "drip", {}, [step(0, **CHAT, to="C1")])
    [first] = made.steps
    assert first.to == ["C1"]

    changed = await engine.sequences.update_step(caller, made.id, first.id, {"content": "Hi"})
    assert changed.to == ["C1"]
    with pytest.raises(DefinitionInvalid, match="goes to the contact"):
        await engine.sequences.update_step(caller, made.id, first.id, {"channel": "sms"})
    assert (await engine.sequences.update_step(caller, made.id, first.id, {"to": None})).to is None
    assert (await engine.sequences.get(caller.workspace, made.id)).steps[0].to is None


@pytest.mark.parametrize(
    ("given", "place", "said"),
    [
        ({"channel": "sms", "to": "C1"}, "to", "goes to the contact"),
        ({"channel": "chat", "to": "{{ room }}"}, "to", "nothing a contact has"),
        ({"channel": "webhook", "content": "{}", "to": "gopher://x"}, "to", "is no address of a webhook"),
        ({"channel": "social"}, "channel", "use one of"),
    ],
)
async def test_a_step_that_goes_nowhere_is_refused(
    engine: Engine, caller: Caller, given: dict[str, object], place: str, said: str
) -> None:
    with pytest.raises(DefinitionInvalid) as refused:
        await engine.sequences.create(caller, "drip", {}, [step(0, **given)])

    [problem] = refused.value.problems
    assert problem.place == f"steps[0].{place}"
    assert said in problem.message


async def test_a_contact_without_any_address_is_no_obstacle(
    engine: Engine, caller: Caller, sql: Sql, clock: ManualClock
) -> None:
    drip = await publish(engine, caller, step(1, **CHAT, to="C1"), step(2, **CHAT, to="{{ contact.externalId }}"))
    contact, _ = await engine.contacts.create(caller, {"externalId": "nobody"})
    await engine.enrollments.enroll(caller, drip.id, contact.id)

    why = await engine.enrollments.why(caller.workspace, drip.id, contact.id)

    assert [one.reason for one in why.steps] == [None, None]
