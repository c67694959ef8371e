"""Ids of our own making are of the kind that the driver gives."""

from uuid import UUID

import asyncpg
from hypothesis import given
from hypothesis import strategies as st

from tidings.storage.uuids import driver_uuid

bits = st.integers(0, 2**128 - 1)


@given(bits, bits)
def test_they_are_ids_like_any_other(one: int, other: int) -> None:
    made, plain = driver_uuid(one), UUID(int=one)

    assert isinstance(made, UUID)
    assert (made, hash(made), str(made), made.int) == (plain, hash(plain), str(plain), plain.int)
    assert (made < driver_uuid(other)) == (one < other)


async def test_they_are_what_a_statement_gives(server: str) -> None:
    connection = await asyncpg.connect(server)
    made = driver_uuid(1 << 127 | 1)

    stored = await connection.fetchval("select $1::uuid", made)
    await connection.close()

    assert stored == made
    assert type(stored) is type(made)
