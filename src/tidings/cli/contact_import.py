"""The import of a file as a person watches it: a bar, the counts, and what is wrong with which line."""

import csv
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from tidings.cli.output import print_line, print_table
from tidings.cli.screen import errors
from tidings.domain.caller import Caller
from tidings.domain.errors import InputInvalid
from tidings.domain.people.contact_file import Columns, ContactFile, FileFormat, read_columns
from tidings.engine import Engine
from tidings.resources.contacts import Import, ImportReport
from tidings.views.contacts import Imported, RejectedLine

PIECE = 65_536
MOST_PRINTED = 20
_NDJSON = (".ndjson", ".jsonl")


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """The result of an import: its lines and columns, and the file that lists rejected lines."""

    report: Imported
    columns: Columns
    written: Path | None


async def run_import(
    engine: Engine,
    caller: Caller,
    path: Path,
    columns: Sequence[str],
    ndjson: bool,
    rejected: Path | None,
    *,
    dry_run: bool = False,
) -> ImportedFile:
    """Import a file, show progress and write down rejected lines; return also what its columns became."""
    kind = FileFormat.NDJSON if ndjson or path.suffix.lower() in _NDJSON else FileFormat.CSV
    file = ContactFile(kind, read_columns(columns))
    with ExitStack() as stack:
        source, size = _open(stack, path)
        watcher = Import(dry_run=dry_run)
        if rejected:
            watcher.on_rejected = _writer(stack, rejected)
        progress = stack.enter_context(_progress())
        task = progress.add_task("reading", total=size)

        async def pieces() -> AsyncIterator[bytes]:
            while piece := source.read(PIECE):
                yield piece
                progress.update(task, advance=len(piece), description=_words(watcher.report))

        report = await engine.contacts.import_file(caller, file, pieces(), watcher)
    return ImportedFile(report, file.fields, rejected)


def _open(stack: ExitStack, path: Path) -> tuple[BinaryIO, int | None]:
    if str(path) == "-":
        return sys.stdin.buffer, None
    try:
        return stack.enter_context(path.open("rb")), path.stat().st_size
    except OSError as error:
        raise InputInvalid(f"{path} cannot be read: {error.strerror}") from error


def _writer(stack: ExitStack, path: Path) -> "_Rejections":
    try:
        return _Rejections(stack.enter_context(path.open("w", encoding="utf-8", newline="")))
    except OSError as error:
        raise InputInvalid(f"{path} cannot be written: {error.strerror}") from error


class _Rejections:
    """Writes a row for each problem."""

    def __init__(self, file: TextIO) -> None:
        self._writer = csv.writer(file)
        self._writer.writerow(["line", "field", "reason"])

    def __call__(self, rejected: RejectedLine) -> None:
        self._writer.writerows([rejected.line, one.place, one.message] for one in rejected.problems)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)


def _words(report: ImportReport) -> str:
    return f"{report.lines:,} lines, {report.rejected:,} rejected"


def print_report(imported: ImportedFile) -> None:
    """Say what became of the lines, and what is wrong with the first of those that were rejected."""
    report = imported.report
    counts = ", ".join(f"{count:,} {name}" for name, count in report.counts().items() if count or name == "created")
    words = f"nothing is stored; it would be: {counts}" if report.dry_run else counts
    print_line(words, style="red" if report.rejected else "green")
    own = [f"{column} → {field}" for column, field in imported.columns.items() if field.startswith("attributes.")]
    if own:
        print_line(f"attributes: {', '.join(own)}")
    rows = [
        {"line": one.line, "field": problem.place, "reason": problem.message}
        for one in report.rejected_lines[:MOST_PRINTED]
        for problem in one.problems
    ]
    if rows:
        print_table("rejected", rows, empty="")
    if report.rejected > MOST_PRINTED:
        where = f"all are in {imported.written}" if imported.written else "--rejected FILE writes all of them"
        print_line(f"… and {report.rejected - MOST_PRINTED:,} more; {where}")
