"""`tidings demo`: the main job end to end, with a worker killed half-way, and the proof that no recipient noticed.

story.py is what happens, in order. It stands on workers.py and sink.py (the processes), cast.py (who is written to
and what), screen.py (what a person sees meanwhile) and summary.py (what must agree at the end).
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from tidings.demo.screen import Screen
from tidings.demo.story import tell
from tidings.demo.summary import Summary, print_summary
from tidings.demo.trouble import DemoFailed
from tidings.domain.errors import TidingsError
from tidings.log import log

EXIT_STOPPED = 130


def run_demo(people: int, *, write: Callable[[Summary], None] | None = None, pg_bin: Path | None = None) -> int:
    """Play the demo; 0 only if the ledger, the sink and `verify` agree. With `write` the story goes to stderr."""
    screen = Screen(Console(stderr=write is not None, highlight=False))
    # The story says what matters; the workers' own log lines are in files.
    log.set_up_with(_write_no_lines)
    try:
        summary = asyncio.run(_play(people, screen, pg_bin))
    except (KeyboardInterrupt, asyncio.CancelledError):
        screen.say("[yellow]stopped[/]; its processes and files are gone")
        return EXIT_STOPPED
    except (DemoFailed, TidingsError) as error:
        screen.fail(str(error))
        return 1
    if write:
        write(summary)
    else:
        print_summary(screen.console, summary)
    return 0 if summary.agrees else 1


async def _play(people: int, screen: Screen, pg_bin: Path | None) -> Summary:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)  # as Ctrl-C: clean up, then leave
    return await tell(people, screen, pg_bin)


def _write_no_lines() -> None:
    import structlog  # noqa: PLC0415

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
