"""What people write, from the definition to the provider: one content model in every product."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.kernel.scenes import Sql, deploy, email, start, work
from tidings.domain.errors import DefinitionInvalid
from tidings.domain.flow.item import Channel
from tidings.engine import Engine
from tidings.kernel.campaigns.start_run import Recipient
from tidings.providers.fake import FakeProvider

STYLED = "<style>p{color:red}</style><p>Hi {{ name }}</p>"
MJML = (
    "<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ name }}</mj-text></mj-column></mj-section></mj-body></mjml>"
)


def letter(**more: object) -> dict[str, object]:
    return {name: value for name, value in email(**more).items() if value is not None}  # type: ignore[arg-type]


async def test_a_letter_is_finished_before_it_is_frozen(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    node = letter(
        body=None, html=STYLED, preheader="Soon, {{ name }}", cc=["{{ boss }}"], headers={"X-A": "{{ name }}"}
    )

    await start(engine, node, name="Ada & Co", boss="boss@example.com")
    await work(engine)

    [call] = provider.calls
    assert '<p style="color: red;">Hi Ada &amp; Co</p>' in call.payload["html"]
    assert "Soon, Ada &amp; Co" in call.payload["html"]
    assert call.payload["body"] == "Hi Ada & Co"
    assert json.loads(call.payload["cc"]) == ["boss@example.com"]
    assert json.loads(call.payload["headers"]) == {"X-A": "Ada & Co"}
    assert call.payload.keys() == {"subject", "body", "html", "cc", "headers"}
    assert json.loads(await sql.fetchval("select payload from outbox")) == call.payload


async def test_mjml_is_compiled_for_each_message(engine: Engine, provider: FakeProvider) -> None:
    await start(engine, letter(body=None, mjml=MJML), name="<Ada>")
    await work(engine)

    [call] = provider.calls
    assert "Hi &lt;Ada&gt;" in call.payload["html"]
    assert call.payload["body"] == "Hi <Ada>"


@pytest.mark.parametrize(
    "html",
    ['<a href="{{ url }}">x</a>', '<a href="{{ url | strip }}">x</a>', "<style>a{}</style><a href='{{ url }}'>x</a>"],
    ids=["filled in place", "rendered", "finished"],
)
async def test_a_link_out_of_data_that_runs_code_fails_its_message(
    engine: Engine, provider: FakeProvider, sql: Sql, html: str
) -> None:
    await start(engine, letter(html=html), url="javascript:alert(1)")
    await work(engine)

    assert provider.calls == []
    assert "javascript:alert(1)" in await sql.fetchval("select error from outbox where status = 'failed'")


async def test_a_page_that_brings_the_compiler_down_fails_alone(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    deep = "<style>p{color:red}</style>{% for i in (1..9999) %}" + "<div>" * 20 + "{% endfor %}{{ name }}"
    await start(engine, letter(html=deep), name="Ada")
    await work(engine)
    await engine.trigger("flow", {"name": "Ada"}, "k2")

    assert provider.calls == []
    assert "exceeds the limit" in await sql.fetchval("select error from outbox where status = 'failed'")
    await engine.define("fine", {"entryNodeId": "a", "nodes": [letter(id="a", html=STYLED)], "edges": []})
    await engine.trigger("fine", {"name": "Ada"}, "k1")
    await work(engine)
    assert len(provider.calls) == 1


async def test_a_campaign_and_a_plain_list_say_the_same(engine: Engine, provider: FakeProvider) -> None:
    content = {"subject": "Hi", "html": STYLED, "replyTo": "{{ reply }}", "bcc": ["a@example.com"]}
    people = [Recipient("ada@example.com", {"name": "Ada", "reply": "r@example.com"})]

    await deploy(engine, content=content, recipients=people)
    await work(engine)

    [call] = provider.calls
    assert call.payload["replyTo"] == "r@example.com"
    assert json.loads(call.payload["bcc"]) == ["a@example.com"]
    assert call.payload["body"] == "Hi Ada"


CHAT: Mapping[str, Any] = {"id": "a", "type": "chat", "body": "New: {{ name }}", "title": "T"}
HOOK: Mapping[str, Any] = {"id": "b", "type": "webhook", "body": {"name": "{{ name }}", "n": 1}, "event": "made"}


async def test_chats_and_webhooks_are_sent_like_any_message(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    await start(engine, CHAT, {**HOOK, "to": ["https://example.com/hook", "default"]}, name='A"da')
    await work(engine)

    chat, *hooks = provider.calls
    assert (chat.channel, chat.recipient) == (Channel.CHAT, "default")
    assert chat.payload == {"title": "T", "body": 'New: A"da'}
    assert {one.recipient for one in hooks} == {"https://example.com/hook", "default"}
    assert json.loads(hooks[0].payload["body"]) == {"name": 'A"da', "n": 1}
    assert hooks[0].payload["event"] == "made"
    assert {row["status"] for row in await sql.fetch("select status from outbox")} == {"sent"}


async def test_an_address_that_no_webhook_has_is_refused(engine: Engine) -> None:
    for to in ("ftp://x", "here", "https://"):
        with pytest.raises(DefinitionInvalid, match=r"https://example\.com/hook"):
            await start(engine, {**HOOK, "to": to})
