"""A real `tidings serve` on a database, to be asked over HTTP."""

import re
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import httpx2

from bench.settings import ROOT
from bench.workers import python

KEY = "tid_uR2vX0s9Qe7LbN4yTgKd6wZa1PjHc8MfBench"
_URL = re.compile(r"http://\S+")


class Api:
    """One process that answers the API; stopped at the end."""

    def __init__(self, dsn: str, connections: int, environ: Mapping[str, str] | None = None, root: Path = ROOT) -> None:
        self._root = root
        self._environ = {
            "DATABASE_URL": dsn,
            "TIDINGS_ADMIN_KEY": KEY,
            "TIDINGS_PORT": "0",
            "TIDINGS_RATE_LIMIT": "0",
            "TIDINGS_LOG_FORMAT": "json",
            **(environ or {}),
        }
        self._connections = connections

    async def __aenter__(self) -> "Api":
        self.process: Process = await python(["-m", "tidings", "serve"], self._environ, talks=True, cwd=self._root)
        self.url = await self._address()
        self._client = httpx2.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {KEY}"},
            limits=httpx2.Limits(max_connections=self._connections),
            timeout=60,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        await self.process.wait()

    async def post(self, path: str, body: object) -> None:
        """Ask, and insist on success."""
        answer = await self._client.post(path, json=body)
        answer.raise_for_status()

    async def _address(self) -> str:
        if self.process.stdout is None:
            raise AssertionError("a process that talks has an output")
        line = (await self.process.stdout.readline()).decode()
        found = _URL.search(line)
        if found is None:
            raise AssertionError(f"tidings serve said {line!r} instead of where it answers")
        return found[0]
