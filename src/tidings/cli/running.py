"""What a command runs with: its settings, where its log lines go, and the loop."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import TextIO, TypeVar

from tidings.config import Config, LogFormat, read_config
from tidings.domain.errors import TidingsError
from tidings.log import log

Result = TypeVar("Result")


def config_from(**flags: object) -> Config:
    """Return the settings; these flags take precedence."""
    config = read_config(**flags)
    # Its pool reports a lost server with a traceback for each try; `storage_retry` and `listen_lost` say the same.
    logging.getLogger("asyncpg").setLevel(logging.CRITICAL)
    log.set_up_with(lambda: configure_logs(config))
    return config


def configure_logs(config: Config) -> None:
    """Write log lines to standard error, as people or machines read them."""
    import structlog

    as_json = config.log_format is LogFormat.JSON
    # The rich tracebacks of the default show local variables, and so the key of the request.
    for_people = structlog.dev.ConsoleRenderer(
        colors=_shows_colour(sys.stderr), exception_formatter=structlog.dev.plain_traceback
    )
    renderer = structlog.processors.JSONRenderer(default=str) if as_json else for_people
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([structlog.processors.format_exc_info] if as_json else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # A line and its end in one write: processes that share a stream must not write into each other's lines.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _shows_colour(stream: TextIO) -> bool:
    """Return whether log lines are coloured: rich decides, as everywhere, by the terminal, NO_COLOR and FORCE_COLOR."""
    from rich.console import Console

    console = Console(file=stream)
    return console.color_system is not None and not console.no_color


def run_service(config: Config, work: Callable[[], Awaitable[int]]) -> int:
    """Run what goes on until it is stopped; return its exit status.

    Where its log lines are JSON, the error that ends it is one of them: whoever collects them reads nothing else.
    """
    try:
        return run(work)
    except TidingsError as error:
        if config.log_format is not LogFormat.JSON:
            raise
        log.error("ended_by_error", code=error.code, problem=str(error))
        return 1


def run(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run a command's coroutine on the fastest loop available."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_coroutine(work))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_coroutine(work))


async def _coroutine(work: Callable[[], Awaitable[Result]]) -> Result:
    return await work()
