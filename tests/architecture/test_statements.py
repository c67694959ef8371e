"""Every statement keeps the rules that let the same SQL run on one PostgreSQL and on a cluster (citus.md, R1–R19)."""

import ast
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

import asyncpg
import msgspec
import pytest

from tests.architecture.sql_text import HOT, SHARDED, Source, calls, queries, tokens, unbound_tables
from tidings.storage import statements
from tidings.storage.statements import Statement, load

STORAGE = Path(str(files("tidings.storage")))
FILES = sorted(path.stem for path in (STORAGE / "sql").glob("*.sql") if "-- name: " in path.read_text())
ALL = [(file, statement) for file in FILES for statement in load(file).values()]
EVERY = {f"{file}.{one.name}": one for file, one in ALL}

NO_FUNCTION = {
    "migrate": {
        *("lock_migrations", "create_schema", "create_migrations", "set_shard_count", "create_shard_count"),
        *("find_schema", "applied_migrations", "record_migration", "read_safety", "drop_schema"),
    },
    "scratch": {"lock_scratch", "find_database"},
}
"""Statements that only their own file's flow runs."""
NO_STATEMENT = {
    "migrate": {
        *("migrate", "is_complete", "rights_of", "schema_state", "require_current", "require_safe", "require_rights"),
        *("change_row_security", "reset"),
    },
    "scratch": {"make_scratch_database", "drop_scratch_database"},
    "wake": {"listen"},
}
"""Public functions that are more than one statement."""

CLOCKS_AND_DICE = {
    *("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday", "random"),
    *("gen_random_uuid", "uuid_generate_v4", "uuidv4", "uuidv7", "nextval", "setval", "pg_sleep", "txid_current"),
    *("current_timestamp", "localtimestamp", "current_date", "current_time", "localtime"),
}
STABLE = {
    *("make_interval", "jsonb_build_object", "json_build_object", "jsonb_build_array", "to_jsonb", "to_json"),
    *("row_to_json", "concat", "concat_ws", "format", "to_char", "to_timestamp", "date_trunc", "age", "date_part"),
    *("extract", "set_config", "current_setting", "array_to_string", "pg_notify", "interval"),
}
STABLE_CASTS = {"text", "date", "timestamp", "timestamptz", "interval", "json", "jsonb", "varchar"}


def statement(text: str) -> Statement:
    return statements._parse("example", text)


# Names


def async_functions(file: str) -> dict[str, ast.AsyncFunctionDef]:
    tree = ast.parse((STORAGE / f"{file}.py").read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)}


def test_every_statement_is_run_by_the_function_of_its_name() -> None:
    for file in FILES:
        functions = async_functions(file)
        public = {name for name in functions if not name.startswith("_")}

        assert public - NO_STATEMENT.get(file, set()) == load(file).keys() - NO_FUNCTION.get(file, set()), file
        run = {name: _statements_in(functions[name]) for name in public & load(file).keys()}
        assert {name: found for name, found in run.items() if found != {name}} == {}, file


def _statements_in(function: ast.AsyncFunctionDef) -> set[object]:
    if "_SQL.statement" in map(ast.unparse, function.decorator_list):
        return {function.name}
    return {
        node.slice.value
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "_SQL"
        and isinstance(node.slice, ast.Constant)
    }


def test_every_statement_is_used_and_says_what_it_is_for() -> None:
    used = {file: _statements_used(file) for file in FILES}

    assert [one.name for file, one in ALL if one.name not in used[file]] == []
    assert [one.name for _, one in ALL if not one.text.startswith("-- ")] == [], "no line that says the purpose"


def _statements_used(file: str) -> set[object]:
    tree = ast.parse((STORAGE / f"{file}.py").read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    return {name for function in functions for name in _statements_in(function)}


def test_no_name_is_used_in_two_files() -> None:
    names = [one.name for _, one in ALL]

    assert len(names) == len(set(names))


# PostgreSQL's own parser


async def test_every_statement_prepares_on_a_migrated_database_and_uses_every_parameter(
    sql: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    for _, one in ALL:
        prepared = await sql.prepare(one.text)
        assert len(prepared.get_parameters()) == len(one.parameters), one.name


async def test_every_column_of_a_record_has_its_field(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    for file, one in ALL:
        function = getattr(import_module(f"tidings.storage.{file}"), one.name, None)
        record = _record_in(get_type_hints(function)["return"]) if hasattr(function, "__wrapped__") else None
        if record:
            columns = [column.name for column in (await sql.prepare(one.text)).get_attributes()]
            known = {*get_type_hints(record), "tenant", columns[0]}  # the first may be the key of a mapping
            assert {*columns} <= known, one.name
            assert _required_fields(record) <= {*columns}, one.name


def _record_in(returned: object) -> type | None:
    if isinstance(returned, type) and (issubclass(returned, msgspec.Struct) or is_dataclass(returned)):
        return returned
    return next((found for one in get_args(returned) if (found := _record_in(one))), None)


def _required_fields(record: Any) -> set[str]:
    if issubclass(record, msgspec.Struct):
        return {one.name for one in msgspec.structs.fields(record) if one.required}
    return {one.name for one in fields(record) if one.default is MISSING and one.default_factory is MISSING}


async def test_a_statement_with_a_misspelt_column_would_not_prepare(
    sql: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    with pytest.raises(asyncpg.UndefinedColumnError):
        await sql.prepare(load("claim")["claim_due"].text.replace("crashes", "crushes"))


# One shard


def test_every_table_of_a_statement_is_tied_to_its_one_shard() -> None:
    assert {name: tables for name, one in EVERY.items() if (tables := unbound_tables(one))} == {}


def mentioned_tables(one: Statement) -> list[str]:
    """Every word that could be a sharded table, by what stands before it."""
    before_a_table = {"from", "join", "update", "into", "using"}
    return sorted(word for last, word in pairwise(["", *tokens(one)]) if word in SHARDED and last in before_a_table)


def seen_tables(one: Statement) -> list[str]:
    """Every sharded table that the check takes for one."""
    return sorted(source.table for query in queries(one) for source in query.sources() if source.table in SHARDED)


def test_every_sharded_table_a_statement_mentions_was_seen_by_the_check() -> None:
    mentioned = {name: mentioned_tables(one) for name, one in EVERY.items()}

    assert any(mentioned.values())
    assert {name: seen_tables(one) for name, one in EVERY.items()} == mentioned


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("select id from queue where lane = :lane", "queue queue"),
        ("select id from queue where shard = :lane", "queue queue"),
        ("select id from queue where shard = :shard or lane = 1", "queue queue"),
        ("select id from queue where not shard = :shard", "queue queue"),
        ("select id from queue where (shard = :shard or lane = 1)", "queue queue"),
        ("select id from queue where shard = any(:shard)", "queue queue"),
        ("select id from queue where id = 1 and shard = :shard + 1", "queue queue"),
        ("select 'shard = :shard' from queue -- where shard = :shard", "queue queue"),
        ("select q.id from queue q join jobs j on j.id = q.id where q.shard = :shard", "jobs j"),
        ("select q.id from queue q join jobs j on j.shard = q.shard where q.shard = :shard", "jobs j"),
        ("select q.id from queue q join jobs j on j.id = q.id where shard = :shard", "jobs j"),
        ("select q.id from queue q, jobs j where q.shard = :shard", "jobs j"),
        ("select q.id from queue q, unnest(:ids) t(id), jobs as j where q.shard = :shard", "jobs j"),
        ("select o.id from outbox o left join audience a on o.shard = :shard where a.shard = :shard", "outbox o"),
        ("with x as (select id from queue) select id from jobs where shard = :shard", "queue queue"),
        ("select id from jobs where shard = :shard and exists (select 1 from queue q where q.id = jobs.id)", "queue q"),
        ("select id from jobs where shard = :shard union all select id from runs", "runs runs"),
        ("select id from (select id from attempts) x", "attempts attempts"),
        ("select (select min(due_at) from queue where lane = 0) as due", "queue queue"),
        ("update queue q set due_at = :now from jobs j where j.shard = :shard and q.id = j.id", "queue q"),
        ("update queue set shard = :shard", "queue queue"),
        ("delete from queue using jobs j where j.shard = :shard and j.id = queue.id", "queue queue"),
        ("with d as (delete from run_parts where run_id = :id) select 1", "run_parts run_parts"),
        ("insert into queue (shard, id) values (:shard, :id)", "queue is inserted"),
        ("insert into queue (shard, id) select :shard, t.id from unnest(:ids) t(id)", "queue is inserted"),
        ("insert into queue (id, shard) select s.id, s.shard from shards s where s.shard = :shard", "queue is"),
        ("insert into queue (shard, id) select s.shard, :id from shards s", "shards s"),
        ("insert into queue (shard, id) select t.s, s.id from shards s, unnest(:s) t(s) where s.shard = :shard", "is"),
    ],
)
def test_the_check_finds_a_table_that_is_not_tied_to_the_shard(text: str, problem: str) -> None:
    assert any(problem in found for found in unbound_tables(statement(text))), unbound_tables(statement(text))


def test_every_hot_table_is_touched_by_some_statement() -> None:
    touched = {source.table for _, one in ALL for query in queries(one) for source in query.sources()}

    assert touched >= SHARDED


# What a cluster refuses


def changes(one: Statement) -> bool:
    """Whether it updates or deletes, on conflict too."""
    words = tokens(one)
    return any(word == "delete" or (word == "update" and last != "for") for last, word in pairwise(["", *words]))


def forbidden(one: Statement) -> set[str]:
    words = tokens(one)
    found = (calls(one) | {word for word in words if word.startswith(("current_", "local"))}) & CLOCKS_AND_DICE
    found |= {word for word in words if word in {"lateral", "merge"}}
    if changes(one):
        found |= set(words) & {"interval"} | calls(one) & STABLE
        found |= {
            f"::{words[place + 1]}"
            for place, word in enumerate(words[:-1])
            if word == "::"
            and words[place + 1] in STABLE_CASTS
            and not words[place - 1].startswith(":")
            and words[place + 2 : place + 3] != ["["]
        }
    return found


def test_no_statement_reads_a_clock_throws_dice_or_calls_what_a_cluster_refuses() -> None:
    found = {one.name: calls for one in EVERY.values() if (calls := forbidden(one))}

    assert found == {"database_time": {"clock_timestamp"}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select now()", "now"),
        ("select current_timestamp", "current_timestamp"),
        ("insert into x select gen_random_uuid()", "gen_random_uuid"),
        ("update queue set due_at = clock_timestamp()", "clock_timestamp"),
        ("delete from queue where random() < 0.5", "random"),
        ("update queue set due_at = due_at + interval '1 hour'", "interval"),
        ("update queue set x = jsonb_build_object('a', id)", "jsonb_build_object"),
        ("update queue set x = id::text", "::text"),
        ("insert into a values (1) on conflict do update set x = format('%s', a.y)", "format"),
        ("select 1 from a, lateral (select 1) b", "lateral"),
        ("merge into queue using x on true when matched then do nothing", "merge"),
    ],
)
def test_the_deny_list_finds_what_is_on_it(text: str, found: str) -> None:
    assert found in forbidden(statement(text))


@pytest.mark.parametrize(
    "text",
    [
        "update queue set due_at = :now::timestamptz, fence = fence + 1, x = coalesce(x, :y::text)",
        "select id::text, 'now()' as x from a -- now()",
        "select id from queue for update",
    ],
)
def test_the_deny_list_leaves_alone_what_a_cluster_takes(text: str) -> None:
    assert forbidden(statement(text)) == set()


async def test_every_function_called_in_an_update_or_delete_is_immutable(
    sql: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    rows = await sql.fetch("select distinct proname from pg_proc where provolatile <> 'i'")
    not_immutable = {row["proname"] for row in rows}
    assert {"now", "to_jsonb", "format", "random"} <= not_immutable
    assert "unnest" not in not_immutable

    for _, one in ALL:
        if changes(one):
            assert calls(one) & not_immutable == set(), one.name


def test_a_batch_is_inserted_from_rows_of_a_sharded_table_and_never_from_unnest_alone() -> None:
    found = [
        name for name, one in EVERY.items() if any(inserts_from_unnest_alone(query.sources()) for query in queries(one))
    ]

    assert found == []


def inserts_from_unnest_alone(sources: list[Source]) -> bool:
    inserts = any(source.verb == "into" and source.table in HOT for source in sources)
    unnests = any(source.table == "unnest" for source in sources)
    return inserts and unnests and not any(source.table in SHARDED and source.verb != "into" for source in sources)


def test_an_insert_from_unnest_alone_is_found() -> None:
    alone = queries(statement("insert into queue (shard, id) select :shard, t.id from unnest(:ids::uuid[]) as t(id)"))
    joined = queries(
        statement(
            "insert into queue (shard, id) select s.shard, t.id from unnest(:ids::uuid[]) as t(id)"
            " join shards s on s.shard = :shard"
        )
    )

    assert inserts_from_unnest_alone(alone[0].sources())
    assert not inserts_from_unnest_alone(joined[0].sources())


def reads_what_it_inserts(one: Statement) -> set[str]:
    sources = [source for query in queries(one) for source in query.sources()]
    inserted = {source.table for source in sources if source.verb == "into"}
    return inserted & {source.table for source in sources if source.verb != "into"}


def test_no_statement_reads_a_table_that_it_inserts_into() -> None:
    assert {name: tables for name, one in EVERY.items() if (tables := reads_what_it_inserts(one))} == {}


def test_a_get_or_create_in_one_statement_is_found() -> None:
    text = "with i as (insert into jobs (shard) select 1 returning id) select id from i union all select id from jobs"

    assert reads_what_it_inserts(statement(text)) == {"jobs"}


def test_no_statement_moves_a_row_to_another_shard() -> None:
    assert [name for name, one in EVERY.items() if sets_shard(one)] == []


def sets_shard(one: Statement) -> bool:
    for query in queries(one):
        if query.verb == "update":
            start = query.items.index("set")
            ends = [place for place, word in enumerate(query.items) if place > start and word in {"from", "where"}]
            assigned = query.items[start : min(ends, default=len(query.items))]
            if any(last in {"set", ","} and word == "shard" for last, word in pairwise(assigned)):
                return True
    return False


def test_an_update_of_the_shard_is_found() -> None:
    assert sets_shard(statement("update queue set lane = 1, shard = :to where shard = :shard"))
    assert not sets_shard(statement("update queue set lane = 1 where shard = :shard"))


# Shapes that a cluster takes apart wrongly, or not at all (seen on Citus 13.2)


def writes_under_with(one: Statement) -> bool:
    """An INSERT inside a WITH or after one: names in it are not turned into those of the shard."""
    words = tokens(one)
    return "insert" in words and "with" in words[: words.index("insert")] and "ordinality" not in words


def returns_without_alias(one: Statement) -> bool:
    """INSERT ... SELECT ... RETURNING where the table has no name of its own to return from."""
    return any(
        query.verb == "insert"
        and {"select", "returning"} <= {item for item in query.items if isinstance(item, str)}
        and query.word(query.items.index("into") + 2) != "as"
        for query in queries(one)
    )


def compares_parameter_in_case(one: Statement) -> bool:
    """CASE over a parameter: it is folded, and written back wrongly."""
    return any(last == "case" and word.startswith(":") for last, word in pairwise(tokens(one)))


REFUSED: dict[str, Callable[[Statement], bool]] = {
    "insert under with": writes_under_with,
    "returning without an alias": returns_without_alias,
    "case over a parameter": compares_parameter_in_case,
}


def refused_shapes(one: Statement) -> set[str]:
    return {shape for shape, is_there in REFUSED.items() if is_there(one)}


def test_no_statement_has_a_shape_that_a_cluster_refuses() -> None:
    assert {name: shapes for name, one in EVERY.items() if (shapes := refused_shapes(one))} == {}


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("with a as (update queue set x = 1 returning id) insert into jobs (id) select id from a", "insert under with"),
        ("with a as (insert into jobs (id) select 1) select 1", "insert under with"),
        ("insert into jobs (id) select 1 returning id", "returning without an alias"),
        ("insert into jobs (id) select 1 on conflict do nothing returning jobs.id", "returning without an alias"),
        ("select case :channel when 'email' then 1 else 2 end", "case over a parameter"),
    ],
)
def test_a_shape_that_a_cluster_refuses_is_found(text: str, shape: str) -> None:
    assert refused_shapes(statement(text)) == {shape}


@pytest.mark.parametrize(
    "text",
    [
        "insert into jobs as new (id) select 1 returning new.id",
        "insert into jobs (id) values (:id) returning id",
        "insert into jobs (id) select t.id from unnest(:ids) with ordinality as t(id, number)",
        "with a as (delete from queue where id = 1 returning id) select case when :x = 1 then id end from a",
    ],
)
def test_other_shapes_are_left_alone(text: str) -> None:
    assert refused_shapes(statement(text)) == set()


async def test_no_policy_asks_another_table(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    """A cluster refuses a policy with a subquery."""
    asks = "select polname from pg_policy where strpos(concat(polqual, polwithcheck), '{SUBLINK') > 0"
    policies = await sql.fetchval("select count(*) from pg_policy")

    assert policies > 0
    assert await sql.fetch(asks) == []
    await sql.execute("create policy asking on jobs using (exists (select 1 from runs r where r.id = run_id))")
    assert [row["polname"] for row in await sql.fetch(asks)] == ["asking"]


def notifies_beside_a_table(one: Statement) -> bool:
    return "pg_notify" in calls(one) and any(source for query in queries(one) for source in query.sources())


def test_a_notification_is_a_statement_of_its_own() -> None:
    assert [name for name, one in EVERY.items() if notifies_beside_a_table(one)] == []
    assert notifies_beside_a_table(statement("select pg_notify('a', id::text) from queue"))
