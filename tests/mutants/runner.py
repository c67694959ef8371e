"""Run the tests of each break on a copy of the tree that has it; the working tree is never touched.

Several copies work side by side. All of them use one PostgreSQL server, started for the purpose.
"""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.leftovers import Run
from tests.mutants.breaks import ROOT, Break

COPIED = ("src", "tests", "docs", "examples", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile")
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*_cache")
LONGEST_SECONDS = 600.0
_TESTS_FAILED = 1
_ALL_PASSED = 0
_NO_END = -1


class Verdict(StrEnum):
    """What became of a break."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Result:
    """A break, what became of it, and the end of what pytest said."""

    broken: Break
    verdict: Verdict
    seconds: float
    said: str


class Copy:
    """A copy of the tree in which one file at a time is broken."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._writes = 0
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=NOT_COPIED)
            else:
                shutil.copy2(source, root / name)

    async def try_break(self, broken: Break) -> Result:
        """Take the guard away, run its tests, and put it back."""
        path, began = self.root / broken.path, time.monotonic()
        whole = path.read_text()
        self._write(path, broken.broken(self.root))
        try:
            code, said = await self.run_tests(broken.tests)
        finally:
            self._write(path, whole)
        verdict = {_TESTS_FAILED: Verdict.CAUGHT, _ALL_PASSED: Verdict.SURVIVED}.get(code, Verdict.NOT_TRIED)
        return Result(broken, verdict, time.monotonic() - began, said)

    async def run_tests(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests of this copy up to the first that fails; those that do not end tell nothing."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", *tests),
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": f"{self.root / 'src'}{os.pathsep}{self.root}"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError:
            return _NO_END, f"no end within {LONGEST_SECONDS:g} s"
        finally:  # also when somebody has had enough
            if process.returncode is None:
                # With its children: one that lives on holds the pipe open, and its end is waited for.
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return process.returncode or 0, "\n".join(output.decode(errors="replace").splitlines()[-12:])

    def _write(self, path: Path, text: str) -> None:
        """Python takes a file for unchanged whose size and second are: each write gets a second of its own."""
        path.write_text(text)
        self._writes += 1
        os.utime(path, (self._writes, self._writes))


@asynccontextmanager
async def copies(count: int) -> AsyncIterator["asyncio.Queue[Copy]"]:
    """So many copies, and a server for all; both are gone afterwards, also when this process is killed."""
    run = Run()
    run.use()
    try:
        with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
            free: asyncio.Queue[Copy] = asyncio.Queue()
            for number in range(count):
                root = Path(directory) / str(number)
                root.mkdir()
                free.put_nowait(await asyncio.to_thread(Copy, root))
            yield free
    finally:
        run.end()


async def try_all(free: "asyncio.Queue[Copy]", breaks: Sequence[Break]) -> AsyncIterator[Result]:
    """Every break, as soon as a copy is free for it; results in the order they come."""

    async def one(broken: Break) -> Result:
        async with _one_of(free) as copy:
            return await copy.try_break(broken)

    for task in asyncio.as_completed([one(broken) for broken in breaks]):
        yield await task


async def fail_anyway(free: "asyncio.Queue[Copy]", breaks: Sequence[Break]) -> AsyncIterator[str | None]:
    """For each set of tests, what they say if they fail without any break: then they would catch anything."""

    async def one(tests: Sequence[str]) -> str | None:
        async with _one_of(free) as copy:
            code, said = await copy.run_tests(tests)
            return said if code else None

    for task in asyncio.as_completed([one(tests) for tests in sorted({broken.tests for broken in breaks})]):
        yield await task


@asynccontextmanager
async def _one_of(free: "asyncio.Queue[Copy]") -> AsyncIterator[Copy]:
    copy = await free.get()
    try:
        yield copy
    finally:
        free.put_nowait(copy)
