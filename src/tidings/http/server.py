"""The API in the foreground: uvicorn inside our own loop, ended by our own signals."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
import uvicorn

from tidings.config import Config
from tidings.domain.errors import ConfigInvalid
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.http.protocol import BoundedProtocol
from tidings.http.simulator import Simulates

log = structlog.get_logger()
BACKLOG = 1024
FINISH_SECONDS = 10
"""How long requests under way may take once the server is asked to stop."""


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: the process that runs the API and the workers has handlers for both."""
        yield


class ApiServer:
    """Listens from the moment it is made, answers while it runs."""

    def __init__(self, engine: Engine, config: Config, simulator: Simulates | None = None) -> None:
        self._engine = engine
        self._socket = _listen(config.host, config.port)
        self._server = _Uvicorn(
            uvicorn.Config(
                create_app(engine, config, simulator),
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=True,
                timeout_graceful_shutdown=FINISH_SECONDS,
                backlog=BACKLOG,
            )
        )

    @property
    def url(self) -> str:
        """Return where it can be reached from this machine."""
        host, port = self._socket.getsockname()[:2]
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
        return f"http://{shown}:{port}"

    async def run(self) -> None:
        """Answer until drained."""
        log.info("api_started", url=self.url)
        stopping = asyncio.create_task(self._stop_when_draining())
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            stopping.cancel()
            self._socket.close()
        log.info("api_drained")

    def drain(self) -> None:
        """Take no more connections; requests under way are answered, streams end."""
        self._engine.kernel.draining.set()
        self._server.should_exit = True

    async def _stop_when_draining(self) -> None:
        await self._engine.kernel.draining.wait()
        self._server.should_exit = True


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(BACKLOG)
        except BaseException:
            made.close()
            raise
    except OSError as error:
        raise ConfigInvalid(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another with --host and --port"
        ) from error
    made.setblocking(False)
    return made
