"""Real worker processes, warmed up and frozen, so that neither their start nor the storing of work is measured."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.database import Fresh
from bench.proc import family
from bench.settings import BATCH, RESULTS, ROOT

LEAVE_SECONDS = 20
WARM_UP_ROUNDS = 10
WARM_UP_ITEMS = 40


async def python(
    arguments: Sequence[str], environ: Mapping[str, str], *, talks: bool = False, cwd: Path = ROOT
) -> Process:
    """Start Python in the directory of this tree, or of another; one that `talks` is spoken to by lines."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "workers.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            env=os.environ | dict(environ),
            cwd=cwd,
            stdin=PIPE if talks else None,
            stdout=PIPE if talks else log,
            stderr=log,
        )


class Workers:
    """So many `tidings worker` on one database, drained at the end."""

    def __init__(
        self, fresh: Fresh, processes: int, *, app: str = "bench.app:app", environ: Mapping[str, str] | None = None
    ) -> None:
        self._fresh = fresh
        self._count = processes
        self._arguments = ["-m", "tidings", "worker", "--batch", str(BATCH)]
        self._environ = {"DATABASE_URL": fresh.app_dsn, "TIDINGS_LOG_FORMAT": "json"} | dict(environ or {})
        if fresh.smtp_url:
            self._environ["TIDINGS_SMTP_URL"] = fresh.smtp_url
        else:
            self._arguments += ["--app", app]
        self._processes: list[Process] = []

    async def __aenter__(self) -> "Workers":
        self._processes = [await python(self._arguments, self._environ) for _ in range(self._count)]
        try:
            await self._warm_up()
        except BaseException:
            await self._leave()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leave()

    @property
    def pids(self) -> list[int]:
        """The workers themselves, without the children they render in."""
        return [process.pid for process in self._processes]

    def freeze(self) -> None:
        """Stop them where they are; they must be idle."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on: what they find is due."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End them at once: what they have under way is of no interest."""
        for process in self._processes:
            if process.returncode is None:
                process.kill()

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            if process.returncode is not None:
                raise RuntimeError(f"a worker ended with {process.returncode}; see bench/results/workers.log")
            process.send_signal(number)

    async def _warm_up(self) -> None:
        """Send a little until each worker has rendered something, or has had every chance to."""
        for number in range(WARM_UP_ROUNDS):
            await self._fresh.trigger("one", f"warm-{self.pids[0]}-{number}", range(WARM_UP_ITEMS))
            await self._fresh.until_done()
            if all(len(family([pid])) > 1 for pid in self.pids):
                return

    async def _leave(self) -> None:
        for process in self._processes:
            if process.returncode is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        await asyncio.gather(*(_end(process) for process in self._processes))


async def _end(process: Process) -> None:
    try:
        async with asyncio.timeout(LEAVE_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
