"""What reading statements touch where a table was analyzed with a handful of rows in it and has grown since.

Autovacuum looks at a table after its first fifty changes, and whoever restores or upgrades a database has all of it
analyzed. What is seen then may be that no two rows share a shard, a workflow or a contact: the planner takes every
index that begins with these for as good as the key. Here the engine makes one of everything, PostgreSQL looks at that,
and copies of it (bench/copies.py) make each table large.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias
from uuid import UUID

import pytest

from bench.copies import Copies, copy_rows
from tests.architecture.sql_text import HOT, queries, tokens
from tests.architecture.test_statements import ALL
from tests.conftest import ManualClock
from tests.storage.test_isolation import HOMES, NOW, every, fill, values_for
from tests.storage.test_plans import MODES, Mode, Plan, Sql, as_a_worker, buffers, explain, parts
from tidings.domain.flow.ids import BUCKETS, Bucket, make_id
from tidings.domain.flow.outcome import Rejected, Unknown
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.storage.statements import Statement

Values: TypeAlias = Mapping[str, Mapping[str, Sequence[object]]]
HOME = HOMES[0]
GROWN = 12_000
"""Rows of each table, in few shards: a statement that reads a shard or a workspace touches thousands."""
MOST_ROWS, ROWS_FOR_EACH = 400, 4
MOST_BUFFERS, BUFFERS_FOR_EACH = 600, 10
"""What a statement may touch, and how much more for each row that it returns."""
FIRST = UUID(int=0)
EPOCH = datetime(1970, 1, 1)
LATER = datetime(2030, 1, 1)
WITH_ID = ("executions", "outbox", "contacts", "runs", "events")

WHOLE_FILES = {
    "verify": "looks at everything, on purpose",
    "simulation": "reads all that a simulation did, or all contacts, to draw some by lot",
    "scratch": "only where a simulation is all there is",
}
WHOLE = {
    **dict.fromkeys(
        ("count_queue", "count_items", "count_own_items", "count_executions", "count_own_executions"),
        "counts them all",
    ),
    **dict.fromkeys(
        ("count_in_flight", "has_live_enrollment"), "looks at every enrollment of one sequence, here a third of all"
    ),
    "sum_doubt_of_runs": "walks through what is in doubt, here a fifth of all items",
    "count_enrollment_states": "counts every enrollment of one sequence, here a third of all",
    "count_step_items": "counts every message of one sequence, here a third of all",
    "count_live_by_version": "counts what a workspace has in the queue, here as much as has ended",
    **dict.fromkeys(("look_at_own_queue", "count_own_failures"), "counts up to a limit, here all that there is"),
    "list_live_executions": "walks through what is in the queue, here as much as has ended",
    **dict.fromkeys(("count_reachable", "count_audience_lacking"), "counts an audience, here every contact"),
    "list_unplanned_lists": "looks at every run of a workspace",
    "has_executions": "reads what a workspace has started since, up to the first of a workflow; only deleting asks",
    "list_failed_executions": "may take the index of all executions for that of the failed ones: they begin alike",
    "lock_enrollments_behind": "may read all enrollments of a sequence for a page; a person moves them, once",
    "sum_up_provider": "adds up the last ten minutes of a shard; only looking at one connection asks",
    "count_doubt_of_provider": "counts what is in doubt in a shard; only looking at one connection asks",
    "find_due_workspaces": "reads the queue, whose statistics are looked after (kernel/planner.py)",
}
"""What may touch more, and why."""
ITEM_STATES = ["queued", "sent", "failed"]
EMPTY = {
    *("load_unrouted_events", "find_leased", "list_shown_tests", "reread_claim", "reread_reserved"),
    *(
        "find_suppressions",
        "list_open_providers",
        "open_nodes",
        "read_failed_items",
        "load_event_items",
        "load_job_items",
    ),
}
"""What finds nothing in a scene where all work has been done."""


def reads(statement: Statement) -> bool:
    """Whether a statement looks at a hot table and writes nothing; a lock is no write."""
    words = [*tokens(statement)]
    writes = {word for last, word in zip(["", *words], words, strict=False) if last not in {"for", "key"}}
    tables = {source.table for query in queries(statement) for source in query.sources()}
    return not writes & {"insert", "update", "delete"} and not HOT.isdisjoint(tables)


UNASKED = {"compare_contacts"}
"""Takes contacts as arrays of JSON, which no literal here can be; it reads by the keys of `change_contacts`."""
READING = [
    one for file, one in ALL if one.parameters and reads(one) and file not in WHOLE_FILES and one.name not in UNASKED
]


class Asked(NamedTuple):
    """What one call of a statement touched, in one mode."""

    rows: float
    buffers: float
    found: float
    name: str
    mode: Mode
    indexes: Sequence[str]

    @property
    def is_bounded(self) -> bool:
        return (
            self.rows <= MOST_ROWS + ROWS_FOR_EACH * self.found
            and self.buffers <= MOST_BUFFERS + BUFFERS_FOR_EACH * self.found
        )


def rows_touched(plan: Plan) -> float:
    """The most rows that any part of a plan looked at."""
    removed = ("Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck")
    touched = [
        (part["Actual Rows"] + sum(part.get(why, 0) for why in removed)) * part["Actual Loops"] for part in parts(plan)
    ]
    return float(max(touched))


def literal(value: object) -> str:
    """A value as SQL writes it, without its quotes."""
    if isinstance(value, list | tuple):
        return "{" + ",".join(f'"{literal(one)}"'.replace("\\", "\\\\") for one in value) + "}"
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def calls_of(statement: Statement, values: Mapping[str, Sequence[object]]) -> Iterator[dict[str, str | None]]:
    """A statement's calls: each value of each parameter once, in every shard."""
    unknown = [name for name in statement.parameters if name not in {*values, "shard"}]
    assert not unknown, f"{statement.name}: say in values_here what {unknown} may be"
    others = [name for name in statement.parameters if name != "shard"]
    for shard in range(4) if "shard" in statement.parameters else [0]:
        for place in range(max([len(values[name]) for name in others], default=1)):
            call = {name: values[name][place % len(values[name])] for name in others} | {"shard": shard}
            yield {name: None if one is None else literal(one) for name, one in call.items()}


async def values_here(sql: Sql) -> Values:
    """What each parameter may be; under a statement's name what it takes otherwise."""
    known = await values_for(sql)
    ids = {
        name: await every(sql, f"select distinct id from {table}")
        for name, table in (
            ("run_id", "runs"),
            ("execution_id", "executions"),
            ("job_id", "jobs"),
            ("item_id", "outbox"),
        )
    }
    owned = {"run_id": [None], "execution_id": [None], "event_id": [None]}
    slices = {"upto": [make_id(Bucket(BUCKETS - 1), NOW + timedelta(milliseconds=20), 2**62 - 1)]}
    common: Mapping[str, Sequence[object]] = {
        **known[""],
        **ids,
        "tenant": [HOME.tenant],
        "workspace": [HOME.name],
        "limit": [50],
        "made_by": [LATER],
        "id": [one for table in WITH_ID for one in await every(sql, f"select id from {table}")],
        "run_ids": [ids["run_id"]],
        "job_ids": [ids["job_id"]],
        "nodes": [["hello"]],
        "ordinals": [[1, 2]],
        "paths": [["plan"]],
        "address_fields": [["email"]],
        **{name: [NOW] for name in ("transactional", "sequences", "campaigns", "runs", "lease_until", "soon")},
        "lane": [0, 1, 2, 3],
        "cursor": [0],
        "cursor_id": [None],
        "paused": [False],
        "fallbacks_only": [False],
        "open_only": [False],
        "after_run": [FIRST],
        "after_ordinal": [0],
        "owners": [[]],
        "fences": [[]],
        "version_id": [FIRST],
        "most": [100],
        "hashes": [[bytes(32)]],
        "workspace_hash": [HOME.hash],
        "lanes": [[0, 1, 2, 3]],
    }
    own: dict[str, Mapping[str, Sequence[object]]] = {
        "read_audience": {"after": [0]},
        "find_due_workspaces": {"after": [-(2**63)], "since": [EPOCH]},
        "count_due": {"since": [EPOCH]},
        "list_failed_executions": {"ids": [None], "workflow_id": [None]},
        "list_executions": {"workflow_id": [None]},
        "list_executions_of_contact": {"workflow_id": [None]},
        "list_enrollments_of_contact": {"workflow_id": [None]},
        "list_outbox_of_contact": owned,
        "list_outbox_in_doubt": owned,
        # Every run with every state: which of its items has which is told by no order.
        "list_outbox_of_run_by_status": {
            "run_id": [run for run in ids["run_id"] for _ in ITEM_STATES],
            "status": ITEM_STATES * len(ids["run_id"]),
        },
        "list_job_history": {"job_id": [None]},
        "list_failed_attempts": {"ids": [ids["item_id"]]},
        **dict.fromkeys(("seek_contacts", "seek_executions", "seek_events", "seek_items", "seek_audit"), slices),
    }
    return {name: {**known.get(name, {}), **own.get(name, {})} for name in {*known, *own}} | {"": common}


@pytest.fixture
async def grown(engine: Engine, provider: FakeProvider, clock: ManualClock, sql: Sql) -> Values:
    """One of everything, analyzed, and then thousands of it; gives what to ask for."""
    clock.time = NOW
    provider.script |= {
        "refused@example.com": [Rejected("no such mailbox")],
        "doubtful@example.com": [Unknown("reset")],
    }
    await fill(engine, HOME)
    await engine.work_everything()
    counts = {table: await sql.fetchval(f"select count(*) from {table}") for table in sorted(HOT)}
    for table in counts:
        await sql.execute(f"alter table {table} set (autovacuum_enabled = off)")
    await sql.execute("vacuum analyze")
    values = await values_here(sql)
    for table, count in counts.items():
        if count:
            await copy_rows(sql, table, Copies(1, GROWN // count))
    return values


async def ask(session: Sql, statement: Statement, values: Mapping[str, Sequence[object]]) -> list[Asked]:
    """Run a statement in every way."""
    asked = []
    for call in calls_of(statement, values):
        for mode in MODES:
            plan = await explain(session, statement, call, mode)
            indexes = sorted({str(part["Index Name"]) for part in parts(plan) if "Index Name" in part})
            found = float(plan["Actual Rows"])
            asked.append(Asked(rows_touched(plan), buffers(plan), found, statement.name, mode, indexes))
    return asked


async def test_a_statement_touches_what_it_returns_however_few_rows_were_analyzed(
    grown: Values, owner_dsn: str
) -> None:
    asked: dict[str, list[Asked]] = {}
    async with as_a_worker(owner_dsn) as session:
        for one in READING:
            asked[one.name] = await ask(session, one, {**grown[""], **grown.get(one.name, {})})

    unbounded = {name: max(calls) for name, calls in asked.items() if not all(one.is_bounded for one in calls)}
    assert "\n".join(str(one) for name, one in unbounded.items() if name not in WHOLE) == ""
    assert WHOLE.keys() - unbounded.keys() == set(), "these need no excuse any more"
    nothing = {name for name, calls in asked.items() if not any(call.found for call in calls)}
    assert nothing - EMPTY == set(), "give these something to find"
