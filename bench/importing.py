"""Importing contacts: a file's rows a second, beside COPY of the same rows into the same table.

COPY reads nothing of what it is given and fails at the first row that is there already: it is what PostgreSQL can take.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from bench.bench import Bench
from bench.contacts import BY, COLUMNS, line, write_rows
from bench.database import Fresh, Tell
from bench.report import Result
from bench.timed import Timed
from tidings.domain.people.contact_file import ContactFile, FileFormat
from tidings.views.contacts import Imported

HEADER = b"externalId,name,email,phone,company,timeZone,Plan\n"
PIECE_ROWS = 1_000


async def measure_importing(bench: Bench) -> AsyncIterator[Result]:
    """COPY first, then the import of the same people, then the same file again."""
    count = bench.settings.people
    async with Fresh(bench.dsn) as fresh:
        timed = Timed(bench, fresh, "importing", "select count(*) from contacts")
        with tempfile.TemporaryDirectory(prefix="tidings-bench-") as directory:
            prepared = Path(directory) / "contacts"
            bench.step(f"writing {count:,} rows for COPY", None)
            await asyncio.to_thread(write_rows, prepared, count)
            bench.step("COPY of contacts", None)
            copied = await timed.measure("COPY of contacts", count, partial(_copy, fresh, prepared))
        yield copied
        await fresh.sql.execute("truncate contacts, contact_tags")
        for what in ("import of a CSV file", "the same file again, nothing new"):
            tell = bench.step(what, count)
            yield await timed.measure(what, count, partial(_import, fresh, count, tell), copied.rate)


async def pieces(count: int, tell: Tell) -> AsyncIterator[bytes]:
    yield HEADER
    for first in range(0, count, PIECE_ROWS):
        yield b"".join(line(number) for number in range(first, min(first + PIECE_ROWS, count)))
        tell(first)


async def _copy(fresh: Fresh, prepared: Path) -> None:
    await fresh.sql.copy_to_table("contacts", source=prepared, columns=COLUMNS, schema_name="tidings")


async def _import(fresh: Fresh, count: int, tell: Tell) -> None:
    file = ContactFile(FileFormat.CSV)
    report: Imported = await fresh.engine.contacts.import_file(BY, file, pieces(count, tell))
    if report.rejected or report.created + report.unchanged != count:
        raise AssertionError(f"every line should have been stored: {report.counts()}")
