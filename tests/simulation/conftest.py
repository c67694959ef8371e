"""A live database beside the scratch ones, all on the tests' own server."""

from collections.abc import Mapping
from datetime import datetime

import asyncpg
import pytest

from tests.conftest import ManualClock
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.simulation.simulate import SimulationStage
from tidings.views.simulations import Simulation

HOME = Workspace()


@pytest.fixture
def caller() -> Caller:
    return Caller(HOME, "ann")


@pytest.fixture
def stage(server: str) -> SimulationStage:
    return SimulationStage(server=server)


Call = tuple[datetime, str, str, tuple[tuple[str, str], ...]]


async def really_send(engine: Engine, clock: ManualClock, provider: FakeProvider, end: datetime) -> list[Call]:
    """Let a worker look whenever something is due, up to a moment; gives what it sent, and when."""
    sent: list[Call] = []
    while True:
        await engine.work_everything()
        sent += [(clock.time, one.channel, one.recipient, _texts(one.payload)) for one in provider.calls]
        provider.calls.clear()
        due = [one for shard in engine.kernel.every_shard() for one in (await engine.next_due(shard)).items()]
        # Runs look again every half minute; nobody needs to wait for that while there is anything else.
        times = [at for lane, at in due if lane is not Lane.RUNS] or [at for _, at in due]
        if not times or min(times) > end:
            return sorted(sent)
        clock.time = max(clock.time, min(times))


def calls_of(found: Simulation) -> list[Call]:
    """The same of what was simulated."""
    messages = [one for one in found.messages if one.status == "sent"]
    return sorted((one.at, one.channel, one.recipient, _texts(one.payload)) for one in messages)


def _texts(payload: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(payload.items()))


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
