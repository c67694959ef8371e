"""Rules over chat and webhooks: they reach no person, and go where their steps or the connection say."""

from typing import Any

import pytest

from tests.kernel.event_scenes import ME, items_of, key, make_rule, only, outcomes, send, with_fallbacks
from tidings.domain.errors import DefinitionInvalid
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

SAID = {"body": "{{ lead.name }} asked for a quote"}


async def test_a_chat_rule_posts_where_its_step_says_and_else_to_the_connections_place(
    engine: Engine, provider: FakeProvider
) -> None:
    steps: list[dict[str, Any]] = [{"template": SAID, "to": ["C1", "{{ room }}"]}, {"template": SAID}]
    await make_rule(engine, *steps, channel="chat")

    event = await send(engine, variables={"room": " C2 "})
    await engine.work_everything()

    assert outcomes(event) == {("chat", "lead"): "enqueued"}
    assert sorted(call.recipient for call in provider.calls) == ["C1", "C2", "default"]
    assert {call.payload["body"] for call in provider.calls} == {"Ada asked for a quote"}


async def test_a_webhook_rule_sends_json_about_the_event(engine: Engine, provider: FakeProvider) -> None:
    step = {"template": {"body": {"name": "{{ lead.name }}"}, "event": "quote.sent"}, "to": "https://example.com/hook"}
    await make_rule(engine, step, channel="webhook", audience="agent")

    await send(engine)
    await engine.work_everything()

    [call] = provider.calls
    assert (call.recipient, call.payload["event"]) == ("https://example.com/hook", "quote.sent")
    assert '"Ada"' in str(call.payload["body"])


async def test_nothing_goes_twice_to_one_place_and_an_empty_one_is_skipped(
    engine: Engine, provider: FakeProvider
) -> None:
    await make_rule(engine, {"template": SAID, "to": ["C1", "{{ room }}", "{{ other }}"]}, channel="chat")

    event = await send(engine, variables={"room": "c1", "other": None})
    await engine.work_everything()

    assert [call.recipient for call in provider.calls] == ["C1"]
    [skipped] = [one for one in items_of(event) if one.status == "skipped"]
    assert skipped.error == "to[2] is empty for this event"


async def test_what_tells_a_chat_about_a_contact_is_erased_with_it(engine: Engine, provider: FakeProvider) -> None:
    lead, _ = await engine.contacts.create(ME, {"name": "Ada", "attributes": {"slack": "U1"}})
    await make_rule(engine, {"template": SAID, "to": ["{{ lead.attributes.slack }}", "C1"]}, channel="chat")
    event = await send(engine, "before", lead={"contactId": str(lead.id)})
    assert [one.contact_id for one in items_of(event)] == [lead.id, None]

    await engine.contacts.delete(ME, lead.id)
    await engine.work_everything()

    assert not provider.calls


async def test_a_fallback_takes_over_a_chat_without_a_rule(engine: Engine) -> None:
    chat = key(channel="chat")
    event = await send(with_fallbacks(engine, chat))

    assert only(event).outcome == "fallback"


@pytest.mark.parametrize(
    ("channel", "step", "place", "said"),
    [
        ("chat", {"template": SAID, "recipientConfig": {"includeAgent": True}}, "recipientConfig", "goes to no person"),
        ("chat", {"template": SAID, "to": []}, "", ""),
        ("webhook", {"template": {"body": "{}"}, "to": "ftp://example.com"}, "to", "is no address of a webhook"),
        ("email", {"template": {"subject": "S", "body": "B"}, "to": "C1"}, "to", "use recipientConfig.customEmails"),
        ("push", {"template": {"title": "S", "body": "B"}, "to": "C1"}, "to", "leave it out"),
    ],
)
async def test_what_a_channel_cannot_reach_is_refused_at_its_place(
    engine: Engine, channel: str, step: dict[str, Any], place: str, said: str
) -> None:
    if not place:
        await make_rule(engine, step, channel=channel)
        return
    with pytest.raises(DefinitionInvalid) as refused:
        await make_rule(engine, step, channel=channel)

    [problem] = refused.value.problems
    assert problem.place == f"steps[0].{place}"
    assert said in problem.message


async def test_a_rule_is_shown_as_it_was_written_and_can_be_written_back(engine: Engine) -> None:
    made = await make_rule(engine, {"template": SAID, "to": "{{ room }}"}, channel="chat")

    again, change = await engine.rules.apply(
        ME, {"trigger": made.trigger, "channel": "chat", "audience": "lead", "steps": made.steps}
    )

    assert change == "unchanged"
    assert again.steps[0]["to"] == ["{{ room }}"]
