"""Several worker processes under one parent: starts them, starts them again when they die, and passes signals on."""

import asyncio
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Sequence

import structlog

log = structlog.get_logger()
FIRST_BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 30.0
HEALTHY_SECONDS = 60.0


class Processes:
    """The children of one `tidings worker --processes N`."""

    def __init__(self, arguments: Sequence[str], count: int) -> None:
        self._command = [sys.executable, "-m", "tidings", "worker", *arguments, "--processes", "1"]
        self._count = count
        self._children: set[Process] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Keep the children running until told to stop; give the worst of their exit codes."""
        codes = await asyncio.gather(*(self._keep_one(number) for number in range(1, self._count + 1)))
        return max(codes)

    def stop(self) -> None:
        """Have every child drain."""
        self._stopping.set()
        for child in self._children:
            if child.returncode is None:
                child.send_signal(signal.SIGTERM)

    async def _keep_one(self, number: int) -> int:
        backoff = FIRST_BACKOFF_SECONDS
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            started = loop.time()
            code = await self._run_one(number)
            if self._stopping.is_set():
                return code
            log.warning("worker_process_ended", number=number, code=code, restart_seconds=backoff)
            backoff = FIRST_BACKOFF_SECONDS if loop.time() - started > HEALTHY_SECONDS else backoff * 2
            await self._wait(min(backoff, LONGEST_BACKOFF_SECONDS))
        return 0

    async def _run_one(self, number: int) -> int:
        # A session of its own: Ctrl-C reaches the parent alone, which passes it on once.
        child = await asyncio.create_subprocess_exec(*self._command, start_new_session=True)
        self._children.add(child)
        log.info("worker_process_started", number=number, pid=child.pid)
        try:
            return await child.wait()
        finally:
            self._children.discard(child)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
