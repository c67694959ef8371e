"""Previews and counts of what is stored nowhere yet."""

from typing import Any

from tests.http.conftest import Person
from tests.http.test_requests import assert_problem

LETTER = {"subject": "Hi {{ contact.name }}", "html": "<p>{{ plan }} <b>&</b></p>"}
FLOW = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "broken", "type": "delay"},
        {"id": "hello", "type": "sms", "to": "{{ phone }}", "body": "Hi {{ name }}, {{ vars.other.status }}"},
    ],
    "edges": [{"from": "hello", "to": "nobody"}],
    "onError": {"type": "email", "to": "us@example.com", "subject": "{{ error.message }}", "body": "Look."},
}


async def preview(admin: Person, **body: Any) -> list[dict[str, Any]]:
    answer = await admin.post("/v1/previews", body)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


async def with_people(admin: Person) -> None:
    await admin.post("/v1/contacts", {"externalId": "ada", "name": "Ada", "email": "ada@example.com", "tags": ["vip"]})
    await admin.post("/v1/contacts", {"externalId": "bob", "name": "Bob", "tags": ["vip"]})
    await admin.post("/v1/contacts", {"externalId": "eve", "name": "Eve", "email": "eve@example.com"})


async def test_content_is_rendered_for_a_contact_as_it_would_be_sent(admin: Person) -> None:
    await with_people(admin)

    [shown] = await preview(admin, channel="email", content=LETTER, data={"plan": "a<b"}, contactId="ada")
    [skipped] = await preview(admin, channel="email", content=LETTER, data={"plan": "pro"}, contactId="bob")

    assert shown["content"]["subject"] == "Hi Ada"
    assert "a&lt;b" in shown["content"]["html"]
    assert (shown["recipients"], shown["error"]) == (["ada@example.com"], None)
    assert (skipped["recipients"], skipped["skipped"]) == ([], "the contact has no e-mail address")


async def test_content_is_rendered_with_sample_data_and_tells_what_it_lacks(admin: Person) -> None:
    [shown] = await preview(admin, channel="email", content=LETTER, data={"contact": {"name": "Sam"}})

    assert shown["content"]["subject"] == "Hi Sam"
    assert "{{ plan }}" in shown["content"]["html"]
    assert shown["error"] == "{{ plan }} is missing"


async def test_every_channel_is_previewed(admin: Person) -> None:
    for channel, content in (
        ("sms", {"body": "x" * 200}),
        ("push", {"title": "Hi", "body": "there"}),
        ("voice", {"script": "Hello"}),
        ("webhook", {"body": {"a": "{{ b | default: 1 }}"}}),
        ("social", {"body": "News"}),
    ):
        [shown] = await preview(admin, channel=channel, content=content, to="somebody")
        assert (shown["channel"], shown["error"]) == (channel, None)


async def test_content_that_no_message_has_is_refused_at_its_place(admin: Person) -> None:
    unknown = await admin.post("/v1/previews", {"channel": "sms", "content": {"body": "Hi", "html": "x"}})
    broken = await admin.post("/v1/previews", {"channel": "sms", "content": {"body": "{% if %}"}})
    neither = await admin.post("/v1/previews", {})
    template = await admin.post("/v1/previews", {"channel": "sms", "content": {"body": "{% render 'nobody' %}"}})

    assert [one["place"] for one in assert_problem(unknown, 422, "definition_invalid")["errors"]] == ["content.html"]
    assert [one["place"] for one in assert_problem(broken, 422, "definition_invalid")["errors"]] == ["content.body"]
    assert_problem(neither, 422, "input_invalid")
    assert "content.body" in {one["place"] for one in assert_problem(template, 422, "definition_invalid")["errors"]}


async def test_a_node_is_previewed_whatever_is_wrong_with_the_others(admin: Person) -> None:
    [hello] = await preview(admin, definition=FLOW, part="hello", data={"name": "Ada", "phone": "+442071838750"})
    [report] = await preview(admin, definition=FLOW, part="onError")
    whole = await admin.post("/v1/previews", {"definition": FLOW})
    nowhere = await admin.post("/v1/previews", {"definition": FLOW, "part": "nobody"})
    delay = await admin.post("/v1/previews", {"definition": FLOW, "part": "broken"})

    assert (hello["part"], hello["recipients"]) == ("hello", ["+442071838750"])
    assert hello["content"]["body"].startswith("Hi Ada")
    assert report["recipients"] == ["us@example.com"]
    assert_problem(whole, 422, "definition_invalid")
    assert_problem(nowhere, 422, "definition_invalid")
    assert [one["place"] for one in assert_problem(delay, 422, "definition_invalid")["errors"]] == ["nodes[0]"]


async def test_an_audience_is_counted_with_who_can_be_reached_and_a_sample(admin: Person) -> None:
    await with_people(admin)

    answer = await admin.post(
        "/v1/audiences/count",
        {"audience": {"tag": "vip"}, "channel": "email", "content": {"subject": "{{ contact.attributes.pet }}"}},
    )
    bare = await admin.post("/v1/audiences/count", {"audience": {"all": True}, "sample": 2})

    told = answer.json()
    assert (told["matching"], told["reachable"], told["withoutAddress"], told["refused"]) == (2, 1, 1, 0)
    assert told["inWords"] == "contacts with the tag vip"
    assert {one["externalId"]: one["skipped"] for one in told["sample"]} == {
        "ada": None,
        "bob": "the contact has no e-mail address",
    }
    assert told["missing"][0]["contacts"] == 2
    assert (bare.json()["matching"], bare.json()["reachable"], len(bare.json()["sample"])) == (3, None, 2)


async def test_an_audience_with_problems_is_refused_with_each_of_them(admin: Person) -> None:
    unknown = await admin.post("/v1/audiences/count", {"audience": {"contactIds": ["nobody"], "tag": 5}})
    empty = await admin.post("/v1/audiences/count", {"audience": {}})

    places = {one["place"] for one in assert_problem(unknown, 422, "campaign_invalid")["errors"]}
    assert places == {"audience.contactIds[0]", "audience.tag"}
    assert_problem(empty, 422, "campaign_invalid")
