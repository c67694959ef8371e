"""A run's items on their way into a file, a few hundred at a time."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO
from uuid import UUID

from tidings.cli.output import json_line
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.resources.run_trace import csv_header, csv_lines
from tidings.resources.runs import TraceFilter


async def run_export(
    engine: Engine, room: Workspace, id: UUID, where: TraceFilter, to: Path | None, *, as_json: bool
) -> None:
    """Write every line to a file, or to standard output."""
    await engine.runs.get(room, id)  # before a file is made
    with ExitStack() as stack:
        out = _open(stack, to)
        out.write("" if as_json else csv_header())
        async for lines in engine.runs.trace(room, id, where):
            out.write("".join(json_line(line) for line in lines) if as_json else csv_lines(lines))


def _open(stack: ExitStack, path: Path | None) -> TextIO:
    if path is None:
        return sys.stdout
    try:
        return stack.enter_context(path.open("w", encoding="utf-8", newline=""))
    except OSError as error:
        raise InputInvalid(f"{path} cannot be written: {error.strerror}") from error
