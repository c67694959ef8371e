"""Run workers in the foreground: the first SIGTERM or Ctrl-C drains, the second leaves at once."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable

import structlog

from tidings.engine import Engine
from tidings.worker.loop import Worker
from tidings.worker.processes import Processes

log = structlog.get_logger()
EXIT_AT_ONCE = 143
SIGNALS = (signal.SIGTERM, signal.SIGINT)
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""A batch makes thousands of records, none in a cycle: looking for cycles after every 700 took a tenth of the time."""


async def run_worker(engine: Engine, worker: Worker) -> int:
    """Work until asked to stop, then finish what is in the air."""
    _on_signals(worker.drain)
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 10, 10)
    try:
        await worker.run()
    finally:
        await engine.close()
    _ignore_signals()
    return 0


async def run_processes(processes: Processes) -> int:
    """The same with several processes."""
    _on_signals(processes.stop)
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
