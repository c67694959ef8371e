"""What was seen: one result for each row, all of them in one table and one JSON file."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.settings import BATCH, JOB, RESULTS, ROOT, SHARDS, Settings


@dataclass(frozen=True, slots=True)
class Result:
    """One row: what every measurement has, `seen` for what only its own has, and `note` to show of that."""

    measurement: str
    what: str
    processes: int | None = None
    items: int | None = None
    seconds: float | None = None
    of_ceiling: float | None = None
    python_us: float | None = None
    postgres_us: float | None = None
    wal_bytes: float | None = None
    note: str = ""
    seen: Mapping[str, object] = field(default_factory=dict)

    @property
    def rate(self) -> float | None:
        """Items a second."""
        return self.items / self.seconds if self.items and self.seconds else None


class Report:
    """The results so far; written anew after each, so that a crash loses none."""

    def __init__(self, settings: Settings, postgres: str) -> None:
        self.results: list[Result] = []
        self._path = RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
        self._head = {
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "postgres": postgres,
            "batch": BATCH,
            "job": JOB,
            "shards": SHARDS,
            "settings": asdict(settings),
        }

    @property
    def path(self) -> Path:
        """Where it is, as seen from the project."""
        return self._path.relative_to(ROOT)

    def add(self, result: Result) -> None:
        """Keep one more, at once."""
        self.results.append(result)
        rows = [asdict(one) | {"rate": one.rate} for one in self.results]
        draft = self._path.with_suffix(".draft")
        draft.write_text(json.dumps(self._head | {"results": rows}, indent=2))
        draft.rename(self._path)

    def show(self, console: Console) -> None:
        """Print the table."""
        console.print(_table(self.results))
        console.print(f"written to {self.path}")


_COLUMNS = ("what", "proc.", "items/s", "of ceiling", "Python µs/item", "PostgreSQL µs/item", "WAL B/item", "also seen")


def _table(results: Sequence[Result]) -> Table:
    table = Table(title=f"batches of {BATCH}, {SHARDS} shards, fsync on", title_justify="left")
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in {"what", "also seen"} else "right")
    last = ""
    for result in results:
        if last and result.measurement != last:
            table.add_section()
        last = result.measurement
        table.add_row(*_cells(result))
    return table


def _cells(result: Result) -> list[str]:
    numbers = (result.rate, result.python_us, result.postgres_us, result.wal_bytes)
    rate, python, postgres, wal = ("" if number is None else f"{number:,.0f}" for number in numbers)
    share = "" if result.of_ceiling is None else f"{result.of_ceiling:.0%}"
    return [result.what, str(result.processes or ""), rate, share, python, postgres, wal, escape(result.note)]
