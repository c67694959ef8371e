"""A round as the soak sees it: a child process that tells how far it is, and is gone in the end whatever happens."""

import asyncio
import json
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.chaos.arena import REPOSITORY
from tests.chaos.plan import Report, Task

GRACE_SECONDS = 90.0
"""How long a round has to clear up after its own time, or after it was told to stop."""
LONGEST_LINE = 10_000_000
LOG_SHOWN = 2_000


class RoundProcess:
    """One round under way."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.progress: Mapping[str, int] = {"kills": 0, "restarts": 0, "sends": 0}
        self._process: Process | None = None
        self._told_to_stop = False

    async def run(self) -> Report | None:
        """Run it to its end; None if it was told to stop before."""
        log = Path(self.task.directory) / "round.log"
        with log.open("wb") as file:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.chaos.rounds", json.dumps(self.task.to_json())),
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=PIPE,
                stderr=file,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for the soak alone, which tells its rounds
            )
        report = None
        try:
            async with asyncio.timeout(self.task.plan.minutes * 60 + GRACE_SECONDS):
                report = await self._listen(process)
        except TimeoutError:
            report = None
        finally:
            await _end(process)
        if report is None and not self._told_to_stop:
            problem = f"it ended with {process.returncode}: {log.read_text(errors='replace')[-LOG_SHOWN:]}"
            return Report(self.task.number, violations=[problem])
        return report

    def stop(self) -> None:
        """Have it clear up and go."""
        self._told_to_stop = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()

    async def _listen(self, process: Process) -> Report | None:
        if process.stdout is None:
            raise AssertionError("a round has a pipe")
        report = None
        async for line in process.stdout:
            said = json.loads(line)
            self.progress = said.get("progress", self.progress)
            report = Report.from_json(said["report"]) if "report" in said else report
        await process.wait()
        return report


async def _end(process: Process) -> None:
    for signalling in (process.terminate, process.kill):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            signalling()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await process.wait()
