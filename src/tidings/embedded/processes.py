"""Which processes are ours: locks that live as long as their holder, and proof that a pid is our postmaster."""

import asyncio
import fcntl
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

POLL_SECONDS = 0.02


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that other processes bring about without announcing it."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(POLL_SECONDS)


def open_lock(path: Path) -> int:
    """Open a lock file, making it first if need be; the lock lives as long as the descriptor and its copies."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def try_lock(descriptor: int, operation: int = fcntl.LOCK_EX) -> bool:
    """Take the lock if no process holds it."""
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold the lock on a file, waiting for it without a limit."""
    descriptor = open_lock(path)
    try:
        await until(lambda: try_lock(descriptor))
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Return whether some live process holds the lock on a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def is_postmaster(pid: int, data: Path) -> bool:
    """Return whether a pid is a PostgreSQL server of this data directory, and not a later process with its number."""
    if sys.platform == "linux":
        return _has_arguments(pid, data)
    command = f"{_ps('-ww', '-o', 'command=', '-p', str(pid)).strip()} "
    return f"postgres -D {data} " in command


def _has_arguments(pid: int, data: Path) -> bool:
    # World-readable even where /proc/<pid>/cwd is not (root without CAP_SYS_PTRACE), and empty for a zombie.
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    wanted = [b"-D", os.fsencode(data)]
    return any(
        argument.endswith(b"postgres") and arguments[index + 1 : index + 3] == wanted
        for index, argument in enumerate(arguments)
    )


def children_of(pid: int) -> list[int]:
    """List the direct children of a process."""
    pairs = _proc_parents() if sys.platform == "linux" else _ps_parents()
    return [child for child, parent in pairs if parent == pid]


def _proc_parents() -> list[tuple[int, int]]:
    pairs = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            # The name, in parentheses, may itself hold spaces and parentheses.
            after_name = (entry / "stat").read_text(errors="replace").rpartition(")")[2]
            pairs.append((int(entry.name), int(after_name.split()[1])))
    return pairs


def _ps_parents() -> list[tuple[int, int]]:
    rows = (line.split() for line in _ps("-A", "-o", "pid=,ppid=").splitlines())
    return [(int(pid), int(parent)) for pid, parent in rows]


def _ps(*arguments: str) -> str:
    return subprocess.run(["ps", *arguments], capture_output=True, text=True, check=False).stdout  # noqa: S603, S607
