"""The API in the foreground: uvicorn inside our own loop, ended by our own signals."""

import asyncio
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn

from tidings.config import Config
from tidings.domain.errors import ConfigInvalid
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.http.connections import ConnectionLimits, OpenConnections
from tidings.http.protocol import protocol_of
from tidings.http.simulator import Simulates
from tidings.log import log

BACKLOG = 1024
MOST_CONNECTIONS = 10_000
LEAST_CONNECTIONS = 10
FILES_FOR_THE_REST = 64
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
        self._has_tls = check_tls(config)
        self._open_connections = OpenConnections(connection_limits(config))
        self._socket = _listen(config.host, config.port)
        self._server = _Uvicorn(
            uvicorn.Config(
                create_app(engine, config, simulator),
                http=protocol_of(self._open_connections),
                ssl_certfile=config.tls_cert,
                ssl_keyfile=config.tls_key,
                proxy_headers=bool(config.forwarded_allow_ips),
                forwarded_allow_ips=list(config.forwarded_allow_ips),
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
        return f"{'https' if self._has_tls else 'http'}://{shown}:{port}"

    @property
    def is_answering(self) -> bool:
        """Whether it runs already."""
        return self._server.started

    @property
    def open_connections(self) -> int:
        """How many connections there are."""
        return self._open_connections.count

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


def check_tls(config: Config) -> bool:
    """Return whether connections are encrypted; raise ConfigInvalid if they cannot be, warn if they should be."""
    if config.tls_cert is None and config.tls_key is None:
        if not _is_loopback(config.host):
            log.warning(
                "no_tls", host=config.host, remedy="give --tls-cert and --tls-key, or put a proxy with TLS before it"
            )
        return False
    if config.tls_cert is None or config.tls_key is None:
        given, missing = ("tls_cert", "tls_key") if config.tls_cert else ("tls_key", "tls_cert")
        raise ConfigInvalid(f"{given} is set without {missing}; TLS needs both a certificate and its key")
    for name, path in (("tls_cert", config.tls_cert), ("tls_key", config.tls_key)):
        if not path.is_file():
            raise ConfigInvalid(f"{name} is {str(path)!r}, which is not a file; write the path of a PEM file")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(config.tls_cert, config.tls_key, password=_no_password)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise ConfigInvalid(
            f"tls_cert {str(config.tls_cert)!r} and tls_key {str(config.tls_key)!r} cannot be used: {error}; both are "
            "PEM files, the key is that of the first certificate, and has no password"
        ) from error
    return True


def _no_password() -> str:
    raise ValueError("the key has a password")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def connection_limits(config: Config) -> ConnectionLimits:
    """Return how many connections this server may have."""
    most = most_connections(config, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return ConnectionLimits(most, config.max_connections_per_address or max(1, most // 2), config.forwarded_allow_ips)


def most_connections(config: Config, file_limit: int) -> int:
    """Return the setting, or else as many as there are files for beside the database's connections and other things."""
    files = MOST_CONNECTIONS if file_limit == resource.RLIM_INFINITY else file_limit
    free = files - FILES_FOR_THE_REST - 2 * config.connections
    return config.max_connections or max(LEAST_CONNECTIONS, min(free, MOST_CONNECTIONS))


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
