"""Wherever a contact's id is taken, its external id is; who is unknown is refused by name."""

from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.enrolling import CALLER, make_contact, make_sequence, step
from tests.http.conftest import Person
from tests.kernel.scenes import Sql
from tidings.domain.errors import NotFound
from tidings.engine import Engine
from tidings.storage import people

ADA = "crm/1815 & co"
"""As awkward as an external id may be."""
GREETING = {"entryNodeId": "hi", "nodes": [{"id": "hi", "type": "email", "subject": "Hi", "body": "Hi"}], "edges": []}
LETTER = {"name": "spring", "channel": "email", "content": {"subject": "Hello", "body": "News"}}
RULE = {
    "trigger": "quote_sent",
    "channel": "email",
    "audience": "lead",
    "steps": [{"template": {"subject": "Q", "body": "Good day {{ lead.name }}"}}],
}


@pytest.fixture
async def ada(engine: Engine) -> UUID:
    return await make_contact(engine, ADA, email="ada@example.com")


@pytest.fixture
async def bob(engine: Engine) -> UUID:
    return await make_contact(engine, "bob")


async def asked(who: Person, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answer = await who.ask(method, path, **({} if body is None else {"json": body}))
    assert answer.status_code == status, (method, path, answer.text)
    return answer.json() if answer.content else None


async def test_a_contact_is_read_changed_and_erased_by_its_external_id(admin: Person, ada: UUID) -> None:
    path = f"/v1/contacts/{quote(ADA, safe='')}"

    shown = await asked(admin, "GET", path)
    changed = await asked(admin, "PATCH", path, {"name": "Countess"})
    items = await asked(admin, "GET", f"{path}/items")
    logs = await asked(admin, "GET", f"{path}/logs")
    await asked(admin, "DELETE", path, status=204)

    assert (shown["id"], changed["name"]) == (str(ada), "Countess")
    assert (items["data"], logs["data"]) == ([], [])
    await asked(admin, "GET", path, status=404)
    await asked(admin, "GET", f"/v1/contacts/{ada}/items")  # what was meant for whom is gone can be read by the id


async def test_work_is_started_for_an_external_id_and_found_by_it(admin: Person, ada: UUID, bob: UUID) -> None:
    workflow = (await asked(admin, "POST", "/v1/workflows", {"name": "greet", **GREETING}, 201))["id"]
    await asked(admin, "POST", "/v1/rules", RULE, 201)
    named = await asked(admin, "POST", "/v1/triggers", {"workflow": "greet", "contactId": ADA}, 201)
    by_path = await asked(admin, "POST", f"/v1/workflows/{workflow}/triggers", {"contact_id": "bob"}, 201)
    many = {"triggers": [{"workflow": "greet", "contactId": one} for one in (ADA, "bob", str(ada))]}
    bulk = await asked(admin, "POST", "/v1/triggers/bulk", many)
    event = {"trigger": "quote_sent", "lead": {"contactId": ADA}}
    explained = await asked(admin, "POST", "/v1/events/explain", event)
    sent = await asked(admin, "POST", "/v1/events", event, 201)

    found = {
        path: [one["id"] for one in (await asked(admin, "GET", f"{path}?contactId={quote(ADA)}"))["data"]]
        for path in ("/v1/executions", "/v1/events", "/v1/outbox", "/v1/enrollments")
    }

    assert (named["contactId"], by_path["contactId"]) == (str(ada), str(bob))
    assert set(found["/v1/executions"]) == {named["id"], bulk["data"][0]["id"], bulk["data"][2]["id"]}
    assert found["/v1/events"] == [sent["id"]]
    assert found["/v1/outbox"] == [sent["decisions"][0]["items"][0]["id"]]
    assert explained["decisions"][0]["items"][0]["contactId"] == str(ada)
    assert sent["data"]["lead"]["contactId"] == str(ada)


async def test_contacts_are_enrolled_stopped_and_asked_about_by_their_external_ids(
    admin: Person, engine: Engine, ada: UUID, bob: UUID
) -> None:
    sequence = await make_sequence(engine, step(0), step(3))
    path = f"/v1/sequences/{sequence}"

    one = await asked(admin, "POST", f"{path}/enrollments", {"contactId": ADA}, 201)
    many = {"contactIds": [ADA, "bob", "nobody", str(uuid4())]}
    counted = (await asked(admin, "POST", f"{path}/batch-enroll", many))["data"]
    nobody = await asked(admin, "POST", f"{path}/batch-enroll", {"contactIds": ["nobody"]}, 422)
    stopped = await asked(admin, "PATCH", f"{path}/enrollments", {"where": {"contactIds": ["bob"]}, "status": "paused"})
    why = await asked(admin, "GET", f"{path}/why?contactId=bob")

    assert one["contactId"] == str(ada)
    assert (counted["enrolledCount"], counted["skipped"]["alreadyEnrolled"], counted["skipped"]["notFound"]) == (
        1,
        1,
        2,
    )
    assert "there is no contact 'nobody'" in nobody["detail"]
    assert (stopped["count"], why["contactId"]) == (1, str(bob))


async def test_audiences_name_contacts_by_their_external_ids_and_keep_their_ids(
    admin: Person, engine: Engine, ada: UUID, bob: UUID
) -> None:
    audience = {"contactIds": [ADA, str(bob)], "excludeContactIds": ["bob"]}

    campaign = await asked(admin, "POST", "/v1/campaigns", {**LETTER, "audience": audience}, 201)
    segment = await asked(admin, "POST", "/v1/segments", {"name": "few", "audience": audience}, 201)
    path = f"/v1/campaigns/{campaign['id']}"
    preview = await asked(admin, "POST", f"{path}/preview", {"contactId": "bob"})
    tried = await asked(admin, "POST", f"{path}/test", {"to": "me@example.com", "contactId": ADA}, 201)
    again = await asked(admin, "PATCH", path, {"name": "Spring", "audience": campaign["audience"]})

    kept = {"contactIds": [str(ada), str(bob)], "excludeContactIds": [str(bob)]}
    assert campaign["audience"] == segment["audience"] == again["audience"] == kept
    assert preview["data"][0]["contactId"] == str(bob)
    assert tried["test"] is True


async def test_a_simulation_is_for_contacts_by_their_external_ids(
    admin: Person, engine: Engine, ada: UUID, bob: UUID
) -> None:
    sequence = await make_sequence(engine, step(0), publish=False)

    body = {"days": 1, "contacts": {"contactIds": [ADA]}, "messagesOf": ["bob"]}
    shown = await asked(admin, "POST", f"/v1/sequences/{sequence}/simulate", body)

    assert [one["contactId"] for one in shown["messages"]] == [str(bob)]
    assert shown["audience"] == 1


NOBODY = [
    ("GET", "/v1/contacts/nobody", None, 404),
    ("PATCH", "/v1/contacts/nobody", {"name": "x"}, 404),
    ("DELETE", "/v1/contacts/nobody", None, 404),
    ("GET", "/v1/contacts/nobody/items", None, 404),
    ("GET", "/v1/contacts/nobody/logs", None, 404),
    ("GET", "/v1/executions?contactId=nobody", None, 404),
    ("GET", "/v1/outbox?contactId=nobody", None, 404),
    ("GET", "/v1/events?contactId=nobody", None, 404),
    ("GET", "/v1/enrollments?contactId=nobody", None, 404),
    ("GET", "/v1/sequences/{sequence}/why?contactId=nobody", None, 404),
    ("POST", "/v1/triggers", {"workflow": "greet", "contactId": "nobody"}, "contactId"),
    ("POST", "/v1/triggers/bulk", {"triggers": [{"workflow": "greet", "contactId": "nobody"}]}, "triggers[0]"),
    ("POST", "/v1/events", {"trigger": "quote_sent", "agent": {"contactId": "nobody"}}, "agent.contactId"),
    ("POST", "/v1/events/explain", {"trigger": "quote_sent", "lead": {"contactId": "nobody"}}, "lead.contactId"),
    ("POST", "/v1/sequences/{sequence}/enrollments", {"contactId": "nobody"}, "contactId"),
    (
        "POST",
        "/v1/sequences/{sequence}/batch-enroll",
        {"all": True, "excludeContactIds": ["nobody"]},
        "excludeContactIds[0]",
    ),
    (
        "PATCH",
        "/v1/sequences/{sequence}/enrollments",
        {"where": {"contactIds": ["bob", "nobody"]}, "status": "paused"},
        "where.contactIds[1]",
    ),
    ("POST", "/v1/sequences/{sequence}/simulate", {"messagesOf": ["nobody"]}, "messagesOf[0]"),
    ("POST", "/v1/sequences/{sequence}/simulate", {"contacts": {"contactIds": ["nobody"]}}, "contacts.contactIds[0]"),
    ("POST", "/v1/campaigns", {**LETTER, "audience": {"contactIds": ["nobody"]}}, "audience.contactIds[0]"),
    (
        "POST",
        "/v1/campaigns",
        {**LETTER, "audience": {"all": True, "excludeContactIds": ["nobody"]}},
        "audience.excludeContactIds[0]",
    ),
    ("POST", "/v1/segments", {"name": "x", "audience": {"contactIds": ["nobody"]}}, "audience.contactIds[0]"),
    ("POST", "/v1/campaigns/{campaign}/preview", {"contactId": "nobody"}, "contactId"),
    ("POST", "/v1/campaigns/{campaign}/test", {"to": "me@example.com", "contactId": "nobody"}, "contactId"),
]


@pytest.mark.parametrize(("method", "path", "body", "expected"), NOBODY)
async def test_somebody_unknown_is_refused_by_what_named_them(
    admin: Person, engine: Engine, bob: UUID, method: str, path: str, body: Any, expected: int | str
) -> None:
    await engine.workflows.create(CALLER, "greet", GREETING)
    campaign = (await engine.campaigns.create(CALLER, {**LETTER, "audience": {"all": True}})).id
    sequence = await make_sequence(engine)

    answer = await admin.ask(
        method, path.format(sequence=sequence, campaign=campaign), **({} if body is None else {"json": body})
    )

    assert "there is no contact 'nobody'" in answer.json()["detail"]
    if isinstance(expected, int):
        assert answer.status_code == expected
    else:
        assert answer.status_code == 422
        assert [one["place"] for one in answer.json()["errors"]] == [expected]


async def test_what_is_a_contact_s_id_is_never_taken_for_another_s_external_id(
    admin: Person, engine: Engine, bob: UUID
) -> None:
    impostor = await make_contact(engine, str(bob).upper(), email="eve@example.com")
    stranger = uuid4()
    known = await make_contact(engine, str(stranger), email="kim@example.com")

    by_id = await asked(admin, "GET", f"/v1/contacts/{bob}")
    by_upper = await asked(admin, "GET", f"/v1/contacts/{str(bob).upper()}")
    by_external_id = await asked(admin, "GET", f"/v1/contacts/{stranger}")

    assert by_id["id"] == by_upper["id"] == str(bob) != str(impostor)
    assert by_external_id["id"] == str(known)


async def test_another_workspace_s_external_id_is_nobody_s(engine: Engine, admin: Person) -> None:
    await make_contact(engine, "ada")

    for elsewhere in ("other", "main"):
        room = type(CALLER.workspace)("rival" if elsewhere == "main" else "acme", elsewhere)
        with pytest.raises(NotFound, match="there is no contact 'ada'"):
            await engine.contacts.get(room, "ada")


async def test_many_contacts_are_found_by_one_statement_a_shard(
    engine: Engine, admin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [str(await make_contact(engine, f"p{number}")) for number in range(40)]
    asked_in = []
    find = people.find_named_contacts

    async def counted(tx: Any, **given: Any) -> Any:
        asked_in.append(given["shard"])
        return await find(tx, **given)

    monkeypatch.setattr(people, "find_named_contacts", counted)
    sequence = await make_sequence(engine)
    named = [f"p{number}" for number in range(20)] + made[20:]
    done = await engine.enrollments.batch_enroll(CALLER, sequence, {"contactIds": named})

    assert done.enrolled == 40
    assert sorted(asked_in) == [0, 1, 2, 3]


async def test_sql_names_a_contact_by_either(engine: Engine, sql: Sql, ada: UUID, bob: UUID) -> None:
    for given, id in ((ADA, ada), ("bob", bob), (str(ada), ada), (str(bob).upper(), bob)):
        assert await sql.fetchval("select tidings.contact_id($1, 'main', 'acme')", given) == id
    with pytest.raises(asyncpg.PostgresError, match="there is no contact 'bob' in workspace 'second'") as raised:
        await sql.fetchval("select tidings.contact_id('bob', 'second', 'acme')")
    assert raised.value.sqlstate == "TD422"
    await engine.workflows.create(CALLER, "greet", GREETING)
    started = await sql.fetchval(
        "select tidings.trigger('greet', '{}', 'k', 'main', 'acme', tidings.contact_id('bob', 'main', 'acme'))"
    )
    assert (await engine.executions.get(CALLER.workspace, started)).contact_id == bob
