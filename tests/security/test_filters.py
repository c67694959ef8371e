"""Every statement that a key can reach names its tenant and workspace, or hangs by a key on a row that does.

tests/storage/test_isolation.py drops each filter that there is; this finds those that are not there. It reads SQL and
not rows: a table of a tenant is held in a query if the query asks for `tenant_id = :tenant` and
`workspace_id = :workspace` of it, or ties one of its columns to a column of a table that is held there or around it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import asyncpg
import pytest

import tidings
from tests.architecture.sql_text import Query, Source, queries
from tests.architecture.test_statements import EVERY, statement
from tidings.storage.statements import Statement

SRC = Path(tidings.__file__).parent
REACHED_BY_A_KEY = (
    "resources",
    "http",
    "kernel/start",
    "kernel/manage",
    "kernel/people",
    "kernel/campaigns/start_run.py",
)
OF_A_TENANT = {"api_keys", "audit_log", "tenants", "users", "memberships", "sessions"}
"""What belongs to a whole tenant: no workspace is named."""
OF_A_WORKSPACE = {
    *("workflows", "workflow_versions", "sequences", "sequence_steps", "functions", "contacts", "contact_tags"),
    *("workspaces", "signing_secrets", "connections", "templates", "template_versions", "senders", "default_senders"),
    *("workflow_drafts", "call_counts"),
    *("segments", "executions", "execution_log", "campaigns", "runs", "jobs", "rules", "events", "outbox", "attempts"),
    "call_counts",
}
EXCEPTIONS: Mapping[str, set[str]] = {
    "looks for the key itself, before anybody knows whose it is": {
        *("access.count_live_operators", "access.find_key", "access.touch_key", "access.list_live_hashes"),
        *("access.list_origins", "sessions.find_session", "sessions.touch_session", "sessions.end_session"),
        *("users.find_link", "users.use_link"),
    },
    "asks whether the installation has people at all, before the first": {"users.has_password_user"},
    "follows a read by tenant in the same transaction": {"access.revoke_key"},
    "reads for the operator, over the whole database": {
        *("observe.count_items", "observe.count_executions", "reseal.list_sealed_values", "verify.unkeyed_sends"),
        *("verify.double_items", "verify.misplaced_items", "verify.lost_items", "verify.lost_executions"),
        *("verify.lost_jobs", "verify.lost_runs", "verify.lost_events", "verify.miscounted_jobs", "verify.early_jobs"),
        *("verify.ended_runs", "verify.jobs_of_runs", "workspaces.list_tenants"),
    },
    "names things of a whole tenant, whose history it is": {
        *("names.name_contacts", "names.name_events", "names.name_definitions", "names.name_executions"),
        "names.name_runs",
    },
    "its result is filtered by the query around it": {"items.list_outbox_of_owner", "workspaces.list_workspaces"},
    "its answer carries the workspace, and the caller refuses another": {"resolve.find_item", "load.load_runs"},
    "takes the id of an audit entry that this very call has made up": {"resolve.find_audit"},
    "follows, in one transaction, a lock of the row that names whose it is": {
        *("templates.latest_template_version", "templates.describe_template"),
        *("define.latest_version", "define.touch_workflow", "sequences.remove_step", "sequences.change_settings"),
        *("sequences.pause_sequence", "sequences.delete_sequence", "workflows.rename_workflow"),
        *("workflows.describe_workflow", "rules.update_rule", "resolve.resolve_item", "resolve.reopen_execution"),
        *("resolve.flag_run", "resolve.stop_of_run", "replay.tried_items", "replay.requeue_items"),
        *("replay.forget_items", "replay.enqueue_reopened", "replay.reopen_failed_executions", "replay.forget_log"),
        *("outbox.settle_unmarked_items", "enroll.choose_enrollments"),
    },
    "follows the insert of the row in the same transaction": {
        *("events.plan_event_job", "start.enqueue_run"),
        "enroll.enqueue_enrollments",
    },
    "reads of jobs only between which ids the items of a run lie, and says whose the items are": {
        *("items.list_outbox_of_run", "items.list_outbox_of_run_by_status"),
    },
    "takes ids that a statement with the filter has found for the same caller": {
        *("audience.count_lacking", "deploy.read_failed_items"),
        *("enroll.find_parked_enrollments", "enrollments.list_step_items", "enrollments.tally_messages"),
        *("enrollments.list_failed_attempts", "events.list_event_items", "executions.show_executions"),
        *("executions.list_open_providers", "executions.list_execution_log", "executions.list_execution_items"),
        *("load.load_executions", "load.load_versions", "observe.list_attempts", "observe.list_audit"),
        *(
            "people.load_people",
            "people.read_consents",
            "people.remove_push_token",
            "runs.sum_jobs_of_runs",
            "runs.sum_doubt_of_runs",
        ),
        *("executions.list_execution_attempts", "runs.list_job_history"),
        *("runs.list_items_of_jobs", "sequences.list_steps", "sequences.has_live_enrollment"),
        *("sequences.count_in_flight", "sequences.find_versions", "sequences.open_nodes"),
    },
    "takes the id of a contact that was found and locked in its workspace, to erase all that is about it": {
        *("erase.list_executions_to_erase", "erase.list_items_to_erase", "erase.find_items_of_executions"),
        *("erase.find_events_to_erase", "erase.find_items_of_events", "erase.wake_owners", "erase.erase_executions"),
        *("erase.erase_items", "erase.erase_attempts", "erase.erase_log", "erase.erase_history", "erase.erase_events"),
    },
    "takes ids that a pass over one workspace has found to hold an address, or says only where such a pass ends": {
        *("erase_address.end_of_items", "erase_address.end_of_audit", "erase_address.redact_contacts"),
        *("erase_address.redact_executions", "erase_address.redact_log", "erase_address.redact_events"),
        *("erase_address.redact_items", "erase_address.redact_attempts", "erase_address.redact_audit"),
    },
    "a worker routes what SQL has stored, by the ids that it claimed": {"events.load_unrouted_events"},
}
"""Statements that read by ids alone, by the reason why these ids are the caller's own."""


def sources() -> str:
    paths = [
        path for one in REACHED_BY_A_KEY for path in ([SRC / one] if one.endswith(".py") else (SRC / one).rglob("*.py"))
    ]
    return "\n".join(path.read_text() for path in paths)


@cache
def reached() -> dict[str, Statement]:
    words = set(re.findall(r"\w+", sources()))
    return {name: one for name, one in EVERY.items() if one.name in words}


def unheld(one: Statement) -> list[str]:
    """The tables of a tenant that some query of a statement reads without saying whose."""
    every = queries(one)
    return [f"{source.table} {source.alias}" for query in every for source in _unheld(query, every)]


def _unheld(query: Query, around: list[Query]) -> Iterator[Source]:
    read = [one for one in query.sources() if one.verb != "into" and one.table in OF_A_TENANT | OF_A_WORKSPACE]
    held = {one.alias for one in read if _names_whose(query, one, len(read) == 1)}
    # What is no table of a tenant is a CTE, whose own query is looked at by itself, or a list of ids.
    held |= {one.alias for one in query.sources() if one.table not in OF_A_TENANT | OF_A_WORKSPACE and not one.is_call}
    outer = {one.alias for other in around if other is not query for one in other.sources()}
    while True:
        tied = {one.alias for one in read if one.alias not in held and _is_tied(query, one, held | outer)}
        if not tied:
            break
        held |= tied
    yield from (one for one in read if one.alias not in held)


def _demands(query: Query) -> list[tuple[str, ...]]:
    return [demand for _, demands in query.conditions() for demand in demands]


EQUALS = ("=", "is not distinct from")


def _names_whose(query: Query, source: Source, is_only_one: bool) -> bool:
    wanted = ["tenant"] if source.table in OF_A_TENANT else ["tenant", "workspace"]
    names = [(source.alias, "."), ()] if is_only_one else [(source.alias, ".")]
    return all(
        any((*name, f"{one}_id", equals, f":{one}") in _demands(query) for name in names for equals in EQUALS)
        for one in wanted
    )


def _is_tied(query: Query, source: Source, held: set[str]) -> bool:
    for demand in _demands(query):
        match demand:
            case (one, ".", _, "=", other, ".", _) if source.alias in {one, other}:
                if (other if one == source.alias else one) in held - {source.alias}:
                    return True
    return False


def test_every_statement_that_a_key_reaches_says_whose_rows_it_reads() -> None:
    found = {name: tables for name, one in reached().items() if (tables := unheld(one))}
    excepted = set().union(*EXCEPTIONS.values())

    assert len(reached()) > 120
    assert {name: tables for name, tables in found.items() if name not in excepted} == {}
    assert excepted - found.keys() == set(), "these need no exception any more"
    assert len(excepted) == sum(map(len, EXCEPTIONS.values())), "some have two reasons"


async def test_every_table_of_a_tenant_is_looked_at(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    rows = await sql.fetch(
        "select table_name, bool_or(column_name = 'workspace_id') as of_workspace from information_schema.columns"
        " join information_schema.tables using (table_schema, table_name)"
        " where table_schema = 'tidings' and table_type = 'BASE TABLE' group by 1"
        " having bool_or(column_name = 'tenant_id')"
    )

    # Which provider serves a channel is everybody's to know.
    assert {row["table_name"] for row in rows} == OF_A_WORKSPACE | OF_A_TENANT | {"routes"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("select id from contacts where id = :id", "contacts contacts"),
        ("select id from contacts where id = :id and tenant_id = :tenant", "contacts contacts"),
        ("select id from contacts where tenant_id = :tenant or workspace_id = :workspace", "contacts contacts"),
        ("select id from api_keys where id = :id", "api_keys api_keys"),
        (
            "select o.id from outbox o, contacts c where c.tenant_id = :tenant and c.workspace_id = :workspace",
            "outbox o",
        ),
        ("with x as (select id from runs) select r.id from runs r join x on x.id = r.id", "runs runs"),
        (
            "select e.id from executions e join workflows w on w.id = e.workflow_id where e.tenant_id = :tenant",
            "executions e",
        ),
        ("update outbox set status = 'sent' where shard = :shard and id = :id", "outbox outbox"),
        ("select id from rules where tenant_id = :workspace and workspace_id = :tenant", "rules rules"),
    ],
)
def test_a_statement_that_does_not_say_whose_is_found(text: str, problem: str) -> None:
    assert problem in unheld(statement(text))


@pytest.mark.parametrize(
    "text",
    [
        "select id from contacts where id = :id and tenant_id = :tenant and workspace_id = :workspace",
        "select a.id from attempts a join outbox o on o.id = a.item_id"
        " where o.tenant_id = :tenant and o.workspace_id = :workspace",
        "select id from api_keys where tenant_id = :tenant",
        "insert into contacts (shard, id) select s.shard, :id from shards s where s.shard = :shard",
    ],
)
def test_a_statement_that_says_whose_is_left_alone(text: str) -> None:
    assert unheld(statement(text)) == []
