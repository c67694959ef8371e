"""Run workers in the foreground: the first SIGTERM or Ctrl-C drains, the second leaves at once."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from typing import Protocol

import structlog

from tidings.engine import Engine
from tidings.worker.processes import Processes

log = structlog.get_logger()
EXIT_AT_ONCE = 143
SIGNALS = (signal.SIGTERM, signal.SIGINT)
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""A batch makes thousands of records, none in a cycle: looking for cycles after every 700 took a tenth of the time."""


class Part(Protocol):
    """Something that runs until it is drained: a worker, the API."""

    async def run(self) -> object:
        """Run until drained; returns once nothing is in the air."""

    def drain(self) -> None:
        """Start nothing new."""


async def run_together(engine: Engine, *parts: Part) -> int:
    """Run parts on one engine until asked to stop, then finish what is in the air; one that fails drains them all."""
    is_draining = False

    def drain() -> None:
        nonlocal is_draining
        is_draining = True
        for part in parts:
            part.drain()

    async def run(part: Part) -> object:
        try:
            return await part.run()
        finally:
            if not is_draining:  # asked a second time, processes of workers would leave at once
                drain()

    _on_signals(drain)
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 10, 10)
    try:
        ended = await asyncio.gather(*(run(part) for part in parts), return_exceptions=True)
    finally:
        await engine.close()
    _ignore_signals()
    for end in ended:
        if isinstance(end, BaseException):
            raise end
    return max(code for code in (0, *ended) if isinstance(code, int))


async def run_processes(processes: Processes) -> int:
    """The same with several processes."""
    _on_signals(processes.drain)
    return await processes.run()


def _ignore_signals() -> None:
    """All is done: a second signal must not turn the end of the process into a death when the loop lets go of it."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)


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
