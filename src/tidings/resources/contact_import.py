"""Import a file of contacts of any size: its lines are read, checked and stored a few thousand at a time.

While one batch is stored, the next is read. A line with a problem is counted and reported; the others are stored.
Importing the same file again creates nobody twice, because every line is known by its external id, its e-mail address
or its number.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, fields

import msgspec

from tidings.domain.errors import Problem
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.address import NumbersOf
from tidings.domain.people.contact import read_contact
from tidings.domain.people.contact_fields import SPELLINGS, ContactChange
from tidings.domain.people.contact_file import ContactFile, Line
from tidings.kernel.kernel import Kernel
from tidings.kernel.phone_region import numbers_of
from tidings.kernel.process.breaks import Breaks
from tidings.resources.contact_store import foresee, upsert
from tidings.views.contacts import Imported, RejectedLine, UpsertedContact
from tidings.views.problems import ProblemPlace

BATCH = 2_000
BATCH_BYTES = 2_000_000
"""A batch is stored when so much of the file was read, however few lines it has: two are held at a time."""
MOST_REJECTED = 1_000
MOST_PROBLEMS_OF_A_LINE = 5
WHOLE_LINE = "line"
NOBODY = "names nobody: give externalId, email or phone"


@dataclass(slots=True)
class ImportReport:
    """The state of an import so far, with the fields of Imported."""

    lines: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    """Lines about a contact who appears again further down in the same batch; the later line holds."""
    rejected: int = 0
    rejected_by_field: dict[str, int] = field(default_factory=dict)
    rejected_lines: list[RejectedLine] = field(default_factory=list)
    """The first rejected lines; all are counted."""

    def shown(self) -> Imported:
        """Return the report as it is now."""
        return Imported(**{each.name: getattr(self, each.name) for each in fields(self)})


@dataclass(slots=True)
class Import:
    """One import under way: its report so far, and the callback that hears of it. A dry run stores nothing."""

    dry_run: bool = False
    on_progress: Callable[[ImportReport], None] = lambda _: None
    on_rejected: Callable[[RejectedLine], None] = lambda _: None
    report: ImportReport = field(default_factory=ImportReport)
    _numbers: NumbersOf = field(default_factory=lambda: NumbersOf(None))

    async def run(
        self, kernel: Kernel, workspace: Workspace, file: ContactFile, chunks: AsyncIterable[bytes]
    ) -> Imported:
        """Read to the end; what was stored before it is stopped stays stored."""
        self._numbers = await numbers_of(kernel, workspace)
        store = foresee if self.dry_run else upsert
        storing: asyncio.Task[list[UpsertedContact]] | None = None
        try:
            async for batch in self._batches(file, chunks):
                await self._stored(storing)
                storing = asyncio.create_task(store(kernel, workspace, batch))
            await self._stored(storing)
            storing = None
        finally:
            if storing is not None:
                storing.cancel()
        self.on_progress(self.report)
        return msgspec.structs.replace(self.report.shown(), dry_run=self.dry_run)

    async def _stored(self, storing: "asyncio.Task[list[UpsertedContact]] | None") -> None:
        if storing is None:
            return
        stored = await storing
        distinct = {one.id: one.change for one in stored}
        self.report.repeated += len(stored) - len(distinct)
        for change, count in Counter(distinct.values()).items():
            setattr(self.report, change, getattr(self.report, change) + count)

    async def _batches(self, file: ContactFile, chunks: AsyncIterable[bytes]) -> AsyncIterator[list[ContactChange]]:
        """Yield the valid lines, some thousands at a time, and report the others."""
        batch: list[ContactChange] = []
        breaks, size = Breaks(), 0  # a million lines must not keep other requests waiting
        async for chunk in _and_the_end(chunks):
            for line in file.end() if chunk is None else file.feed(chunk):
                await breaks.take_if_due()
                if change := self._read(line):
                    batch.append(change)
                if len(batch) >= BATCH:
                    yield batch
                    batch, size = [], 0
            size += len(chunk or b"")
            if batch and size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
            self.on_progress(self.report)
        if batch:
            yield batch

    def _read(self, line: Line) -> ContactChange | None:
        """Return what a line says about a contact; one that is wrong is reported."""
        self.report.lines += 1
        if line.raw is None:
            self._reject(line.number, [Problem(WHOLE_LINE, line.reason)])
            return None
        with self._numbers:
            change, problems = read_contact(line.raw)
        known_by = change.external_id or (change.email or "").lower() or change.phone
        if problems or not known_by:
            self._reject(line.number, problems or [Problem(WHOLE_LINE, NOBODY)])
            return None
        return change if change.external_id else msgspec.structs.replace(change, external_id=known_by)

    def _reject(self, number: int, problems: Sequence[Problem]) -> None:
        told = [ProblemPlace(place=one.place, message=one.message) for one in problems[:MOST_PROBLEMS_OF_A_LINE]]
        rejected = RejectedLine(line=number, problems=told)
        self.report.rejected += 1
        wrong = _field(problems[0].place)
        self.report.rejected_by_field[wrong] = self.report.rejected_by_field.get(wrong, 0) + 1
        if len(self.report.rejected_lines) < MOST_REJECTED:
            self.report.rejected_lines.append(rejected)
        self.on_rejected(rejected)


def _field(place: str) -> str:
    """Return the field of a problem, from a fixed set, whatever the file calls its columns."""
    name = place.partition(".")[0].partition("[")[0]
    return name if name in SPELLINGS else WHOLE_LINE


async def _and_the_end(chunks: AsyncIterable[bytes]) -> "AsyncIterable[bytes | None]":
    async for chunk in chunks:
        yield chunk
    yield None
