"""Rules and events over HTTP."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.http.conftest import Person, person
from tests.kernel.event_scenes import PEOPLE, key, with_fallbacks
from tidings.config import Config
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.providers.fake import FakeProvider

STEP: dict[str, Any] = {"template": {"subject": "Quote {{ quote.number }}", "body": "Good day {{ lead.name }}"}}
RULE: dict[str, Any] = {"trigger": "quote_sent", "channel": "email", "audience": "lead", "steps": [STEP]}
EVENT: dict[str, Any] = {"trigger": "quote_sent", **PEOPLE, "variables": {"quote": {"number": "Q-17"}}}


async def make(admin: Person, **more: Any) -> dict[str, Any]:
    answer = await admin.post("/v1/rules", RULE | more)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"/v1/rules/{made['id']}"
    return made


async def test_a_rule_is_made_read_changed_and_deleted(admin: Person) -> None:
    made = await make(admin)
    path = f"/v1/rules/{made['id']}"

    assert (await admin.get(path)).json() == made
    written_back = await admin.ask("PUT", path, json=made)
    changed = await admin.ask("PUT", path, json=made | {"audience": "agent", "enabled": False})
    gone = await admin.ask("DELETE", path)

    assert written_back.json() == made
    assert (changed.json()["audience"], changed.json()["enabled"]) == ("agent", False)
    assert changed.json()["steps"] == made["steps"]
    assert gone.status_code == 204
    assert (await admin.get(path)).status_code == 404
    assert (await admin.ask("PUT", path, json=RULE)).status_code == 404
    assert (await admin.ask("DELETE", path)).status_code == 404


async def test_a_rule_for_a_chat_says_where_its_steps_go_and_is_previewed_so(admin: Person) -> None:
    step = {"template": {"body": "{{ lead.name }} asked"}, "to": ["{{ agent.room }}", "C1"]}
    made = await make(admin, channel="chat", steps=[step])

    path, event = f"/v1/rules/{made['id']}", PEOPLE | {"agent": {"room": "C2"}}
    written_back = await admin.ask("PUT", path, json=made)
    shown = await admin.post(f"{path}/preview", {"data": event})

    assert written_back.json() == made
    assert made["steps"][0]["to"] == step["to"]
    assert shown.json()["data"][0]["recipients"] == ["C2", "C1"]


async def test_there_is_one_rule_for_each_trigger_channel_and_audience(admin: Person) -> None:
    made = await make(admin)
    other = await make(admin, audience="agent")

    again = await admin.post("/v1/rules", RULE)
    moved = await admin.ask("PUT", f"/v1/rules/{other['id']}", json=other | {"audience": "lead"})

    assert (again.status_code, moved.status_code) == (409, 409)
    assert "quote_sent/email/lead" in again.json()["detail"]
    assert (await admin.get(f"/v1/rules/{made['id']}")).json() == made


async def test_a_rule_is_switched_off_and_on(admin: Person) -> None:
    made = await make(admin)

    off = (await admin.post(f"/v1/rules/{made['id']}/disable")).json()
    suppressed = (await admin.post("/v1/events/explain", EVENT)).json()["decisions"]
    on = (await admin.post(f"/v1/rules/{made['id']}/enable")).json()

    assert (off["enabled"], on["enabled"]) == (False, True)
    assert [one["outcome"] for one in suppressed] == ["suppressed"]
    assert on["steps"] == made["steps"]


async def test_rules_are_listed_by_what_they_are_for(admin: Person) -> None:
    for audience in ("lead", "agent"):
        for trigger in ("quote_sent", "quote_accepted"):
            await make(admin, audience=audience, trigger=trigger, enabled=audience == "lead")

    async def listed(query: str) -> set[tuple[str, str]]:
        found = (await admin.get(f"/v1/rules{query}")).json()["data"]
        return {(one["trigger"], one["audience"]) for one in found}

    assert len(await listed("")) == 4
    assert await listed("?trigger=quote_sent") == {("quote_sent", "lead"), ("quote_sent", "agent")}
    assert await listed("?audience=agent&trigger=quote_sent") == {("quote_sent", "agent")}
    assert await listed("?enabled=false") == {("quote_sent", "agent"), ("quote_accepted", "agent")}
    assert await listed("?channel=sms") == set()
    first = (await admin.get("/v1/rules?limit=3")).json()
    second = (await admin.get(f"/v1/rules?limit=3&cursor={first['nextCursor']}")).json()
    assert (len(first["data"]), len(second["data"]), second["nextCursor"]) == (3, 1, None)


async def test_every_problem_of_a_rule_is_told_with_its_place(admin: Person) -> None:
    wrong = {"template": {"subject": "{{ x", "body": "y"}, "recipientConfig": {"customEmails": ["nobody"]}}

    answer = await admin.post("/v1/rules", RULE | {"audience": "all", "steps": [wrong]})

    assert (answer.status_code, answer.json()["code"]) == (422, "definition_invalid")
    assert {one["place"] for one in answer.json()["errors"]} == {
        "audience",
        "steps[0].template.subject",
        "steps[0].recipientConfig.customEmails[0]",
    }


async def test_an_event_answers_a_decision_for_each_channel_and_audience(admin: Person, engine: Engine) -> None:
    rule = await make(admin)
    await make(admin, channel="whatsapp", enabled=False, steps=[])

    answer = await admin.post("/v1/events", EVENT | {"idempotencyKey": "k1"})
    again = await admin.post("/v1/events", EVENT | {"idempotencyKey": "k1"})

    assert (answer.status_code, again.status_code) == (201, 200)
    event = answer.json()
    assert answer.headers["location"] == f"/v1/events/{event['id']}"
    assert (event["duplicate"], again.json()["duplicate"]) == (False, True)
    assert again.json() | {"duplicate": False} == event
    [email, whatsapp] = event["decisions"]
    assert whatsapp == {
        "channel": "whatsapp",
        "audience": "lead",
        "outcome": "suppressed",
        "reason": "the rule for quote_sent/whatsapp/lead is disabled",
        "ruleId": whatsapp["ruleId"],
        "items": [],
    }
    assert (email["outcome"], email["ruleId"]) == ("enqueued", rule["id"])
    [item] = email["items"]
    assert (item["kind"], item["template"], item["recipient"], item["status"]) == (
        "email",
        "email_send",
        "ada@example.com",
        "pending",
    )
    await engine.work_everything()
    shown = (await admin.get(f"/v1/events/{event['id']}")).json()
    assert shown["decisions"][0]["items"][0]["status"] == "succeeded"
    assert shown["decisions"][0]["items"][0]["payload"] == {"subject": "Quote Q-17", "body": "Good day Ada"}


async def test_an_unknown_trigger_is_an_answer_without_decisions(admin: Person) -> None:
    answer = await admin.post("/v1/events", {"trigger": "nobody_knows"})

    assert (answer.status_code, answer.json()["decisions"]) == (201, [])


@pytest.mark.parametrize(
    ("change", "places"),
    [
        ({"variables": {}}, {"variables.quote.number"}),
        ({"lead": {"email": "ada@example.com"}}, {"lead.name"}),
        ({"lead": {"name": "Ada", "email": "nowhere"}}, {"lead.email"}),
        ({"lead": ["ada@example.com"]}, {"lead"}),
        ({"trigger": "no spaces"}, {"trigger"}),
        ({"idempotencyKey": ""}, {"idempotencyKey"}),
        ({"idempotentKey": "k"}, {"idempotentKey"}),
    ],
)
@pytest.mark.parametrize("path", ["/v1/events", "/v1/events/explain"])
async def test_bad_input_is_a_422_that_names_it(
    path: str, change: dict[str, Any], places: set[str], admin: Person
) -> None:
    await make(admin)

    answer = await admin.post(path, EVENT | change)

    assert (answer.status_code, answer.json()["code"]) == (422, "event_invalid")
    assert {one["place"] for one in answer.json()["errors"]} == places


async def test_explaining_stores_and_sends_nothing(
    admin: Person, engine: Engine, provider: FakeProvider, sql: Any
) -> None:
    await make(admin)

    explained = (await admin.post("/v1/events/explain", EVENT | {"idempotencyKey": "k1"})).json()
    await engine.work_everything()

    [decision] = explained["decisions"]
    assert (decision["outcome"], decision["items"][0]["id"]) == ("enqueued", None)
    assert decision["items"][0]["payload"] == {"subject": "Quote Q-17", "body": "Good day Ada"}
    assert provider.calls == []
    assert await sql.fetchval("select count(*) from events") == 0
    assert await sql.fetchval("select count(*) from outbox") == 0


async def test_explaining_and_sending_decide_alike(engine: Engine) -> None:
    engine = with_fallbacks(engine, key(channel="whatsapp"), key(audience="agent"))
    app = create_app(engine, Config(rate_limit=0))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://tidings") as http:
        admin = await person(engine, http, Role.SYSTEM_ADMIN)
        await make(admin)

        explained = (await admin.post("/v1/events/explain", EVENT)).json()["decisions"]
        sent = (await admin.post("/v1/events", EVENT)).json()["decisions"]

    names = ("channel", "audience", "outcome", "reason", "ruleId")
    assert [[one[name] for name in names] for one in explained] == [[one[name] for name in names] for one in sent]
    assert [one["outcome"] for one in sent] == ["enqueued", "fallback", "fallback", "none"]


async def test_a_hundred_parallel_posts_of_one_key_enqueue_nothing_twice(
    admin: Person, engine: Engine, provider: FakeProvider
) -> None:
    await make(admin)

    answers = await asyncio.gather(*(admin.post("/v1/events", EVENT | {"idempotencyKey": "k1"}) for _ in range(100)))
    await engine.work_everything()

    assert sorted(answer.status_code for answer in answers) == [200] * 99 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(provider.calls) == 1


async def test_events_are_listed_newest_first(admin: Person, clock: Any) -> None:
    await make(admin)
    ids = []
    for number in range(5):
        clock.advance(seconds=1)
        ids.append((await admin.post("/v1/events", EVENT | {"idempotencyKey": f"k{number}"})).json()["id"])
    await admin.post("/v1/events", {"trigger": "other"})

    first = (await admin.get("/v1/events?limit=3&trigger=quote_sent")).json()
    second = (await admin.get(f"/v1/events?limit=3&trigger=quote_sent&cursor={first['nextCursor']}")).json()

    assert [one["id"] for one in first["data"] + second["data"]] == ids[::-1]
    assert first["data"][0]["decisions"][0]["items"][0]["payload"] is None


async def test_an_event_names_a_contact_and_is_found_by_it(admin: Person) -> None:
    await make(admin)
    ada = (await admin.post("/v1/contacts", {"externalId": "ada", "name": "Ada", "email": "ada@example.com"})).json()
    lead = {"contactId": ada["id"]}

    sent = await admin.post("/v1/events", EVENT | {"lead": lead})
    refused = await admin.post("/v1/events", EVENT | {"lead": {"contactId": str(uuid4())}})
    events = (await admin.get(f"/v1/events?contactId={ada['id']}")).json()["data"]
    items = (await admin.get(f"/v1/contacts/{ada['id']}/items")).json()["data"]
    outbox = (await admin.get(f"/v1/outbox?eventId={sent.json()['id']}&contactId={ada['id']}")).json()["data"]
    nobody = await admin.get(f"/v1/contacts/{uuid4()}/items")

    [item] = sent.json()["decisions"][0]["items"]
    assert (item["recipient"], item["contactId"]) == ("ada@example.com", ada["id"])
    assert sent.json()["data"]["lead"] == lead
    assert refused.status_code == 422
    assert [one["place"] for one in refused.json()["errors"]] == ["lead.contactId"]
    assert [one["id"] for one in events] == [sent.json()["id"]]
    assert [(one["id"], one["eventId"]) for one in items] == [(item["id"], sent.json()["id"])]
    assert [one["id"] for one in outbox] == [item["id"]]
    assert nobody.status_code == 404


async def test_an_event_is_cancelled_by_its_id_or_its_key(admin: Person, engine: Engine) -> None:
    await make(admin, steps=[STEP | {"delay": "P1D"}])
    event = (await admin.post("/v1/events", EVENT | {"idempotencyKey": "k1"})).json()
    await admin.post("/v1/events", EVENT | {"idempotencyKey": "k2"})

    by_id = await admin.post(f"/v1/events/{event['id']}/cancel")
    by_key = await admin.post("/v1/events/cancel", {"trigger": "quote_sent", "idempotencyKey": "k2"})
    await engine.work_everything()
    again = await admin.post(f"/v1/events/{event['id']}/cancel")
    nobody = await admin.post("/v1/events/cancel", {"trigger": "quote_sent", "idempotencyKey": "k3"})

    assert (by_id.status_code, by_key.status_code) == (200, 200)
    assert (again.status_code, nobody.status_code) == (409, 404)
    shown = (await admin.get(f"/v1/events/{event['id']}")).json()
    assert [item["status"] for item in shown["decisions"][0]["items"]] == ["skipped"]


async def test_every_change_of_a_rule_is_in_the_audit_log(admin: Person) -> None:
    made = await make(admin)
    await admin.post(f"/v1/rules/{made['id']}/disable")
    await admin.post(f"/v1/rules/{made['id']}/disable")
    await admin.ask("DELETE", f"/v1/rules/{made['id']}")

    log = (await admin.get("/v1/audit-log")).json()["data"]

    assert sorted(line["event"] for line in log if line["subjectKind"] == "rule") == ["created", "deleted", "updated"]
