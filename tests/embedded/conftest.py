"""Data directories for real servers, and other processes that start them."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tidings.embedded import ensure_running, placement, stop

DEADLINE_SECONDS = 30

# The interpreter itself may be out of another user's reach, so the child imports first and then becomes that user.
STARTER = """
import asyncio, concurrent.futures.thread, os, sys
from pathlib import Path
from tidings.domain.errors import EmbeddedServerFailed
from tidings.embedded import ensure_running

data_dir, bin_dir, uid = Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2] else None, int(sys.argv[3])
if uid != os.geteuid():
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
try:
    print(asyncio.run(ensure_running(data_dir, bin_dir=bin_dir)), flush=True)
except EmbeddedServerFailed as error:
    print(error, flush=True)
sys.stdin.read()
"""

Spawn = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
async def deadline() -> AsyncIterator[None]:
    """End a test that waits for what never comes: every wait here has a condition of its own, and this limit."""
    tasks_before = asyncio.all_tasks()

    def give_up() -> None:
        for task in asyncio.all_tasks() - tasks_before:
            task.cancel("the test's deadline has passed")

    timer = asyncio.get_running_loop().call_later(DEADLINE_SECONDS, give_up)
    yield
    timer.cancel()


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory that every user can pass through."""
    path = Path(tempfile.mkdtemp(prefix="tidings-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def private_dir(open_dir: Path) -> Path:
    """A directory that only its owner can pass through."""
    path = open_dir / "private"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(autouse=True)
def shared_root(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what root's server moves out of the way inside the test's own directory."""
    monkeypatch.setattr(placement, "SHARED_ROOT", open_dir / "shared")
    return open_dir / "shared"


@pytest.fixture
async def data_dir(open_dir: Path) -> AsyncIterator[Path]:
    """A data directory that does not exist yet; its server is stopped at the end."""
    path = open_dir / "data"
    yield path
    await stop(path)


@pytest.fixture(scope="session")
def prepared() -> Iterator[Path]:
    """A data directory of a server that ran once: initdb takes longer than most tests."""
    parent = Path(tempfile.mkdtemp(prefix="tidings-test-"))
    parent.chmod(0o755)
    asyncio.run(_run_once(parent / "data"))
    yield parent / "data"
    shutil.rmtree(parent)


async def _run_once(path: Path) -> None:
    await ensure_running(path)
    await stop(path)


@pytest.fixture
async def made_dir(open_dir: Path, prepared: Path) -> AsyncIterator[Path]:
    """A data directory whose server ran before and is stopped; the next test gets what this one leaves."""
    path = prepared.rename(open_dir / "data")
    yield path
    await stop(path)
    path.rename(prepared)


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start a process that makes sure the server runs, prints its address or the error, and waits."""
    started: list[subprocess.Popen[str]] = []

    def spawn_one(data_dir: Path, bin_dir: Path | None = None, uid: int | None = None) -> subprocess.Popen[str]:
        arguments = [str(data_dir), str(bin_dir or ""), str(os.geteuid() if uid is None else uid)]
        command = [sys.executable, "-c", STARTER, *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield spawn_one
    for process in started:
        process.kill()
        process.communicate()
