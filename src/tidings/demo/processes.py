"""The demo's processes: the sink and its workers, each ended by its own pid whatever happens."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tidings.config import Config, variable
from tidings.demo.trouble import DemoFailed

GRACE_SECONDS = 10.0
GO_ON = "go on"
"""Lets the sink take more. Not in its own module: Python warns of a module that is run and was imported before."""
LONGEST_REPORT = 64 * 1024 * 1024
PRINTED = "message_printed"


@dataclass(frozen=True, slots=True)
class Arrived:
    """What the sink says it took."""

    accepted: int
    distinct: int
    recipients: Mapping[str, int]


class Sink:
    """The running SMTP sink."""

    def __init__(self, process: Process, port: int) -> None:
        self._process = process
        self.url = f"smtp://127.0.0.1:{port}?from=Tidings%20<news@example.com>"

    async def arrived(self) -> Arrived:
        """Ask how many messages it has."""
        return await self._ask("report")

    async def go_on(self) -> None:
        """Let it take as many messages as come."""
        await self._ask(GO_ON)

    async def _ask(self, line: str) -> Arrived:
        self.require_alive()
        stdin, stdout = _pipes(self._process)
        stdin.write(f"{line}\n".encode())
        answer = await stdout.readline()
        if not answer:
            raise DemoFailed("the SMTP sink ended by itself")
        return Arrived(**json.loads(answer))

    def require_alive(self) -> None:
        """Fail if it left by itself."""
        if self._process.returncode is not None:
            raise DemoFailed(f"the SMTP sink ended by itself with {self._process.returncode}")


@asynccontextmanager
async def running_sink(most: int) -> AsyncIterator[Sink]:
    """A sink for as long as the block; it takes so many messages, and the others after `take_all`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tidings.demo.sink",
        str(most),
        stdin=PIPE,
        stdout=PIPE,
        limit=LONGEST_REPORT,
        start_new_session=True,
    )
    try:
        port = await _pipes(process)[1].readline()
        if not port:
            raise DemoFailed("the SMTP sink did not start")
        yield Sink(process, int(port))
    finally:
        await _end(process)


class DemoWorker:
    """One `tidings worker` process and its log."""

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.pid = process.pid

    async def kill(self) -> None:
        """Kill it with -9, so that it can finish nothing."""
        self._process.kill()
        await self._process.wait()

    async def drain(self) -> int:
        """Have it finish the calls under way; return its exit status."""
        self._process.terminate()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                return await self._process.wait()
        except TimeoutError:
            raise DemoFailed(f"worker {self.pid} did not drain within {GRACE_SECONDS:g} s") from None

    def require_alive(self) -> None:
        """Fail with the end of its log if it left by itself."""
        if self._process.returncode is not None:
            last = " | ".join(self._log.read_text(errors="replace").strip().splitlines()[-3:])
            raise DemoFailed(f"worker {self.pid} ended by itself with {self._process.returncode}: {last}")

    def text_messages(self) -> set[str]:
        """The ids of the text messages it printed: the demo has no provider for them."""
        lines = (line for line in self._log.read_text(errors="replace").splitlines() if PRINTED in line)
        return {json.loads(line)["message_id"] for line in lines}


@asynccontextmanager
async def running_worker(config: Config, log: Path) -> AsyncIterator[DemoWorker]:
    """A worker for as long as the block, unless it is ended before."""
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tidings",
            "worker",
            stdin=DEVNULL,
            stdout=file,
            stderr=file,
            env=_environment(config),
            cwd=log.parent,  # the user's tidings.toml is not the demo's
            start_new_session=True,  # Ctrl-C reaches the demo alone, which cleans up
        )
    try:
        yield DemoWorker(process, log)
    finally:
        await _end(process)


def _environment(config: Config) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
    names = ("database_url", "smtp_url", "print", "lease_seconds", "call_seconds", "log_format")
    return inherited | {variable(name): str(getattr(config, name)) for name in names}


async def _end(process: Process) -> None:
    """Terminate a process, then kill it; one that is gone already is fine."""
    if process.stdin is not None:
        process.stdin.close()
    elif process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(GRACE_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _pipes(process: Process) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the sink is started with pipes")
    return process.stdin, process.stdout
