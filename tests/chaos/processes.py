"""A real process of Tidings, as the arena sees it: signalled by its id, waited for, and known by its log."""

import asyncio
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.chaos.waiting import DEADLINE_SECONDS, Overdue, until
from tests.warm import Call, Forked, Warm

REPOSITORY = Path(__file__).parents[2]
APP = ("--app", "tests.chaos.app:app")


warm: Warm | None = None
"""Where processes are forked from; the soak starts each from nothing."""


async def start(log: Path, environ: Mapping[str, str], *arguments: str) -> Process | Forked:
    """Run `tidings` with these arguments and the ledger as its providers."""
    with log.open("ab") as file:
        if warm:
            return warm.start(Call([*arguments, *APP], REPOSITORY, environ), file)
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tidings", *arguments, *APP),
            env=environ,
            cwd=REPOSITORY,
            stdin=DEVNULL,
            stdout=file,
            stderr=file,
        )


class WorkerProcess:
    """One real worker."""

    def __init__(self, process: Process | Forked, log: Path, crash_at: str | None) -> None:
        self._process = process
        self.log = log
        self.crash_at = crash_at

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """How it ended: None while it runs, negative for the signal that ended it."""
        return self._process.returncode

    def send(self, number: signal.Signals) -> bool:
        """Signal it, unless it has gone already."""
        if self.code is not None:
            return False
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
            return True
        return False

    async def wait(self, seconds: float = DEADLINE_SECONDS) -> int:
        """Wait for its end; give how it ended."""
        try:
            async with asyncio.timeout(seconds):
                return await self._process.wait()
        except TimeoutError:
            raise Overdue(f"worker {self.pid} ({self.crash_at or 'unarmed'}) did not end:\n{self.tail()}") from None

    def is_frozen(self) -> bool:
        """Whether it is stopped (SIGSTOP)."""
        with suppress(FileNotFoundError, ProcessLookupError):
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        return False

    def is_working(self) -> bool:
        """Whether it has said that it started."""
        return self.log.exists() and b"worker_started" in self.log.read_bytes()

    def events(self, *names: str) -> list[str]:
        """Its log lines about these events."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return [line for line in lines if any(f'"event": "{name}"' in line for name in names)]

    def tail(self, lines: int = 15) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""


class ApiProcess:
    """One real `tidings serve`, which can be killed and comes back at the same address."""

    def __init__(self, log: Path, environ: Mapping[str, str], key: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._log = log
        self._environ = {**environ, "TIDINGS_ADMIN_KEY": key, "TIDINGS_RATE_LIMIT": "0"}
        self._process: Process | Forked | None = None
        self._starts = 0
        self.key = key

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = await start(self._log, self._environ, "serve", "--port", str(self._port))
        self._starts += 1
        await until("the API answers", self._has_started)

    async def kill(self) -> None:
        """kill -9, and start it again."""
        await self.close()
        await self.start()

    async def close(self) -> None:
        """kill -9."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def failures(self) -> list[str]:
        """What it logged of requests that nobody foresaw."""
        return [line for line in self._log.read_text(errors="replace").splitlines() if "request_crashed" in line]

    def _has_started(self) -> bool:
        if self._process is None or self._process.returncode is not None:
            raise AssertionError(f"the API ended before it started:\n{self._log.read_text(errors='replace')[-2000:]}")
        return self._log.read_bytes().count(b"api_started") >= self._starts
