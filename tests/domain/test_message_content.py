"""What a message is made of: read once for every product, and turned into what a provider gets."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tidings.domain.channels import MESSAGE_CHANNELS, Channel, FieldKind
from tidings.domain.content.message import MessageContent
from tidings.domain.content.template import RenderFailed
from tidings.domain.errors import DefinitionInvalid
from tidings.domain.workflows.definition import check_content

EMAIL = {"subject": "Hi", "body": "Good day."}


def read(channel: Channel, content: Mapping[str, Any]) -> MessageContent:
    return MessageContent(channel, check_content(channel, content))


def sent(channel: Channel, content: Mapping[str, Any], **rendered: str) -> dict[str, str]:
    message = read(channel, content)
    payload = message.payload({**message.templates, **rendered})
    assert isinstance(payload, dict), payload
    return payload


def failed(channel: Channel, content: Mapping[str, Any], rendered: Mapping[str, str]) -> str:
    message = read(channel, content)
    payload = message.payload({**message.templates, **rendered})
    assert isinstance(payload, RenderFailed), payload
    return payload.reason


def wrong(channel: Channel, content: Mapping[str, Any]) -> dict[str, str]:
    with pytest.raises(DefinitionInvalid) as raised:
        check_content(channel, content)
    return {one.place.removeprefix("content."): one.message for one in raised.value.problems}


def test_an_e_mail_has_everything_a_letter_has() -> None:
    content = {
        **EMAIL,
        "from": "Ada <ADA@Example.com>",
        "replyTo": "help@example.com",
        "cc": ["{{ boss }}", "b@example.com"],
        "bcc": "archive@example.com",
        "headers": {"X-Campaign": "{{ name }}", "List-Id": "<news.example.com>"},
        "attachments": [{"url": "{{ url }}", "filename": "logo.png", "contentId": "logo"}],
    }
    rendered = {"cc/0": "boss@example.com", "headers/X-Campaign": "spring", "attachments/0/url": "https://x.example/a"}

    payload = sent(Channel.EMAIL, content, **rendered)

    assert payload["from"] == "Ada <ADA@example.com>"
    assert payload["replyTo"] == "help@example.com"
    assert json.loads(payload["cc"]) == ["boss@example.com", "b@example.com"]
    assert json.loads(payload["bcc"]) == ["archive@example.com"]
    assert json.loads(payload["headers"]) == {"X-Campaign": "spring", "List-Id": "<news.example.com>"}
    assert json.loads(payload["attachments"]) == [
        {"url": "https://x.example/a", "filename": "logo.png", "contentId": "logo"}
    ]
    assert list(payload) == sorted(payload, key=lambda name: (len(name), name))


def test_what_is_empty_once_rendered_counts_as_not_given() -> None:
    content = {**EMAIL, "cc": ["{{ a }}", "{{ b }}"], "replyTo": "{{ c }}", "headers": {"X-A": "{{ d }}"}}

    payload = sent(Channel.EMAIL, content, **{"cc/0": " ", "cc/1": "", "replyTo": "", "headers/X-A": ""})

    assert payload == EMAIL


@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        ("from", "Ada", "write it like ada@example.com"),
        ("from", "A\nB <a@example.com>", "one line"),
        ("replyTo", "nobody", "write it like"),
        ("cc", ["a@example.com", "b"], "write it like"),
        ("cc", [1], "is not a string"),
        ("bcc", ["a@example.com"] * 51, "at most 50"),
        ("headers", {"Bcc": "eve@x.org"}, "give bcc"),
        ("headers", {"From": "eve@x.org"}, "give from"),
        ("headers", {"Received": "x"}, "begins with X-"),
        ("headers", {"X-A\r\nBcc": "x"}, "is not the name of a header"),
        ("headers", {"X-SMTPAPI": "{}"}, "command to a mail service"),
        ("headers", {"X-A": "a\r\nBcc: eve@x.org"}, "one line"),
        ("headers", "X-A: b", "object"),
        ("attachments", [{"url": "ftp://x", "filename": "a"}], "https://"),
        ("attachments", [{"url": "https://x.example", "filename": "a", "contentId": "a b"}], "contentId"),
        ("html", "<a href='javascript:alert(1)'>x</a>", "https://"),
        ("html", '<a href=" JaVa&#115;cript:x">x</a>', "https://"),
        ("html", "<a href=java\tscript:x>x</a><img src='vbscript:x'>", "https://"),
        ("html", '<a href="data:text/html,x">x</a>', "https://"),
        ("mjml", "<mjml><mj-button href='javascript:x'>", "https://"),
        ("preheader", "two\nlines", "one line"),
    ],
)
def test_what_no_letter_can_have_is_refused_where_it_is_written(field: str, value: object, remedy: str) -> None:
    problems = wrong(Channel.EMAIL, {**EMAIL, field: value})

    assert len(problems) == 1
    [(place, message)] = problems.items()
    assert place.startswith(field)
    assert remedy in message


@pytest.mark.parametrize(
    ("field", "place", "value"),
    [
        ("from", "from", "Ada\r\nBcc: eve@x.org <a@example.com>"),
        ("replyTo", "replyTo", "a@example.com\nBcc: eve@x.org"),
        ("cc", "cc/0", "a@example.com\r\nBcc: eve@x.org"),
        ("cc", "cc/0", "a@example.com, eve@x.org"),
        ("headers", "headers/X-A", "a\r\nBcc: eve@x.org"),
        ("attachments", "attachments/0/filename", "a/b"),
    ],
)
def test_what_comes_out_of_data_fails_the_one_message(field: str, place: str, value: str) -> None:
    shape = {
        "from": "{{ x }}",
        "replyTo": "{{ x }}",
        "cc": ["{{ x }}"],
        "headers": {"X-A": "{{ x }}"},
        "attachments": [{"url": "https://x.example/a", "filename": "{{ x }}"}],
    }

    assert field in failed(Channel.EMAIL, {**EMAIL, field: shape[field]}, {place: value}) or field == "attachments"


def test_a_picture_made_of_data_may_stay() -> None:
    assert sent(Channel.EMAIL, {**EMAIL, "html": '<img src="data:image/png;base64,AA==">'})


def test_an_e_mail_needs_something_to_say_and_not_twice() -> None:
    assert "body or html or mjml" in wrong(Channel.EMAIL, {"subject": "Hi"})["html"]
    assert "either" in wrong(Channel.EMAIL, {"subject": "Hi", "html": "<p>", "mjml": "<mjml></mjml>"})["mjml"]


def test_a_push_message_has_data_and_where_to_go() -> None:
    content = {"title": "T", "body": "B", "data": {"id": "{{ id }}", "none": ""}, "url": "app://x", "collapse": "c"}

    payload = sent(Channel.PUSH, content, **{"data/id": "7"})

    assert json.loads(payload.pop("data")) == {"id": "7", "none": ""}
    assert payload == {"title": "T", "body": "B", "url": "app://x", "collapse": "c"}
    assert "https://" in wrong(Channel.PUSH, {"body": "B", "url": "javascript:x"})["url"]
    assert "https://" in failed(Channel.PUSH, {"body": "B", "url": "{{ u }}"}, {"url": "javascript:x"})


def test_whatsapp_takes_an_approved_template_instead_of_a_text() -> None:
    content = {"template": {"name": "hello", "language": "de", "parameters": ["{{ name }}", "x"]}}

    payload = sent(Channel.WHATSAPP, content, **{"template/parameters/0": "Ada"})

    assert json.loads(payload["template"]) == {"name": "hello", "language": "de", "parameters": ["Ada", "x"]}
    assert wrong(Channel.WHATSAPP, {"template": {"name": "hello"}}).keys() == {"template.language"}
    assert wrong(Channel.WHATSAPP, {"template": "hello"}).keys() == {"template"}
    assert "body or template" in wrong(Channel.WHATSAPP, {})["body"]


def test_the_body_of_a_webhook_is_json() -> None:
    assert sent(Channel.WEBHOOK, {"body": '{"n": {{ n }}}', "event": "e"}, body='{"n": 1}')["body"] == '{"n": 1}'
    made = sent(Channel.WEBHOOK, {"body": {"n": "{{ n }}", "deep": [1, {"x": "{{ x }}"}]}}, **{"body/n": '"'})
    assert json.loads(made["body"]) == {"n": '"', "deep": [1, {"x": "{{ x }}"}]}
    assert "is not JSON" in failed(Channel.WEBHOOK, {"body": "{{ n }}"}, {"body": "no"})


def test_a_limit_is_kept_and_not_sent() -> None:
    assert sent(Channel.SMS, {"body": "x" * 160, "maxSegments": 1}) == {"body": "x" * 160}
    assert "2 segments" in wrong(Channel.SMS, {"body": "x" * 161, "maxSegments": 1})["body"]
    assert "2 segments" in failed(Channel.SMS, {"body": "{{ x }}", "maxSegments": 1}, {"body": "x" * 161})
    assert wrong(Channel.SMS, {"body": "x", "maxSegments": 0}).keys() == {"maxSegments"}


def test_a_post_is_as_long_as_its_network_lets_it() -> None:
    assert sent(Channel.SOCIAL, {"body": "x" * 500, "network": "mastodon"}) == {"body": "x" * 500}
    assert "300" in wrong(Channel.SOCIAL, {"body": "x" * 301, "network": "bluesky"})["body"]
    assert "300" in failed(Channel.SOCIAL, {"body": "{{ x }}", "network": "bluesky"}, {"body": "x" * 301})
    assert wrong(Channel.SOCIAL, {"body": "x", "network": "fax"}).keys() == {"network"}


@pytest.mark.parametrize("channel", MESSAGE_CHANNELS)
def test_a_plain_message_is_sent_as_it_is_rendered(channel: Channel) -> None:
    names = [name for name in (channel.traits.subject, channel.traits.text) if name]
    content = dict.fromkeys(names, "1")

    assert sent(channel, content) == content


@pytest.mark.parametrize("channel", MESSAGE_CHANNELS)
def test_a_field_of_another_kind_is_refused(channel: Channel) -> None:
    for field in channel.fields:
        value: object = 1.5 if field.kind is not FieldKind.JSON else [1]
        assert any(place.startswith(field.name) for place in wrong(channel, {field.name: value}))
