"""Programs of the benchmark that run as processes of their own, spoken to by lines.

Each says `ready`, waits for a line, works, says `done`, and waits for a line before it ends, so that what it has used
can be read while it is still there.
"""

import asyncio
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence

from bench.workers import python

LONGEST_SECONDS = 900


class Programs:
    """So many of one program, ready to begin; those that are left at the end are killed."""

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str], processes: int) -> None:
        self._arguments, self._environ, self._count = arguments, environ, processes
        self._children: list[Process] = []

    @property
    def pids(self) -> list[int]:
        """Their processes."""
        return [child.pid for child in self._children]

    async def __aenter__(self) -> "Programs":
        try:
            for number in range(self._count):
                arguments = ["-m", *self._arguments, str(number)]
                self._children.append(await python(arguments, self._environ, talks=True))
            await self._hear("ready")
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    async def work(self) -> None:
        """Let all of them begin, and wait until the last is done."""
        self._speak()
        await self._hear("done")

    async def _end(self) -> None:
        self._speak()
        for child in self._children:
            try:
                async with asyncio.timeout(10):
                    await child.wait()
            except TimeoutError:
                child.kill()
                await child.wait()

    def _speak(self) -> None:
        for child in self._children:
            if child.stdin and child.returncode is None:
                child.stdin.write(b"go\n")

    async def _hear(self, word: str) -> None:
        async with asyncio.timeout(LONGEST_SECONDS):
            lines = [await child.stdout.readline() if child.stdout else b"" for child in self._children]
        if any(line.decode().strip() != word for line in lines):
            raise RuntimeError(f"a program said {lines} instead of {word!r}; see bench/results/workers.log")


async def told_to_begin() -> None:
    """On the other side: say that all is prepared, and wait."""
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


async def told_to_end() -> None:
    """Say that all is done, and wait until that was measured."""
    print("done", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
