"""A live database beside the scratch ones, all on the tests' own server."""

import asyncpg
import pytest

from tidings.domain.caller import Caller
from tidings.domain.ids import Workspace
from tidings.simulation.simulate import Stage

HOME = Workspace()


@pytest.fixture
def caller() -> Caller:
    return Caller(HOME, "ann")


@pytest.fixture
def stage(server: str) -> Stage:
    return Stage(server=server)


async def state_of(sql: "asyncpg.Connection[asyncpg.Record]") -> dict[str, tuple[int, str]]:
    """How many rows each table has, and a checksum of all of them."""
    tables = await sql.fetch("select tablename from pg_tables where schemaname = 'tidings' order by 1")
    found = {}
    for (name,) in tables:
        row = await sql.fetchrow(
            f"select count(*) as rows, md5(coalesce(string_agg(t::text, '' order by t::text), '')) as sum from {name} t"
        )
        assert row is not None
        found[name] = (row["rows"], row["sum"])
    return found
