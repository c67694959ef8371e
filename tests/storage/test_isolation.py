"""Every statement with a tenant or a workspace meets strangers: another workspace of its tenant, and another tenant.

Three workspaces hold the same things under the same names. Whatever a statement returns, counts or changes in one of
them must be what it does where the others' rows do not exist. Each is run in every shard, with the ids of all three.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg
import pytest

from tests.architecture.test_statements import ALL
from tests.conftest import ManualClock
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace, bucket_of_id, make_id
from tidings.domain.flow.item import Channel
from tidings.domain.flow.outcome import Rejected, Unknown
from tidings.domain.paging import EVERYTHING
from tidings.domain.people.audience_filter import Where
from tidings.domain.people.contact_fields import FIELDS
from tidings.domain.roles import Role
from tidings.engine import Deployment, Engine, Recipient
from tidings.providers.fake import FakeProvider
from tidings.storage.contact_parts import for_filter
from tidings.storage.statements import Statement
from tidings.views.sequences import SequenceStatus

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Values: TypeAlias = Mapping[str, Sequence[object]]
HOMES = [Workspace("acme", "main"), Workspace("acme", "second"), Workspace("rival", "main")]
OWN = {"a workspace": "(tenant_id, workspace_id) = ($1, $2)", "a tenant": "tenant_id = $1"}
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LAST = UUID(int=2**128 - 1)
NAMES = ["ada", "bob"]
UNCHANGED = [name for name in FIELDS if name not in {"external_id", "name"}]
EVERYONE = '{"all": true}'
WAYS = ("tag", "company", "status")
EVERY_SHAPE = [one for _, one in ALL] + [
    replace(for_filter(one, Where(way, "x"), Workspace(), EVERYTHING, NOW)[0], name=f"{one.name} by {way}")
    for _, one in ALL
    if "{found}" in one.source
    for way in WAYS
]
"""Every statement, and those that find contacts by each of the indexes."""
WITH_ID = (
    *("connections", "contacts", "outbox", "campaigns", "segments", "workflows", "rules", "api_keys", "events"),
    *("templates", "senders", "users"),
)
ID = "select id from {}"
TABLES = """
    select table_name from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = 'tidings' and column_name = $1 and table_type = 'BASE TABLE' order by 1
"""
WRITES = re.compile(r"^\s*(update|delete|insert|with)\b", re.MULTILINE)
EQUALS = r"(?:\w+\.)?{column} (?:=|is not distinct from) \${number}\b"
"""A filter, in either way that statements write it."""
SAY_NOTHING = {
    *("remove_contact_tags", "remove_memberships", "drop_link", "set_disabled", "set_password", "replace_hash"),
    *("forget_sessions", "note_sign_in"),
}
"""Statements that return no rows; what they change is looked at."""
DRAFT = {"subject": "Hi", "body": "News", "sender": "same"}
RENDERS = "{% render 'same' %}"
FLOW = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "hello", "type": "email", "to": "{{ to }}", "subject": "Hi", "html": RENDERS, "sender": "same"},
        {"id": "wait", "type": "delay", "duration": "P1D"},
    ],
    "edges": [{"from": "hello", "to": "wait"}],
}


def asks_for_whose(statement: Statement) -> bool:
    """Whether a statement finds rows by their tenant; one that only writes it makes rows, and finds none."""
    number = statement.parameters.index("tenant") + 1 if "tenant" in statement.parameters else 0
    return re.search(EQUALS.format(column="tenant_id", number=number), statement.text) is not None


GUARDED = {
    knows: [one for one in EVERY_SHAPE if asks_for_whose(one) and ("workspace" in one.parameters) is ("$2" in own)]
    for knows, own in OWN.items()
}
KNOWING = pytest.mark.parametrize("knows", OWN)


SECRET = b"sealed"


async def fill(engine: Engine, home: Workspace) -> None:
    """One of everything that can be listed, counted, sampled, changed or removed."""
    ann = Caller(home, "ann")
    alike = {"company": "Acme", "status": "active", "tags": ["vip"]}
    people = [{"externalId": name, "name": name, "email": f"{name}@example.com", **alike} for name in NAMES]
    ada, *_ = [one.id for one in await engine.contacts.upsert_many(ann, people)]
    await engine.senders.create(ann, {"name": "same", "email": "us@example.com", "defaultFor": ["email"]})
    await engine.templates.create(ann, {"name": "same", "text": "News"})
    await engine.templates.create(ann, {"name": "outer", "text": RENDERS})
    flow = await engine.workflows.create(ann, "same", FLOW)
    await engine.drafts.save(ann, flow.id, FLOW)
    await engine.drafts.create(ann, "begun", FLOW)
    for key, to in (("k1", "ada@example.com"), ("k2", "refused@example.com")):
        await engine.executions.trigger(ann, "same", {"to": to}, key, contact_id=ada, correlated=True)
    drip = await engine.sequences.create(ann, "same", {}, [{"dayOffset": 0, "channel": "email", "content": DRAFT}])
    await engine.sequences.update(ann, drip.id, status=SequenceStatus.ACTIVE)
    await engine.enrollments.enroll(ann, drip.id, ada)
    segment = await engine.segments.create(ann, {"name": "same", "audience": {"tag": "vip"}})
    content = {"subject": "News", "body": "News"}
    letter = {"name": "same", "channel": "email", "content": content, "audience": {"segmentId": str(segment.id)}}
    spring = await engine.campaigns.create(ann, letter)
    doubtful = Deployment(spring.id, "k1", Channel.EMAIL, content, [Recipient("doubtful@example.com")])
    await engine.deploy(doubtful, home)
    await engine.deploy(replace(doubtful, idempotency_key="k3", recipients=[Recipient("refused@example.com")]), home)
    await engine.deploy(replace(doubtful, idempotency_key="k2", scheduled_for=NOW + timedelta(days=90)), home)
    rule = {"trigger": "quote", "channel": "email", "audience": "lead", "steps": [{"template": content}]}
    await engine.rules.create(ann, rule)
    written = {"subject": "News", "html": RENDERS, "sender": "same"}
    await engine.rules.create(ann, {**rule, "trigger": "mail", "steps": [{"template": written}]})
    await engine.campaigns.create(ann, {**letter, "content": written})
    # What is told apart by its value alone would not be missed.
    await engine.rules.create(ann, {**rule, "trigger": f"quote_{home.tenant}_{home.name}"})
    await engine.events.send(ann, {"trigger": "quote", "idempotencyKey": "k1", "lead": {"contactId": str(ada)}})
    await engine.functions.set(ann, "same", f"https://example.com/{home.tenant}/{home.name}")
    await engine.access.create_key(ann, "laptop", Role.WORKFLOW_MANAGER)
    await engine.users.invite(ann, f"{home.name}@example.com", "same", {home.name: [Role.OPERATOR]})
    await engine.workspaces.set(ann, home, weight=2 + HOMES.index(home))
    await engine.workspaces.set_tenant(ann, home.tenant, 2 + HOMES.index(home))


@pytest.fixture
async def shared(engine: Engine, provider: FakeProvider, clock: ManualClock, sql: Sql) -> Engine:
    """Three workspaces that differ in nothing but whose they are."""
    clock.time = NOW
    for home in HOMES:
        await sql.execute(
            "insert into call_counts values ($1, $2, $3, gen_random_uuid(), 'email', 'sent', 1)",
            *(home.tenant, home.name, NOW),
        )
        provider.script |= {
            "refused@example.com": [Rejected("no such mailbox")] * 2,
            "doubtful@example.com": [Unknown("reset")],
        }
        await fill(engine, home)
        await sql.execute(
            "insert into routes values ($1, $2, 'push', 'relay', 'settings', $3)", home.tenant, home.name, NOW
        )
        await engine.work_everything()
    await sql.execute("update functions set secret = $1", SECRET)
    await sql.execute("update users set password_hash = 'hash'")
    for days in (-1, 1):  # one that has ended, and one that lasts
        await sql.execute(
            "insert into sessions (id, tenant_id, user_id, hash, via, user_agent, created_at, used_at, idle_after,"
            " expires_at)"
            " select gen_random_uuid(), tenant_id, id, sha256((id::text || $2)::bytea), 'link', '', $1, $1, '1 day', $3"
            " from users",
            *(NOW, str(days), NOW + timedelta(days=days)),
        )
    await sql.execute(
        "insert into signing_secrets (tenant_id, workspace_id, secret, created_at)"
        " select tenant_id, workspace_id, $1, updated_at from workspaces",
        SECRET,
    )
    await sql.execute(
        "insert into connections (tenant_id, workspace_id, id, name, channel, kind, settings, credential_names,"
        " credentials, limits, position, weight, is_sticky, is_enabled, is_removed, version, created_at, updated_at)"
        " select tenant_id, workspace_id, gen_random_uuid(), 'same', 'push', 'fcm', '{}', '{key}', $1, '{}', 1, 1,"
        " false, false, false, 1, updated_at, updated_at from workspaces",
        SECRET,
    )
    return engine


async def every(sql: Sql, query: str, *given: object) -> list[Any]:
    return [row[0] for row in await sql.fetch(query, *given)]


NAMED = (
    "connections",
    "contacts",
    "executions",
    "runs",
    "workflows",
    "events",
    "campaigns",
    "segments",
    "rules",
    "api_keys",
    "users",
)


async def values_for(sql: Sql) -> dict[str, Values]:
    """What each parameter may be, those of strangers among them; under a statement's name what it takes otherwise."""
    contacts = sorted(await every(sql, "select id from contacts"))
    ids = [id for table in NAMED for id in await every(sql, ID.format(table))]
    common: Values = {
        "limit": [1000],
        "since": [UUID(int=0)],
        "before": [LAST],
        "after": [UUID(int=0)],
        "now": [NOW],
        "made_by": [NOW],
        "due_at": [NOW],
        "status": [None],
        "company": ["Acme"],
        "tag": ["vip"],
        "text": [None],
        "minute": [NOW - timedelta(hours=1)],
        "failed_since": [NOW - timedelta(hours=1)],
        "failed_before": [NOW + timedelta(days=1)],
        "most": [1000],
        "name": ["same"],
        "kind": ["workflow", "sequence"],
        "channel": ["email"],
        "external_id": NAMES,
        "trigger": ["quote"],
        "key": ["k1"],
        "audience": ["lead"],
        "enabled": [None],
        "active": [True, False],
        "has_executions": [False],
        "revision": [None],
        "statuses": [None],
        "cursors": [None],
        "error": [None],
        "node": [None],
        "in_doubt": [None],
        "filtered": [True],
        "seed": ["1"],
        "size": [0],
        "upto": [None],
        "needle": [""],
        "filling": [""],
        "pattern": ["."],
        "exclude_contact_ids": [[]],
        "run_id": [None],
        "execution_id": [None],
        "event_id": [None],
        "ids": [ids],
        "contact_ids": [contacts],
        "contact_id": contacts,
        "workflow_id": await every(sql, ID.format("workflows")),
        "campaign_id": await every(sql, ID.format("campaigns")),
        "segment_id": await every(sql, "select id::text from segments"),
        "step_id": await every(sql, "select id::text from sequence_steps"),
        "template_id": await every(sql, ID.format("templates")),
        "names": [["same"]],
        "words": [["News"]],
        "email": [f"{home.name}@example.com" for home in HOMES[:2]],
        "user_id": await every(sql, ID.format("users")),
        "user_ids": [await every(sql, ID.format("users"))],
        "subject_id": await every(sql, "select distinct subject_id from audit_log"),
    }
    return {"": common} | await values_of_their_own(sql, contacts)


async def values_of_their_own(sql: Sql, contacts: Sequence[UUID]) -> dict[str, Values]:
    count = len(contacts)
    entering: Values = {
        "workflow_id": [UUID(int=1)],
        "version_id": [UUID(int=2)],
        "cursor": ["step"],
        "triggered_by": ["test"],
        "key_scope": [b""],
        "frontiers": [[f'{{"ready": [["step", "{NOW.isoformat()}"]]}}']],
    }
    changing: Values = {
        **{name: [[None] * len(NAMES)] for name in UNCHANGED},
        **{name: [[""] * len(NAMES)] for name in ("no_attributes", "no_consent", "no_suppressions")},
        "external_id": [NAMES],
        "name": [["New"] * len(NAMES)],
        "separator": [","],
    }
    return {
        "change_contacts": changing,
        "compare_contacts": changing,
        "read_words": {"ids": [await every(sql, "select id from outbox")]},
        "remove_contact_tags": {"tags": [["vip"] * count]},
        "find_next_contacts": {"status": ["active"]},
        "enroll_contacts": {
            **entering,
            "contact_ids": [contacts],
            "milliseconds": [0],
            "salt": ["s"],
            "zones": [["UTC"]],
            "by_zone": [False],
        },
        "insert_enrollments": {
            **entering,
            "ids": [[make_id(bucket_of_id(one), NOW, place) for place, one in enumerate(contacts)]],
            "numbers": [["1"] * count],
            "plans": [[1] * count],
        },
        "change_campaign": {
            "content": ["{}"],
            "audience": [EVERYONE],
            "data": ["{}"],
            "version": [2],
            "read_version": [1],
            "send_hour": [None],
            "time_zone": ["UTC"],
            "rate_per_minute": [None],
            "max_lateness": [None],
        },
        "list_templates": {"kind": [None]},
        "list_tenant_audit": {"actor": [None], "subject_kind": [None]},
        "list_subject_audit": {"actor": [None], "subject_kind": [None]},
        "find_first_user": {"created_by": ["ann"]},
        "change_user": {"email": [None]},
        "set_password": {"password_hash": ["other"]},
        "replace_hash": {"password_hash": ["other"], "before": ["hash"]},
        "set_disabled": {"disabled_at": [NOW]},
        "set_link": {"digest": [b"1" * 32], "expires_at": [NOW]},
        "clear_default_senders": {"channels": [[]], "id": await every(sql, ID.format("senders"))},
        "change_sender": {"display_name": [None], "addresses": ["{}"], "reply_to": [None]},
        "change_segment": {"audience": [EVERYONE]},
        "change_connection": {
            "settings": ["{}"],
            "limits": ["{}"],
            "credential_names": [["key"]],
            "credentials": [SECRET],
            "position": [2],
            "weight": [3],
            "is_sticky": [True],
            "is_enabled": [False],
            "version": [2],
            "set_up_anew_at": [None],
        },
        "remove_connection": {"version": [2]},
        "forget_credentials": {"sealed": [SECRET], "version": [2]},
        "sum_up_provider": {"provider": ["fake"]},
        "count_doubt_of_provider": {"provider": ["fake"]},
        "list_errors_of_provider": {"provider": ["fake"]},
        "forget_secret": {"secret": [SECRET]},
        "forget_signing_secret": {"secret": [SECRET]},
        "reseal_value": {"sealed": [SECRET], "resealed": [b"sealed anew"]},
        "find_named_contacts": {"external_ids": [NAMES]},
        "pick_contacts": {"status": ["active"]},
        "count_reachable": {"status": ["active"], "address_fields": [["email"]]},
        "count_audience_lacking": {"status": ["active"], "paths": [["plan"]]},
        "list_contacts": {"status": ["active"]},
        "count_audience": {"status": ["active"]},
        "sample_audience": {"status": ["active"]},
        "list_live_executions": {"status": ["processing"]},
        "count_step_items": {"nodes": [await every(sql, "select distinct node from outbox where node is not null")]},
        "list_rule_keys": {"triggers": [["quote"]]},
        "remove_draft": {"id": await every(sql, ID.format("workflows"))},
        "count_live_by_version": {"workspace_hash": [home.hash for home in HOMES]},
        "find_retried": {
            "keys": [await every(sql, "select idempotency_key from outbox")],
            "places": [await every(sql, "select substr(idempotency_key, 1, 8) from outbox")],
        },
        "count_own_items": {"run_ids": [await every(sql, ID.format("runs"))]},
        "find_event_by_key": {"hash": await every(sql, "select key_hash from events")},
        "find_executions_by_key": {
            "keys": [["k1", "k2"]],
            "hashes": [await every(sql, "select key_hash from executions")],
        },
        "find_correlated_executions": {
            "keys": [["k1", "k2"]],
            "hashes": [await every(sql, "select workspace_key_hash from executions")],
        },
        "list_outbox_of_run": {"run_id": await every(sql, ID.format("runs"))},
        "list_outbox_of_run_by_status": {"run_id": await every(sql, ID.format("runs")), "status": ["sent", "queued"]},
        "list_outbox_of_owner": {
            "run_id": await every(sql, ID.format("runs")),
            "execution_id": await every(
                sql, "select min(id::text)::uuid from executions group by tenant_id, workspace_id"
            ),
            "event_id": await every(sql, ID.format("events")),
        },
    }


async def calls_of(sql: Sql, statement: Statement, values: Mapping[str, Values], home: Workspace) -> list[list[object]]:
    """Every way to run a statement in a workspace; its `id` is that of each row of the tables it names."""
    tables = [table for table in WITH_ID if f" {table}" in statement.text]
    given: dict[str, Sequence[object]] = {
        "tenant": [home.tenant],
        "workspace": [home.name],
        "shard": range(4),
        "id": [id for table in tables for id in await every(sql, ID.format(table))],
        **values[""],
        **values.get(statement.name.partition(" by ")[0], {}),
    }
    unknown = [name for name in statement.parameters if name not in given]
    assert not unknown, f"{statement.name}: say in values_for what {unknown} may be"
    return [list(call) for call in product(*(given[name] for name in statement.parameters))]


@asynccontextmanager
async def taken_back(sql: Sql) -> AsyncIterator[None]:
    """Nothing that is written in here stays."""
    transaction = sql.transaction()
    await transaction.start()
    try:
        yield
    finally:
        await transaction.rollback()


async def remove_strangers(sql: Sql, home: Workspace, tables: Sequence[str], own: str) -> None:
    strange = f"(select id from workflows where not {own})"
    await sql.execute(f"delete from sequence_steps where sequence_id in {strange}", *own_values(home, own))
    await sql.execute(f"delete from sequences where id in {strange}", *own_values(home, own))
    await sql.execute(f"delete from workflow_drafts where workflow_id in {strange}", *own_values(home, own))
    await sql.execute(f"delete from workflow_versions where workflow_id in {strange}", *own_values(home, own))
    for table in tables:
        await sql.execute(f"delete from {table} where not {own}", *own_values(home, own))


def own_values(home: Workspace, own: str) -> list[str]:
    return [home.tenant, home.name][: own.count("$")]


async def outcome(sql: Sql, statement: Statement, calls: Sequence[list[object]]) -> Counter[str]:
    """All rows that the calls return together; none of them sees what another wrote."""
    rows: Counter[str] = Counter()
    for call in calls:
        async with taken_back(sql) if WRITES.search(statement.text) else nullcontext():
            rows.update(str(tuple(row)) for row in await sql.fetch(statement.text, *call))
    return rows


@dataclass(frozen=True)
class Meeting:
    """One workspace among the others: how each statement is called there, and what it does where they are not."""

    sql: Sql
    home: Workspace
    own: str
    tables: Sequence[str]
    calls: Mapping[str, Sequence[list[object]]]
    alone: Mapping[str, Counter[str]]

    @classmethod
    async def of(cls, sql: Sql, home: Workspace, own: str, statements: Sequence[Statement]) -> "Meeting":
        column = "workspace_id" if "$2" in own else "tenant_id"
        tables, values = await every(sql, TABLES, column), await values_for(sql)
        calls = {one.name: await calls_of(sql, one, values, home) for one in statements}
        async with taken_back(sql):
            await remove_strangers(sql, home, tables, own)
            alone = {one.name: await outcome(sql, one, calls[one.name]) for one in statements}
        return cls(sql, home, own, tables, calls, alone)

    async def is_noticed(self, statement: Statement) -> bool:
        """Whether a statement does something else than it does where there are no strangers, or changes them."""
        calls = self.calls[statement.name]
        if await outcome(self.sql, statement, calls) != self.alone[statement.name]:
            return True
        return bool(WRITES.search(statement.text)) and await self._changes_strangers(statement, calls)

    async def _changes_strangers(self, statement: Statement, calls: Sequence[list[object]]) -> bool:
        before = await self._strangers()
        async with taken_back(self.sql):
            for call in calls:
                await self.sql.fetch(statement.text, *call)
            return before != await self._strangers()

    async def _strangers(self) -> list[object]:
        query = "select md5(string_agg(one::text, '' order by one::text)) from {} one where not " + self.own
        return [await self.sql.fetchval(query.format(table), *own_values(self.home, self.own)) for table in self.tables]


@KNOWING
async def test_no_statement_sees_counts_or_changes_what_is_a_strangers(shared: Engine, sql: Sql, knows: str) -> None:
    for home in HOMES:
        meeting = await Meeting.of(sql, home, OWN[knows], GUARDED[knows])

        found_nothing = {name for name, rows in meeting.alone.items() if not rows}
        assert found_nothing <= SAY_NOTHING, "give these something to find"
        assert [one.name for one in GUARDED[knows] if await meeting.is_noticed(one)] == []


@KNOWING
async def test_any_filter_by_tenant_or_workspace_would_be_missed(shared: Engine, sql: Sql, knows: str) -> None:
    missed = {name: broken for one in GUARDED[knows] for name, broken in without_each_filter(one)}
    count = len(missed)
    for home in HOMES:
        meeting = await Meeting.of(sql, home, OWN[knows], GUARDED[knows])
        missed = {name: broken for name, broken in missed.items() if not await meeting.is_noticed(broken)}

    assert count >= len(GUARDED[knows])
    assert list(missed) == []


def without_each_filter(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """The statement without one of its filters, by the name of what is missing."""
    numbers = {
        name: statement.parameters.index(name) + 1 for name in ("tenant", "workspace") if name in statement.parameters
    }
    for kind, number in numbers.items():
        for place, found in enumerate(re.finditer(EQUALS.format(column=f"{kind}_id", number=number), statement.text)):
            broken = f"{statement.text[: found.start()]}({found[0]} or true){statement.text[found.end() :]}"
            yield f"{statement.name} without {kind} {place}", Statement(statement.name, broken, statement.parameters)
