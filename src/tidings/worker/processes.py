"""Several worker processes under one parent: starts them, starts them again when they die, and passes signals on.

Each holds the reading end of a pipe that ends with the parent, and then drains: a killed parent leaves no worker
behind.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence

from tidings.log import log

FIRST_BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 30.0
HEALTHY_SECONDS = 60.0


class Processes:
    """The children of one `tidings worker --processes N`."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], count: int) -> None:
        # Neither end outlives this process, or is inherited by a child except as `_run_one` says.
        self._lifeline, self._our_end = os.pipe()
        self._command = [sys.executable, "-m", "tidings", "worker", *arguments, "--processes", "1"]
        self._command += ["--lifeline", str(self._lifeline)]
        self._environment = environment
        self._count = count
        self._children: set[Process] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Keep the children running until asked to stop; return the worst of their exit codes."""
        try:
            codes = await asyncio.gather(*(self._keep_one(number) for number in range(1, self._count + 1)))
        finally:
            os.close(self._our_end)
            os.close(self._lifeline)
        return max(codes)

    def drain(self) -> None:
        """Have every child drain."""
        self._stopping.set()
        for child in self._children:
            _drain(child)

    async def _keep_one(self, number: int) -> int:
        backoff = FIRST_BACKOFF_SECONDS
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            started = loop.time()
            code = await self._run_one(number)
            if self._stopping.is_set():
                return _exit_status(code)
            if loop.time() - started > HEALTHY_SECONDS:
                backoff = FIRST_BACKOFF_SECONDS
            log.warning("worker_process_ended", number=number, code=code, restart_seconds=backoff)
            await self._wait(backoff)
            backoff = min(backoff * 2, LONGEST_BACKOFF_SECONDS)
        return 0

    async def _run_one(self, number: int) -> int:
        # A session of its own: Ctrl-C reaches the parent alone, which passes it on once.
        child = await asyncio.create_subprocess_exec(
            *self._command,
            env={**os.environ, **self._environment},
            start_new_session=True,
            pass_fds=[self._lifeline],
        )
        self._children.add(child)
        log.info("worker_process_started", number=number, pid=child.pid)
        if self._stopping.is_set():
            _drain(child)  # asked while it was being started, so `stop` has missed it
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


def _drain(child: Process) -> None:
    if child.returncode is None:
        child.send_signal(signal.SIGTERM)


def _exit_status(code: int) -> int:
    """The exit status as a shell shows it; 0 for a child that SIGTERM reached before it could work at all."""
    if code == -signal.SIGTERM:
        return 0
    return code if code >= 0 else 128 - code
