"""What is odd about a worker, as its environment says: a wrong clock, impatience, a newer schema, a deadly row.

Read by app.py alone, before the worker has opened anything.
"""

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tests.chaos import skew
from tidings.kernel.render.renderer import Renderer, RenderJob, Result
from tidings.storage import migrate
from tidings.storage.database import Database
from tidings.storage.migrate import Migration

CLOCK = "CHAOS_CLOCK_SECONDS"
STATEMENT = "CHAOS_STATEMENT_SECONDS"
MIGRATION = "CHAOS_MIGRATION"
POISON = "CHAOS_POISON"


def install(environ: Mapping[str, str]) -> None:
    """Become what the environment asks for."""
    if seconds := environ.get(CLOCK):
        skew.install(float(seconds))
        print(json.dumps({"event": "clock_is_off", "at": time.time()}), flush=True)
    if seconds := environ.get(STATEMENT):
        _shorten_statements(float(seconds))
    if path := environ.get(MIGRATION):
        add_migration(Path(path))
    if word := environ.get(POISON):
        _die_of(word)


def _shorten_statements(seconds: float) -> None:
    """A connection that answers nothing is noticed after thirty seconds; a test has not that long."""
    opening = cast("Any", Database.open).__func__
    opening.__kwdefaults__ = {**opening.__kwdefaults__, "statement_timeout_seconds": seconds}


def add_migration(path: Path) -> None:
    """Be a newer Tidings, which has one migration more."""
    known = migrate.migrations()
    newest = Migration(known[-1].number + 1, path.stem, path.read_text())
    migrate.migrations = lambda: [*known, newest]


def _die_of(word: str) -> None:
    """Have a row that takes its worker down: nobody knows how, but it does so whenever it is worked on."""
    render = Renderer.render

    async def deadly(self: Renderer, batch: Sequence[RenderJob]) -> list[Result]:
        if any(word in str(job.data) for job in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        return await render(self, batch)

    Renderer.render = deadly  # type: ignore[method-assign]
