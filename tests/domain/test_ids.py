"""Ids carry their bucket, and Python and SQL agree on it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import (
    BUCKETS,
    Bucket,
    Shard,
    Workspace,
    bucket_of,
    bucket_of_id,
    length_prefixed,
    make_id,
    part_bucket,
    shard_of,
    tenant_part,
)
from tidings.storage.migrate import SHARD_CHOICES

VECTORS: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "vectors.json").read_text())

buckets = st.integers(0, BUCKETS - 1).map(Bucket)
times = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
randomness = st.integers(0, 2**80)
parts = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=4)


@given(buckets, times, randomness)
def test_an_id_gives_back_its_bucket_and_is_a_version_7_uuid(bucket: Bucket, at: datetime, random_bits: int) -> None:
    id = make_id(bucket, at, random_bits)

    assert bucket_of_id(id) == bucket
    assert id.version == 7
    assert id.variant == "specified in RFC 4122"


@given(buckets, buckets, times, st.timedeltas(timedelta(milliseconds=2), timedelta(days=9999)), randomness, randomness)
def test_a_later_id_sorts_after_an_earlier_one_whatever_its_bucket(
    first: Bucket, second: Bucket, at: datetime, gap: timedelta, low: int, high: int
) -> None:
    assert make_id(first, at, low) < make_id(second, at + gap, high)


@given(buckets, times, randomness)
def test_an_id_says_when_it_was_made(bucket: Bucket, at: datetime, random_bits: int) -> None:
    milliseconds = make_id(bucket, at, random_bits).int >> 80

    assert abs(milliseconds - at.timestamp() * 1000) < 2


@given(buckets, times, times, randomness, randomness)
def test_ids_of_one_bucket_share_a_shard_however_many_shards_there_are(
    bucket: Bucket, first: datetime, second: datetime, low: int, high: int
) -> None:
    one, other = make_id(bucket, first, low), make_id(bucket, second, high)

    assert [shard_of(one, count) for count in SHARD_CHOICES] == [shard_of(other, count) for count in SHARD_CHOICES]
    assert all(0 <= shard_of(one, count) < count for count in SHARD_CHOICES)


@given(times, randomness, buckets, st.sampled_from(SHARD_CHOICES), st.data())
def test_a_part_of_a_run_lives_in_its_shard_and_stays_together_when_shards_double(
    at: datetime, random_bits: int, bucket: Bucket, shards: int, data: st.DataObject
) -> None:
    run = make_id(bucket, at, random_bits)
    shard = Shard(data.draw(st.integers(0, shards - 1)))

    part = part_bucket(run, shard, shards)
    job, item = make_id(part, at, 1), make_id(part, at, 2)

    assert 0 <= part < BUCKETS
    assert shard_of(job, shards) == shard
    assert all(shard_of(job, count) == shard_of(item, count) for count in SHARD_CHOICES)


@given(times, randomness, st.sampled_from(SHARD_CHOICES))
def test_the_parts_of_a_run_have_a_bucket_each(at: datetime, random_bits: int, shards: int) -> None:
    run = make_id(Bucket(random_bits % BUCKETS), at, random_bits)

    assert len({part_bucket(run, Shard(shard), shards) for shard in range(shards)}) == shards


@given(parts, parts)
def test_length_prefixes_tell_any_two_lists_apart(one: list[str | None], other: list[str | None]) -> None:
    as_stored = [[part or "" for part in each] for each in (one, other)]

    same = length_prefixed(tuple(one)) == length_prefixed(tuple(other))

    assert same == (as_stored[0] == as_stored[1])


def test_buckets_spread_evenly() -> None:
    counts = [0] * 16
    for number in range(16_000):
        counts[bucket_of("tenant", "workspace", f"contact-{number}") % 16] += 1

    assert min(counts) > 850
    assert max(counts) < 1150


# Shared vectors: made once, never to change, since every stored id and shard follows from them.


@pytest.mark.parametrize("vector", VECTORS["buckets"], ids=lambda vector: str(vector["bucket"]))
def test_python_computes_the_bucket_of_the_vector(vector: dict[str, Any]) -> None:
    tenant, workspace, unique = vector["tenant"], vector["workspace"], vector["unique"] * vector.get("repeat", 1)

    assert bucket_of(tenant, workspace, unique) == vector["bucket"]
    if tenant and workspace:
        assert Workspace(tenant, workspace).bucket_of(unique) == vector["bucket"]


@pytest.mark.parametrize("name", ["", "x" * 201, "é" * 101, "a\x00", "\ud800"])
def test_a_name_that_no_index_could_hold_is_no_workspace(name: str) -> None:
    with pytest.raises(InputInvalid, match="tenant"):
        Workspace(name, "main")
    with pytest.raises(InputInvalid, match="workspace"):
        Workspace("acme", name)


def test_python_counts_a_missing_part_as_empty() -> None:
    assert length_prefixed(("a", None, "b")) == length_prefixed(("a", "", "b"))


@pytest.mark.parametrize("vector", VECTORS["ids"], ids=lambda vector: str(vector["id"]))
def test_python_computes_the_shards_of_the_vector(vector: dict[str, Any]) -> None:
    id = UUID(vector["id"])

    assert bucket_of_id(id) == vector["bucket"]
    assert {str(count): shard_of(id, count) for count in (1, 4, 256, 4096)} == vector["shards"]


@pytest.mark.parametrize(
    "vector", VECTORS["workspaces"], ids=lambda vector: f"{vector['tenant']}/{vector['workspace']}"
)
def test_python_computes_the_hash_of_the_vector(vector: dict[str, Any]) -> None:
    assert Workspace(vector["tenant"], vector["workspace"]).hash == vector["hash"]


def test_workspaces_of_a_tenant_share_the_first_half_of_their_hashes_and_no_others_do() -> None:
    of_tenants = {(vector["tenant"], tenant_part(vector["hash"])) for vector in VECTORS["workspaces"]}

    assert len({tenant for tenant, _ in of_tenants}) == len(of_tenants) == len({part for _, part in of_tenants})


async def test_sql_computes_what_the_vectors_say(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    for vector in VECTORS["buckets"]:
        unique = vector["unique"] * vector.get("repeat", 1)
        bucket = await sql.fetchval("select bucket_of($1, $2, $3)", vector["tenant"], vector["workspace"], unique)
        assert bucket == vector["bucket"], vector
    for vector in VECTORS["workspaces"]:
        found = await sql.fetchval("select workspace_hash($1, $2)", vector["tenant"], vector["workspace"])
        assert found == vector["hash"], vector
    for vector in VECTORS["ids"]:
        row = await sql.fetchrow("select bucket_of_id($1), shard_of($1), shard_count()", UUID(vector["id"]))
        assert row is not None
        assert row[0] == vector["bucket"]
        assert row[1] == vector["shards"]["4"] == row[0] % row[2]


async def test_sql_counts_a_missing_part_as_empty(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    assert await sql.fetchval("select bucket_of('a', null, 'b') = bucket_of('a', '', 'b')")
    assert await sql.fetchval("select bucket_of(null, null, null)") == bucket_of("", "", "")


async def test_the_vectors_can_tell_a_wrong_function(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Counting characters instead of bytes is the mistake that only some names show."""
    wrong = """
        select (get_byte(digest, 0) << 4) | (get_byte(digest, 1) >> 4)
          from (select sha256(string_agg(int4send(length(part)) || convert_to(part, 'UTF8'), ''::bytea order by place))
                  from unnest(array[$1::text, $2::text, $3::text]) with ordinality as t(part, place)) as d(digest)
    """
    answers = [
        await sql.fetchval(wrong, vector["tenant"], vector["workspace"], vector["unique"] * vector.get("repeat", 1))
        == vector["bucket"]
        for vector in VECTORS["buckets"]
    ]

    assert any(answers)
    assert not all(answers)
