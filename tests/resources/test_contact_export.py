"""The export of a person: everything that the search of an erasure finds, in one document of one schema."""

import json
from typing import Any

import msgspec
import pytest

from tests.cli.json_keys import odd_keys
from tests.conftest import ManualClock
from tests.kernel.people import ANN, make
from tests.kernel.scenes import Sql
from tests.resources.canary import CANARY, NEEDLES, found_in_tables
from tests.resources.erasure_scene import use_everything
from tidings.domain.caller import Caller
from tidings.domain.errors import NotFound
from tidings.domain.people.contact import ContactReference
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.resources import contact_export
from tidings.simulation.simulate import SimulationStage
from tidings.views.exports import ContactExport


async def exported(engine: Engine, contact: ContactReference, caller: Caller = ANN) -> bytes:
    return b"".join([piece async for piece in await engine.contacts.export(caller, contact)])


async def test_everything_about_a_contact_is_in_its_export(
    engine: Engine,
    clock: ManualClock,
    provider: FakeProvider,
    sql: Sql,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contact_export, "PAGE", 3)
    id = await use_everything(engine, clock, provider, sql, SimulationStage(server=server))
    stored = await found_in_tables(sql, NEEDLES)

    document = await exported(engine, CANARY["externalId"])
    found: dict[str, Any] = json.loads(document)
    typed = msgspec.json.decode(document, type=ContactExport)

    assert [*odd_keys({**found, "auditLog": [], "executions": []})] == []
    assert found["contact"]["id"] == str(id)
    count = "select count(*) from {} where contact_id = $1"
    assert len(typed.executions) == await sql.fetchval(count.format("executions"), id)
    assert len(typed.items) == await sql.fetchval(count.format("outbox"), id)
    events = await sql.fetchval("select count(distinct event_id) from event_contacts where contact_id = $1", id)
    assert len(typed.events) == events
    assert len(typed.enrollments) == 1
    runs = await sql.fetchval("select count(distinct run_id) from outbox where contact_id = $1", id)
    tests = await sql.fetchval("select count(*) from audience where contact_id = $1", id)
    assert (sum(not one.test for one in typed.audiences), sum(one.test for one in typed.audiences)) == (runs, tests)
    assert [one.event for one in typed.audit_log] == ["created"]
    assert any(one.history for one in typed.executions)
    assert any(line.saw for one in typed.executions for line in one.log)
    assert any(one.failed_attempts and one.payload for one in typed.items)
    text = document.decode()
    for column, example in stored.items():
        if column.startswith("contacts.") and not example.startswith("{"):
            assert example in text, column


async def test_an_opt_out_that_is_kept_as_a_hash_is_in_it(engine: Engine) -> None:
    await engine.contacts.delete(ANN, await make(engine, "crm-1", suppressions={"email": "unsubscribed"}))
    again = await make(engine, "crm-2")

    found = json.loads(await exported(engine, again))

    assert [(one["channel"], one["reason"]) for one in found["keptSuppressions"]] == [("email", "unsubscribed")]
    assert (found["items"], found["events"], found["audiences"]) == ([], [], [])


async def test_nobody_exports_a_stranger_s_contact_or_one_who_was_erased(engine: Engine, stranger: Caller) -> None:
    ada = await make(engine)

    with pytest.raises(NotFound):
        await exported(engine, ada, stranger)
    await engine.contacts.delete(ANN, ada)
    with pytest.raises(NotFound):
        await exported(engine, ada)
