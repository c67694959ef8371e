"""Arrays travel in our own encoding: it must say what the driver's would, and refuse what is no value of the type."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum, StrEnum
from time import tzset
from typing import Any, TypeAlias
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import asyncpg
import pytest
from asyncpg.pgproto.pgproto import UUID as DriverUUID  # noqa: N811 – what rows hold
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidings.storage.arrays import ARRAY_TYPES
from tidings.storage.database import Database
from tidings.storage.statements import Statement

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
async def db(server: str) -> AsyncIterator[Database]:
    """No table is needed, so no database of the test's own."""
    db = await Database.open(server)
    yield db
    await db.close()


@pytest.fixture
async def sql(server: str) -> AsyncIterator[Sql]:
    """A connection with the driver's own encoding."""
    connection = await asyncpg.connect(server, server_settings={"timezone": "UTC"})
    yield connection
    await connection.close()


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.booleans() | whole(53) | TEXT,
    lambda inner: st.lists(inner | st.none(), max_size=3) | st.dictionaries(TEXT, inner | st.none(), max_size=3),
    max_leaves=6,
)
TIMES = st.datetimes(
    datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.sampled_from([UTC, timezone(timedelta(hours=5))])
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "uuid[]": st.uuids() | st.uuids().map(lambda value: DriverUUID(value.bytes)),
    "text[]": TEXT | st.just(Colour.RED),
    "bytea[]": st.builds(lambda data, kind: kind(data), st.binary(), st.sampled_from([bytes, bytearray, memoryview])),
    "boolean[]": st.booleans(),
    "smallint[]": whole(16) | st.just(Size.LARGE),
    "integer[]": whole(32) | st.just(Size.LARGE),
    "bigint[]": whole(64) | st.just(Size.LARGE),
    "timestamptz[]": TIMES,
    "jsonb[]": JSON | st.just(Colour.RED) | st.just({}),
}


def columns(type_name: str) -> st.SearchStrategy[list[Any]]:
    """Columns of all sizes: mixed, with nulls, and of one value over and over."""
    values = VALUES[type_name]
    return (
        st.lists(values, max_size=8)
        | st.lists(values | st.none(), max_size=8)
        | st.builds(lambda value, times: [value] * times, values | st.none(), st.integers(1, 8))
    )


@pytest.mark.parametrize("one", ARRAY_TYPES, ids=lambda one: one.name)
async def test_every_type_stands_in_the_catalogue_under_its_numbers(sql: Sql, one: Any) -> None:
    row = await sql.fetchrow("select oid, typelem from pg_type where oid = $1::text::regtype", one.name)
    assert row is not None
    assert tuple(row) == (one.oid, one.element_oid)


@pytest.mark.parametrize("type_name", VALUES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_the_server_reads_what_we_write_and_we_read_what_it_writes(
    db: Database, sql: Sql, type_name: str, data: st.DataObject
) -> None:
    column = data.draw(columns(type_name))
    echo = Statement("echo", f"select $1::{type_name} as back, $1::{type_name}::text as seen", ("values",))

    async with db.autocommit() as tx:
        row = await tx.fetch_one(echo, values=column)

    assert row is not None
    assert row["back"] == column
    if type_name != "jsonb[]":  # which the driver alone neither encodes nor can tell from an array of arrays
        assert row["seen"] == await sql.fetchval(f"select $1::{type_name}::text", column)
        assert row["back"] == await sql.fetchval(f"select $1::text::{type_name}", row["seen"])


async def test_values_of_json_keep_their_kind_and_null_is_the_one_of_sql(db: Database) -> None:
    column = [{"a": 1}, {"a": True}, [1, [2]], None, {"a": 1}]
    kinds = Statement("kinds", "select v::text as text from unnest($1::jsonb[]) as t(v)", ("values",))

    async with db.autocommit() as tx:
        rows = await tx.fetch(kinds, values=column)

    assert [row["text"] for row in rows] == ['{"a": 1}', '{"a": true}', "[1, [2]]", None, '{"a": 1}']


async def test_equal_values_of_json_that_begin_and_end_a_column_do_not_stand_for_those_between(db: Database) -> None:
    same: dict[str, object] = {"a": 1}
    kinds = Statement("kinds", "select v::text as text from unnest($1::jsonb[]) as t(v)", ("values",))

    async with db.autocommit() as tx:
        rows = await tx.fetch(kinds, values=[same, {"a": True}, same])

    assert [row["text"] for row in rows] == ['{"a": 1}', '{"a": true}', '{"a": 1}']


@pytest.mark.parametrize("zone", [ZoneInfo("Europe/Berlin"), None])
async def test_the_hour_that_comes_twice_is_not_taken_for_its_first_time(
    db: Database, zone: ZoneInfo | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")  # for the one without a zone
    tzset()
    first = datetime(2026, 10, 25, 2, 30, tzinfo=zone)
    echo = Statement("echo", "select $1::timestamptz[] as back", ("values",))

    async with db.autocommit() as tx:
        row = await tx.fetch_one(echo, values=[first, first.replace(fold=1), first])

    assert row is not None
    assert [time.hour for time in row["back"]] == [0, 1, 0]
    monkeypatch.undo()
    tzset()


@pytest.mark.parametrize("make", [tuple, dict.fromkeys, lambda values: dict.fromkeys(values).values()])
async def test_other_collections_are_columns_too_but_a_mapping_is_none(
    db: Database, make: Callable[[list[str]], Any]
) -> None:
    values = make(["a", "b"])
    count = Statement("count", "select cardinality($1::text[]) as many", ("values",))

    async with db.autocommit() as tx:
        if isinstance(values, dict):
            with pytest.raises(asyncpg.DataError, match="not dict"):
                await tx.fetch_one(count, values=values)
        else:
            row = await tx.fetch_one(count, values=values)
            assert row is not None
            assert row["many"] == 2


@pytest.mark.parametrize(
    ("type_name", "column"),
    [
        ("uuid[]", [uuid4(), 7]),
        ("uuid[]", [[uuid4()]]),
        ("text[]", ["a", 1]),
        ("text[]", [b"a"]),
        ("text[]", [1, 1]),
        ("text[]", ["\ud800"]),
        ("text[]", "ab"),
        ("text[]", 1),
        ("bytea[]", ["a"]),
        ("bytea[]", [5]),
        ("boolean[]", [True, 1, False]),
        ("boolean[]", ["true"]),
        ("smallint[]", [2**15]),
        ("smallint[]", [None, "1"]),
        ("integer[]", [2**31, 1]),
        ("bigint[]", [2**63]),
        ("bigint[]", [1.0]),
        ("timestamptz[]", ["2026-01-01"]),
        ("timestamptz[]", [1]),
        ("jsonb[]", [object()]),
    ],
)
async def test_a_wrong_value_is_refused_and_the_connection_works_on(
    db: Database, type_name: str, column: object
) -> None:
    echo = Statement("echo", f"select $1::{type_name} as back", ("values",))

    async with db.autocommit() as tx:
        with pytest.raises(asyncpg.DataError):
            await tx.fetch_one(echo, values=column)
        row = await tx.fetch_one(echo, values=[None])

    assert row is not None
    assert row["back"] == [None]


async def test_a_time_without_a_zone_is_the_same_in_a_column_and_alone(db: Database) -> None:
    local = datetime(2026, 7, 1, 12)
    both = Statement("both", "select $1::timestamptz[] = array[$2::timestamptz] as same", ("column", "alone"))

    async with db.autocommit() as tx:
        row = await tx.fetch_one(both, column=[local], alone=local)

    assert row is not None
    assert row["same"]


async def test_an_array_of_arrays_is_not_read_as_a_flat_one(db: Database) -> None:
    nested = Statement("nested", "select array[[1, 2], [3, 4]] as numbers", ())

    async with db.autocommit() as tx:
        with pytest.raises(ValueError, match=r"integer\[\] of 2 dimensions"):
            await tx.fetch_one(nested)


async def test_ids_are_read_as_ids_and_times_in_utc(db: Database) -> None:
    both = Statement(
        "both",
        "select array['0198c0de-0000-7000-8000-000000000001'::uuid] as ids, "
        "array[timestamptz '2026-01-02 03:04+01'] as times",
        (),
    )

    async with db.autocommit() as tx:
        row = await tx.fetch_one(both)

    assert row is not None
    assert row["ids"] == [UUID("0198c0de-0000-7000-8000-000000000001")]
    assert row["times"] == [datetime(2026, 1, 2, 2, 4, tzinfo=UTC)]
    assert row["times"][0].tzinfo is UTC
