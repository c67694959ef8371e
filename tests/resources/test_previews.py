"""Previews: what a person would receive of every product, and what is wrong with it; nothing is stored."""

import json

import pytest

from tests.kernel.scenes import Sql
from tests.resources.campaign_scenes import ANN
from tidings.domain.errors import FieldsInvalid
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

GRAPH = {
    "entryNodeId": "mail",
    "nodes": [
        {
            "id": "mail",
            "type": "email",
            "to": "{{ email }}",
            "subject": "Hi {{ name }}",
            "html": '<style>p{color:red}</style><p>{{ plan.name }}<img src="cid:logo"></p>',
        },
        {"id": "wait", "type": "delay", "duration": "PT1H"},
        {"id": "text", "type": "sms", "to": "{{ phone }}", "body": "Ça va, {{ name }}?"},
        {"id": "hook", "type": "webhook", "body": {"who": "{{ name }}"}},
    ],
    "edges": [{"from": "mail", "to": "wait"}, {"from": "wait", "to": "text"}, {"from": "text", "to": "hook"}],
}


async def test_every_send_of_a_workflow_is_shown(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    made = await engine.workflows.create(ANN, "flow", GRAPH)
    data = {"name": "Ada", "email": "ada@example.com", "phone": "+491701234567", "plan": {"name": "Pro"}}

    mail, text, hook = await engine.previews.workflow(ANN.workspace, made.id, data)

    assert (mail.part, mail.recipients, mail.content["subject"]) == ("mail", ["ada@example.com"], "Hi Ada")
    assert '<p style="color: red;">Pro<img' in mail.content["html"]
    assert mail.content["body"] == "Pro"
    assert mail.size == sum(len(mail.content[name].encode()) for name in ("subject", "body", "html"))
    assert mail.problems == ["html shows cid:logo, and no attachment has that contentId"]
    assert mail.error is None
    assert text.segments is not None
    assert (text.segments.encoding, text.segments.units, text.segments.segments) == ("gsm", 11, 1)
    assert (hook.recipients, json.loads(hook.content["body"])) == (["default"], {"who": "Ada"})
    assert provider.calls == []
    assert await sql.fetchval("select count(*) from outbox") == 0


async def test_what_the_data_lacks_is_shown_as_it_is_written(engine: Engine) -> None:
    made = await engine.workflows.create(ANN, "flow", GRAPH)

    [mail] = await engine.previews.workflow(ANN.workspace, made.id, {"name": "Ada"}, part="mail")

    assert "{{ plan.name }}" in mail.content["html"]
    assert mail.recipients == ["{{ email }}"]
    assert {"{{ email }} is missing", "{{ plan.name }} is missing"} < set(mail.problems)
    assert mail.error == "{{ email }} is missing; {{ plan.name }} is missing"


async def test_a_message_that_would_fail_says_why(engine: Engine) -> None:
    node = {"id": "a", "type": "sms", "to": "+491701234567", "body": "{{ text }}", "maxSegments": 1}
    made = await engine.workflows.create(ANN, "flow", {"entryNodeId": "a", "nodes": [node], "edges": []})

    [shown] = await engine.previews.workflow(ANN.workspace, made.id, {"text": "x" * 200})

    assert shown.error is not None
    assert "2 segments" in shown.error


async def test_a_part_that_sends_nothing_is_refused(engine: Engine) -> None:
    made = await engine.workflows.create(ANN, "flow", GRAPH)

    for part in ("wait", "nothing"):
        with pytest.raises(FieldsInvalid, match=r"use one of 'mail', 'text', 'hook'"):
            await engine.previews.workflow(ANN.workspace, made.id, {}, part=part)


async def test_a_sequence_speaks_to_a_contact(engine: Engine) -> None:
    [ada, mute] = [
        one.id
        for one in await engine.contacts.upsert_many(
            ANN,
            [{"externalId": "ada", "email": "ada@example.com", "name": "Ada"}, {"externalId": "mute", "name": "M"}],
        )
    ]
    steps = [
        {"dayOffset": 0, "channel": "email", "content": "Dear {{ contact.name }}"},
        {"dayOffset": 1, "channel": "email", "content": {"html": "<p>Hi</p>", "replyTo": "{{ contact.email }}"}},
    ]
    made = await engine.sequences.create(ANN, "Onboarding", {}, steps)

    first, second = await engine.previews.sequence(ANN.workspace, made.id, {}, contact_id="ada")
    [skipped] = await engine.previews.sequence(ANN.workspace, made.id, {}, part="1", contact_id=mute)
    [unknown] = await engine.previews.sequence(ANN.workspace, made.id, {}, part="1")

    assert first.content == {"subject": "Onboarding", "body": "Dear Ada"}
    assert first.contact_id == ada
    assert first.recipients == ["ada@example.com"]
    assert second.content == {
        "subject": "Onboarding",
        "html": "<p>Hi</p>",
        "body": "Hi",
        "replyTo": "ada@example.com",
    }
    assert skipped.skipped == "the contact has no e-mail address"
    assert unknown.content["body"] == "Dear {{ contact.name }}"
    with pytest.raises(FieldsInvalid, match="contactId"):
        await engine.previews.sequence(ANN.workspace, made.id, {}, contact_id="nobody")


async def test_a_rule_speaks_of_an_event(engine: Engine) -> None:
    template = {"subject": "Quote {{ number }}", "mjml": "<mjml><mj-body></mj-body></mjml>", "cc": "{{ boss }}"}
    file = {"url": "https://example.com/{{ number }}.pdf", "filename": "quote.pdf"}
    rule = {
        "trigger": "quote_sent",
        "channel": "email",
        "audience": "lead",
        "steps": [{"template": template, "attachments": [file]}],
    }
    made = await engine.rules.create(ANN, rule)

    data = {"number": 17, "boss": "b@example.com", "lead": {"email": "l@example.com"}}
    [shown] = await engine.previews.rule(ANN.workspace, made.id, data)

    assert shown.recipients == ["l@example.com"]
    assert shown.content["subject"] == "Quote 17"
    assert json.loads(shown.content["cc"]) == ["b@example.com"]
    assert json.loads(shown.content["attachments"])[0]["url"] == "https://example.com/17.pdf"
    assert shown.content["html"].startswith("<!DOCTYPE html>")
