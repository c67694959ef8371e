"""Wherever an id of something else is shown, its name stands beside it."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.conftest import ManualClock
from tests.enrolling import CALLER, HOME, make_contact, make_sequence, step
from tests.http.conftest import Person
from tidings.domain.flow.item import Channel
from tidings.engine import Deployment, Engine, Recipient
from tidings.storage import names

ADA = {"externalId": "ada", "name": "Ada", "email": "ada@example.com"}
GREETING = {"entryNodeId": "hi", "nodes": [{"id": "hi", "type": "email", "subject": "Hi", "body": "Hi"}], "edges": []}
LETTER = {"channel": "email", "content": {"subject": "Hello", "body": "News"}}
RULE = {
    "trigger": "quote_sent",
    "channel": "email",
    "audience": "lead",
    "steps": [{"template": {"subject": "Q", "body": "Good day"}}],
}


@pytest.fixture
async def ada(engine: Engine) -> UUID:
    return await make_contact(engine, "ada")


async def listed(who: Person, path: str) -> list[dict[str, Any]]:
    answer = await who.get(path)
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


async def test_a_run_has_its_campaign_s_name_and_a_campaign_its_segment_s(
    admin: Person, engine: Engine, ada: UUID
) -> None:
    segment = await engine.segments.create(CALLER, {"name": "everyone", "audience": {"all": True}})
    audience = {"segmentId": str(segment.id)}
    campaign = await engine.campaigns.create(CALLER, {"name": "spring", "audience": audience, **LETTER})
    run = (await engine.campaigns.deploy(CALLER, campaign.id)).id
    await engine.work_everything()

    [shown] = await listed(admin, "/v1/runs")
    [item] = await listed(admin, f"/v1/runs/{run}/items")
    [listed_campaign] = await listed(admin, "/v1/campaigns")
    written_back = await admin.ask("PATCH", f"/v1/campaigns/{campaign.id}", json=listed_campaign)
    await engine.campaigns.update(CALLER, campaign.id, {"name": "summer"})
    renamed = (await admin.get(f"/v1/runs/{run}")).json()
    await engine.campaigns.delete(CALLER, campaign.id)
    deleted = (await admin.get(f"/v1/runs/{run}")).json()

    assert (shown["campaignId"], shown["campaignName"]) == (str(campaign.id), "spring")
    assert written_back.json() == listed_campaign
    assert (item["campaignName"], item["workflowName"], item["contact"]) == ("spring", None, ADA)
    assert (listed_campaign["segmentName"], renamed["campaignName"], deleted["campaignName"]) == (
        "everyone",
        "summer",
        "summer",
    )


async def test_a_run_without_a_stored_campaign_has_no_name(admin: Person, engine: Engine) -> None:
    wish = Deployment(uuid4(), "k", Channel.EMAIL, {"subject": "Hi", "body": "Hi"}, [Recipient("ada@example.com")])
    run = (await engine.deploy(wish, HOME)).id

    assert (await admin.get(f"/v1/runs/{run}")).json()["campaignName"] is None


async def test_executions_and_their_items_have_the_names_of_workflow_and_contact(
    admin: Person, engine: Engine, ada: UUID
) -> None:
    await engine.workflows.create(CALLER, "greet", GREETING)
    started = (await admin.post("/v1/triggers", {"workflow": "greet", "contactId": "ada"})).json()
    await engine.work_everything()

    [execution] = await listed(admin, "/v1/executions")
    shown = (await admin.get(f"/v1/executions/{execution['id']}")).json()
    [item] = await listed(admin, "/v1/outbox")
    detail = (await admin.get(f"/v1/outbox/{item['id']}")).json()
    [of_contact] = await listed(admin, f"/v1/contacts/{ada}/items")

    assert started["contact"] == execution["contact"] == shown["contact"] == ADA
    for one in (item, detail, of_contact):
        assert (one["workflowName"], one["campaignName"], one["trigger"], one["contact"]) == ("greet", None, None, ADA)


async def test_enrollments_and_logs_have_the_names_of_sequence_and_contact(
    admin: Person, engine: Engine, ada: UUID
) -> None:
    sequence = await make_sequence(engine, step(0), step(3))
    enrolled = (await admin.post(f"/v1/sequences/{sequence}/enrollments", {"contactId": "ada"})).json()
    await engine.work_everything()

    rows = [
        enrolled,
        (await admin.get(f"/v1/enrollments/{enrolled['id']}")).json(),
        (await admin.get(f"/v1/sequences/{sequence}/why?contactId=ada")).json(),
        *await listed(admin, f"/v1/sequences/{sequence}/enrollments"),
        *await listed(admin, "/v1/enrollments?contactId=ada"),
        *await listed(admin, f"/v1/enrollments/{enrolled['id']}/logs"),
        *await listed(admin, "/v1/contacts/ada/logs"),
    ]

    assert len(rows) == 7
    assert {row["sequenceName"] for row in rows} == {"Onboarding"}
    assert [row["contact"] for row in rows] == [ADA] * 7


async def test_an_event_s_items_have_the_names_of_trigger_and_contact(admin: Person, engine: Engine, ada: UUID) -> None:
    await engine.rules.create(CALLER, RULE)
    event = {"trigger": "quote_sent", "lead": {"contactId": "ada"}}
    explained = (await admin.post("/v1/events/explain", event)).json()
    sent = (await admin.post("/v1/events", event)).json()

    [shown] = await listed(admin, "/v1/events")
    [item] = await listed(admin, "/v1/outbox")

    for one in (explained, sent, shown):
        assert one["decisions"][0]["items"][0]["contact"] == ADA
    assert (item["trigger"], item["contact"]) == ("quote_sent", ADA)


async def test_a_preview_says_whom_it_is_for(admin: Person, engine: Engine, ada: UUID) -> None:
    campaign = await engine.campaigns.create(CALLER, {"name": "spring", "audience": {"all": True}, **LETTER})

    [preview] = (await admin.post(f"/v1/campaigns/{campaign.id}/preview", {})).json()["data"]

    assert preview["contact"] == ADA


async def test_the_audit_log_says_what_each_line_is_about(admin: Person, engine: Engine, ada: UUID) -> None:
    await engine.rules.create(CALLER, RULE)
    sequence = await make_sequence(engine)
    await engine.enrollments.enroll(CALLER, sequence, ada)
    campaign = await engine.campaigns.create(CALLER, {"name": "spring", "audience": {"all": True}, **LETTER})
    await engine.campaigns.deploy(CALLER, campaign.id)

    names = {(line["subjectKind"], line["subjectName"]) for line in await listed(admin, "/v1/audit-log")}

    assert names >= {
        ("contact", "ada"),
        ("rule", "quote_sent email lead"),
        ("enrollment", "Onboarding"),
        ("campaign", "spring"),
        ("run", "spring"),
        ("api_key", "systemAdmin"),
    }


async def test_an_erased_contact_has_no_name_left(admin: Person, engine: Engine, ada: UUID) -> None:
    await engine.workflows.create(CALLER, "greet", GREETING)
    started = (await admin.post("/v1/triggers", {"workflow": "greet", "contactId": "ada"})).json()
    await engine.contacts.delete(CALLER, "ada")

    shown = (await admin.get(f"/v1/executions/{started['id']}")).json()

    assert (shown["contactId"], shown["contact"]) == (str(ada), None)


async def test_a_page_of_names_is_one_statement_a_shard(
    admin: Person, engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await engine.workflows.create(CALLER, "greet", GREETING)
    await engine.rules.create(CALLER, RULE)
    for number in range(12):
        await make_contact(engine, f"p{number}")
        await engine.executions.trigger(CALLER, "greet", {}, contact_id=f"p{number}")
        await engine.events.send(CALLER, {"trigger": "quote_sent", "lead": {"contactId": f"p{number}"}})
    await engine.work_everything()
    asked: list[int] = []
    find = names.name_contacts

    async def counted(tx: Any, **given: Any) -> Any:
        asked.append(given["shard"])
        return await find(tx, **given)

    monkeypatch.setattr(names, "name_contacts", counted)
    for path in ("/v1/executions", "/v1/events", "/v1/outbox"):
        asked.clear()
        assert len(await listed(admin, path)) >= 12
        assert len(asked) == len(set(asked)) > 1, path
