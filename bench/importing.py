"""Importing contacts: a file's rows a second, beside COPY of the same rows into the same table.

COPY reads nothing of what it is given and fails at the first row that is there already: it is what PostgreSQL can take.
"""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from bench.bench import Bench
from bench.database import Fresh, Tell
from bench.meter import Meter
from bench.report import Result
from bench.settings import SHARDS
from tidings.domain.caller import Caller
from tidings.domain.contact_file import ContactFile, FileFormat
from tidings.domain.ids import Workspace, make_id, shard_of
from tidings.products.contacts import ImportReport

Work = Callable[[], Awaitable[None]]
WORKSPACE = Workspace()
HEADER = b"externalId,name,email,phone,company,timeZone,Plan\n"
PIECE_ROWS = 1_000
COLUMNS = [
    *("shard", "id", "tenant_id", "workspace_id", "external_id", "name", "email", "phone", "company", "time_zone"),
    *("attributes", "created_at", "updated_at"),
]


def line(number: int) -> bytes:
    return (
        f"crm-{number},Person {number},p{number}@Example.com,+44 20 {7_000_0000 + number:08d},Company {number % 1000},"
        f"Europe/London,pro\n"
    ).encode()


def rows(count: int) -> Iterator[tuple[object, ...]]:
    """The rows that the import makes of the same lines."""
    at = datetime.now(UTC)
    for number in range(count):
        external_id = f"crm-{number}"
        id: UUID = make_id(WORKSPACE.bucket_of(external_id), at, number)
        yield (
            *(shard_of(id, SHARDS), id, WORKSPACE.tenant, WORKSPACE.name, external_id, f"Person {number}"),
            *(f"p{number}@example.com", f"+4420{7_000_0000 + number:08d}", f"Company {number % 1000}", "Europe/London"),
            *('{"Plan": "pro"}', at, at),
        )


async def pieces(count: int, tell: Tell) -> AsyncIterator[bytes]:
    yield HEADER
    for first in range(0, count, PIECE_ROWS):
        yield b"".join(line(number) for number in range(first, min(first + PIECE_ROWS, count)))
        tell(first)


async def measure_importing(bench: Bench) -> AsyncIterator[Result]:
    """COPY first, then the import of the same people, then the same file again."""
    count = bench.settings.items * 4
    async with Fresh(bench.dsn) as fresh:
        prepared = [*rows(count)]  # made before the clock starts
        copied = await _measured(bench, fresh, "COPY of contacts", count, partial(_copy, fresh, prepared), None)
        yield copied
        await fresh.sql.execute("truncate contacts, contact_tags")
        for what in ("import of a CSV file", "the same file again, nothing new"):
            tell = bench.step(what, count)
            yield await _measured(bench, fresh, what, count, partial(_import, fresh, count, tell), copied.rate)


async def _measured(bench: Bench, fresh: Fresh, what: str, count: int, work: Work, ceiling: float | None) -> Result:
    await fresh.settle()
    meter = Meter(fresh.sql, bench.postmaster, [os.getpid()])
    before, began = await meter.read(), time.monotonic()
    await work()
    seconds = time.monotonic() - began
    cost = await meter.read() - before
    stored = await fresh.sql.fetchval("select count(*) from contacts")
    if stored != count:
        raise AssertionError(f"{count} contacts should have been stored, not {stored}")
    of_ceiling = 1.0 if ceiling is None else count / seconds / ceiling
    return Result("importing", what, 1, count, seconds, of_ceiling, **cost.for_each(count))


async def _copy(fresh: Fresh, prepared: list[tuple[object, ...]]) -> None:
    await fresh.sql.copy_records_to_table("contacts", records=prepared, columns=COLUMNS, schema_name="tidings")


async def _import(fresh: Fresh, count: int, tell: Tell) -> None:
    file = ContactFile(FileFormat.CSV)
    report: ImportReport = await fresh.engine.contacts.import_file(
        Caller(WORKSPACE, "bench"), file, pieces(count, tell)
    )
    if report.rejected or report.created + report.unchanged != count:
        raise AssertionError(f"every line should have been stored: {report.counts()}")
