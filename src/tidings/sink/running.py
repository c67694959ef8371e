"""Start the sink: both servers, on this machine only."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from tidings.domain.errors import ConfigInvalid
from tidings.sink.arrivals import Arrivals
from tidings.sink.chance import Chance
from tidings.sink.http_server import HttpSink
from tidings.sink.smtp_server import LONGEST_LINE, MailServer

HOST = "127.0.0.1"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RunningSink:
    """A running sink: where it is, and what arrived."""

    smtp_port: int
    http_port: int
    arrivals: Arrivals

    @property
    def smtp_url(self) -> str:
        """Where mail goes, as TIDINGS_SMTP_URL takes it."""
        return f"smtp://{HOST}:{self.smtp_port}?from=you@example.com"

    @property
    def base_url(self) -> str:
        """Where calls go, as the setting baseUrl of a vendor takes it."""
        return f"http://{HOST}:{self.http_port}"


@asynccontextmanager
async def running_sink(
    *,
    refuse: float = 0.0,
    defer: float = 0.0,
    seed: int = 0,
    latency: timedelta = timedelta(0),
    smtp_port: int = 0,
    http_port: int = 0,
) -> AsyncIterator[RunningSink]:
    """Run a sink for as long as the block, on free ports unless others are given.

    `refuse` and `defer` are shares from 0 to 1; the same seed refuses the same recipients.
    """
    arrivals, chance, seconds = Arrivals(), Chance(refuse, defer, seed), latency.total_seconds()
    mail, http = MailServer(arrivals, chance, seconds), HttpSink(arrivals, chance, seconds)
    serving = _Serving()
    mail_server = await _listen(serving.of(mail.serve), smtp_port)
    try:
        http_server = await _listen(serving.of(http.serve), http_port)
        try:
            yield RunningSink(_port(mail_server), _port(http_server), arrivals)
        finally:
            http_server.close()
    finally:
        mail_server.close()
        await serving.end()


class _Serving:
    """The conversations under way, which end with the sink."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, serve: Serve) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        """What begins a conversation."""

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(serve(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return begin

    async def end(self) -> None:
        """Leave everybody."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _listen(begin: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], port: int) -> asyncio.Server:
    try:
        return await asyncio.start_server(begin, HOST, port, limit=LONGEST_LINE)
    except OSError as error:
        raise ConfigInvalid(f"port {port} of {HOST} cannot be used ({error.strerror}): choose another") from error


def _port(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])
