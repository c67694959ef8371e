"""A password among the arguments of a command is not there to be read while it runs, nor in its children's."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

DEADLINE_SECONDS = 30
pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="only Linux shows them so")


def shown(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found]


@pytest.fixture
def running(dsn: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("TIDINGS_", "DATABASE_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "tidings", "worker", "--processes", "2", "--database-url", dsn],
        env=ours | {"HOME": str(tmp_path), "TIDINGS_ALLOW_UNSAFE_STORAGE": "true", "TIDINGS_LOG_FORMAT": "json"},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.terminate()
    process.communicate(timeout=DEADLINE_SECONDS)


def test_no_process_shows_the_password_it_was_started_with(running: subprocess.Popen[str], dsn: str) -> None:
    password = urlsplit(dsn).password or "none"
    assert running.stderr is not None
    warning = running.stderr.readline()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(children_of(running.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)

    children = children_of(running.pid)
    every = [shown(pid) for pid in (running.pid, *children)]

    assert len(children) == 2
    assert "--database-url postgresql://tidings_app:xxxx" in every[0]
    assert [one for one in every if password in one] == []
    assert "DATABASE_URL" in warning
    assert "TIDINGS_DATABASE_URL_FILE" in warning
    assert password not in warning


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--database-url", "postgresql://u:p%40ss@h/d"], ["p%40ss"]),
        (["db", "status", "--database-url=postgresql://u:secret@h,h2/d?password=other"], ["secret", "other"]),
        (["--database-url", "postgresql://u@h/d", "--json"], []),
        (["--database-url"], []),
        (["--database-url", "postgresql://u:pa/ss@[h/d"], ["pa/ss"]),
    ],
)
def test_passwords_are_found_however_they_are_written(arguments: list[str], expected: list[str]) -> None:
    from tidings.cli.arguments import _addresses, _passwords  # noqa: PLC0415

    assert [password for address in _addresses(arguments) for password in _passwords(address)] == expected
