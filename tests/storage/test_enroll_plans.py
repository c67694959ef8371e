"""What statements about enrollments cost: a page of a sequence is found without reading everything else.

The same sessions and generic plans as in test_plans.py.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping

import pytest

from tests.databases import APP_URL, IS_FORCED, drop, with_database
from tests.storage.test_plans import (
    BATCH,
    ID,
    MODES,
    NOW,
    Sql,
    as_a_worker,
    buffers,
    explain,
    fill,
    give_them_a_workflow,
    make_filled,
    narrowed,
    parts,
    whole_reads,
)
from tidings.domain.people.audience_filter import EVERYONE, AnyOf, AudienceFilter, NamedContacts, Not, Where, both
from tidings.storage.statements import load

DRIP = "00000000-0000-7001-8000-00000000d719"
FIRST = "00000000-0000-0000-0000-000000000000"
LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
SOME = {"since": FIRST} | {
    "shard": "1",
    "tenant": "t",
    "workspace": "w",
    "workflow_id": DRIP,
    "limit": "50",
    "made_by": "2027-01-01",
}
PAGES: list[tuple[str, str, str, Mapping[str, str], int, int]] = [
    ("enroll", "find_parked_enrollments", "idx_executions_workflow_id", {"after": FIRST}, 50, 600),
    ("enroll", "choose_enrollments", "idx_executions_workflow_id", {"after": FIRST}, 50, 600),
    ("enrollments", "list_enrollments", "idx_executions_workflow_id", {"before": LAST}, 50, 900),
    ("enrollments", "list_step_items_of_step", "idx_channel_outbox_node", {"before": LAST, "step_id": "step"}, 50, 600),
]
"""File, statement, the index that must be used, values, rows, and the most buffers."""
PICKS: list[tuple[AudienceFilter, str, int, int]] = [
    (EVERYONE, "idx_contacts_listed", 50, 200),
    (Where("company", "Company 7"), "idx_contacts_company", 20, 200),
    (Where("status", "status 1"), "idx_contacts_status", 50, 200),
    (Where("tag", "TAG 7"), "contact_tags_pkey", 20, 300),
    (both(Where("tag", "TAG 7"), AnyOf((Where("tag", "tag 7"), Where("tag", "x")))), "contact_tags_pkey", 20, 300),
    (both(Where("company", "Company 7"), Not(Where("tag", "x"))), "idx_contacts_company", 20, 200),
]
"""Filter, the index that must be used, rows, and the most buffers."""
BY_ID = [
    ("enroll", "find_enrollments", "contact_ids"),
    ("enroll", "choose_enrollments_of_contacts", "contact_ids"),
    ("enroll", "wake_enrollments", "ids"),
    ("enroll", "stop_enrollments", "ids"),
    ("enrollments", "show_enrollments", "ids"),
    ("enrollments", "list_failed_attempts", "ids"),
]


@pytest.fixture(scope="module")
def crowded(server: str) -> Iterator[str]:
    """The address of a database with a crowd."""
    name = asyncio.run(make_filled(server, gather))
    yield with_database(os.environ[APP_URL], name)
    asyncio.run(drop(server, name))


@pytest.fixture
async def crowd(crowded: str) -> AsyncIterator[Sql]:
    """A worker's connection to a crowd; what a test does to it must be taken back."""
    async with as_a_worker(crowded) as connection:
        yield connection


async def gather(session: Sql) -> None:
    """One in twenty of everybody in one sequence, few of them still on the way; each with one item of the same step."""
    await fill(session, 20_000)
    await give_them_a_workflow(session)
    await session.execute("update workflows set kind = 'sequence'")
    await session.execute(
        "insert into workflows (id, tenant_id, workspace_id, name, kind, created_at, updated_at)"
        f" values ('{DRIP}', 't', 'w', 'drip', 'sequence', '2026-01-01', '2026-01-01')"
    )
    await session.execute(
        f"update executions set workflow_id = '{DRIP}', workspace_id = 'w', contact_id = id,"
        " idempotency_key = id::text || ':1', cursor = 'n',"
        """ frontier = '{"ready": [["n", "2026-03-02T09:00:00+00:00"]], "arrived": [], "dead": []}'"""
        " where idempotency_key::integer % 20 = 0"
    )
    await session.execute(
        "update outbox o set node = 'step', contact_id = o.id from executions e where e.id = o.id"
        f" and e.workflow_id = '{DRIP}'"
    )
    # Half of the contacts are another workspace's.
    await session.execute(
        "update contacts set workspace_id = 'x' where right(id::text, 1) = any('{0,2,4,6,8,a,c,e}'::text[])"
    )
    await session.execute("vacuum analyze")


async def test_a_page_costs_what_the_page_costs(crowd: Sql) -> None:
    for file, name, index, values, rows, most in PAGES:
        for mode in MODES:
            plan = await explain(crowd, load(file)[name], {**SOME, **values}, mode)
            used = {part.get("Index Name") for part in parts(plan) if part.get("Actual Rows")}
            assert index in used, (name, values, mode, used)
            assert plan["Actual Rows"] == rows, (name, values, mode)
            assert buffers(plan) < most, (name, values, mode)


async def test_the_next_contacts_of_a_filter_cost_what_they_are(crowd: Sql) -> None:
    for wanted, index, rows, most in PICKS:
        if IS_FORCED and index == "idx_contacts_company":
            continue  # as in test_plans.py
        statement, values = narrowed(load("audience")["pick_contacts"], wanted)
        for mode in MODES:
            plan = await explain(crowd, statement, {**SOME, **values}, mode)
            used = {part.get("Index Name") for part in parts(plan) if part.get("Actual Rows")}
            assert index in used, (wanted, mode, used)
            assert plan["Actual Rows"] == rows, (wanted, mode)
            assert buffers(plan) < most, (wanted, mode)


async def test_named_contacts_are_found_by_their_ids(crowd: Sql) -> None:
    chosen = await crowd.fetchval(f"select array_agg({ID}) from generate_series(521, 2501, 20) g")
    statement, values = narrowed(load("audience")["pick_contacts"], NamedContacts(tuple(chosen)))
    ids = {"ids": "{" + ",".join(map(str, chosen)) + "}"}

    for mode in MODES:
        plan = await explain(crowd, statement, {**SOME, **values, **ids}, mode)
        assert whole_reads(plan) == [], mode
        assert buffers(plan) < 10 * len(chosen), mode


async def test_named_enrollments_are_found_from_their_contacts_and_not_from_the_sequence(crowd: Sql) -> None:
    chosen = await crowd.fetchval(f"select array_agg({ID}) from generate_series(520, 2500, 20) g")
    ids = "{" + ",".join(map(str, chosen)) + "}"

    for file, name, parameter in BY_ID:
        for mode in MODES:
            values = {**SOME, parameter: ids, "now": NOW.isoformat(), "stop": "pause"}
            plan = await explain(crowd, load(file)[name], values, mode)
            assert whole_reads(plan) == [], (name, mode)
            assert buffers(plan) < 40 * BATCH, (name, mode)


async def test_what_a_contact_is_in_is_found_from_the_contact(crowd: Sql) -> None:
    contact = await crowd.fetchval(f"select {ID} from generate_series(520, 520) g")
    values = {**SOME, "contact_id": str(contact), "before": LAST}

    for name in ("list_enrollments_of_contact", "list_step_items_of_contact"):
        for mode in MODES:
            plan = await explain(crowd, load("enrollments")[name], values, mode)
            assert plan["Actual Rows"] == 1, (name, mode)
            assert buffers(plan) < 40, (name, mode)
