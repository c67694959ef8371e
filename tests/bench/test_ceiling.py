"""The ceiling is one only if it writes what the kernel writes: the same rows in every table, whatever their ids."""

import json
import re
from collections import Counter
from contextlib import AsyncExitStack
from datetime import datetime
from uuid import UUID

import pytest

from bench import raw
from bench.database import Fresh
from bench.raw_campaign import deploy_and_send
from bench.raw_contacts import deploy_to_contacts_and_send
from bench.raw_wave import move_enrollments
from bench.settings import JOB
from bench.starting import FUNCTION, MANY, ONE, QUIET_FUNCTION, RAW_MANY, RAW_ONE, Way, open_scene
from bench.throughput import CAMPAIGN, CONTACTS, EXECUTIONS, THREE_STEP, WAVE, Workload
from tests.databases import TEMPLATE

TABLES = ("queue", "executions", "outbox", "attempts", "runs", "run_parts", "jobs", "execution_log")
"""Not the audit: whether a run is seen running depends on when it is rolled up."""
JSON = {"frontier", "input", "vars", "payload", "content", "saw", "output"}
DIFFERENT = {"marked_fence", "provider_message_id", "idempotency_key"}
PEOPLE = 4 * JOB + 100
"""More than a job in some shard."""


RANDOM = ("runs", "shard")  # follows from the run's id
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def new(server: str) -> Fresh:
    return Fresh(server, template=TEMPLATE, allow_unsafe=True)


def shape(value: object) -> object:
    """A value without what differs from run to run: ids, times, and texts inside JSON."""
    if isinstance(value, dict):
        return tuple(sorted((ID.sub("id", key), shape(inner)) for key, inner in value.items()))
    if isinstance(value, list):
        return tuple(map(shape, value))
    return type(value).__name__ if isinstance(value, str | datetime | UUID | bytes) else value


def column(name: str, value: object) -> object:
    if name in DIFFERENT:
        return value is not None
    if name in JSON and isinstance(value, str):
        return shape(json.loads(value))
    return ID.sub("id", value) if isinstance(value, str) else shape(value)


async def written(fresh: Fresh) -> dict[str, Counter[object]]:
    return {
        table: Counter(
            tuple((name, column(name, value)) for name, value in row.items() if (table, name) != RANDOM)
            for row in await fresh.sql.fetch(f"select * from {table}")
        )
        for table in TABLES
    }


async def at_once() -> None: ...


@pytest.mark.parametrize(
    ("workload", "size", "work"),
    [
        (EXECUTIONS, 30, raw.move_executions),
        (THREE_STEP, 90, raw.move_executions),
        (CAMPAIGN, PEOPLE, deploy_and_send),
        (CONTACTS, PEOPLE, deploy_to_contacts_and_send),
        (WAVE, 30, move_enrollments),
    ],
    ids=lambda value: str(getattr(value, "name", "")),
)
async def test_the_ceiling_writes_the_rows_of_the_kernel(
    server: str, workload: Workload, size: int, work: raw.Work
) -> None:
    async with new(server) as kernel, new(server) as ceiling:
        for fresh in (kernel, ceiling):
            assert await workload.store(fresh, size, "k", lambda _: None) == size

        await kernel.engine.work_everything()
        await raw.run(ceiling.dsn, work, 0, at_once)

        by_kernel, by_ceiling = await written(kernel), await written(ceiling)
        for table in TABLES:
            assert by_ceiling[table] == by_kernel[table], table
        assert sum(by_kernel["outbox"].values()) == size


@pytest.mark.parametrize("way", [RAW_MANY, RAW_ONE, ONE, FUNCTION, QUIET_FUNCTION], ids=lambda way: str(way.title))
async def test_every_way_of_starting_work_writes_the_same_rows(server: str, way: Way) -> None:
    async with AsyncExitStack() as stack:
        kernel, other = [await open_scene(stack, new(server), one) for one in (MANY, way)]

        await MANY.start(kernel, 40, lambda _: None)
        await way.start(other, 40, lambda _: None)

        by_kernel, by_other = await written(kernel.fresh), await written(other.fresh)
        for table in ("queue", "executions"):
            assert sum(by_kernel[table].values()) == 40
            assert without(by_other[table]) == without(by_kernel[table]), table


def without(rows: "Counter[object]") -> "Counter[object]":
    """Rows without what the key decides, and without who started them."""
    own = {"shard", "triggered_by"}
    found: Counter[object] = Counter()
    for row, number in rows.items():
        assert isinstance(row, tuple)
        found[tuple(column for column in row if column[0] not in own)] += number
    return found
