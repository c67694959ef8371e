"""Run workers in the foreground: the first SIGTERM or Ctrl-C drains, the second leaves at once."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from typing import Protocol

from tidings.domain.errors import StorageUnavailable
from tidings.engine import Engine
from tidings.kernel.writable import require_writable_anew
from tidings.log import log
from tidings.worker.processes import Processes

EXIT_AT_ONCE = 143
EXIT_WITHOUT_DATABASE = 1
DRAIN_SECONDS = 5.0
"""How many seconds an unreachable database may take to come back while the process ends; with the check itself well
below ten."""
LONGEST_WRITE_SECONDS = 3.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""A batch makes thousands of records, none in a cycle: looking for cycles after every 700 took a tenth of the time."""


class WorkerPart(Protocol):
    """Something that runs until it is drained: a worker, the API."""

    async def run(self) -> object:
        """Run until drained; return once no call is under way."""

    def drain(self) -> None:
        """Start nothing new."""


async def run_together(engine: Engine, *parts: WorkerPart, lifeline: int | None = None) -> int:
    """Run parts on one engine until asked to stop, then finish the calls under way; one that fails drains them all.

    When the pipe `lifeline` closes, the parent process has ended, and this drains as after a signal.
    """
    draining = asyncio.Event()

    def drain() -> None:
        draining.set()
        for part in parts:
            part.drain()

    async def run(part: WorkerPart) -> object:
        try:
            return await part.run()
        finally:
            if not draining.is_set():  # asked a second time, worker processes would leave at once
                drain()

    _on_signals(drain)
    _on_end_of(lifeline, drain)
    watching = asyncio.create_task(_leave_without_database(engine, draining))
    engine.import_everything()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 10, 10)
    try:
        ended = await asyncio.gather(*(run(part) for part in parts), return_exceptions=True)
    finally:
        await engine.close()
        watching.cancel()
    _ignore_signals()
    for end in ended:
        if isinstance(end, BaseException):
            raise end
    return max(code for code in (0, *ended) if isinstance(code, int))


async def run_processes(processes: Processes) -> int:
    """Run several worker processes until asked to stop, then let each finish its calls under way."""
    _on_signals(processes.drain)
    return await processes.run()


async def _leave_without_database(engine: Engine, draining: asyncio.Event) -> None:
    """End the process when it was asked to and cannot record the calls under way.

    The supervisor that asked kills it soon anyway, and every fact that has to wait is as lost then as now.
    """
    await draining.wait()
    await asyncio.sleep(DRAIN_SECONDS)
    while await _can_write(engine):  # noqa: ASYNC110
        await asyncio.sleep(1)
    log.error("leaving_without_database", reason="nothing can be written; calls under way will be found in doubt")
    os._exit(EXIT_WITHOUT_DATABASE)


async def _can_write(engine: Engine) -> bool:
    try:
        async with asyncio.timeout(LONGEST_WRITE_SECONDS):
            await require_writable_anew(engine.kernel)
    except (TimeoutError, StorageUnavailable):
        return False
    return True


def _on_end_of(lifeline: int | None, drain: Callable[[], None]) -> None:
    """Drain when the process at the other end of the pipe is gone."""
    if lifeline is None:
        return
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(lifeline)
        log.warning("draining", reason="the process that started this one is gone")
        drain()

    loop.add_reader(lifeline, ended)


def _ignore_signals() -> None:
    """Ignore further signals once all is done: one must not kill the process after the loop removed its handlers."""
    loop = asyncio.get_running_loop()
    # Held back meanwhile: removing a handler makes a signal deadly for a moment.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    for number in SIGNALS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _on_signals(drain: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    asked = False

    def handle() -> None:
        nonlocal asked
        drain()
        if asked:
            log.warning("leaving_at_once", reason="asked twice")
            os._exit(EXIT_AT_ONCE)
        asked = True
        log.info("draining", reason="asked to stop; ask again to leave at once")

    for number in SIGNALS:
        loop.add_signal_handler(number, handle)
