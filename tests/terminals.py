"""Terminals as people have them: a home of their own, nothing exported but what they are told, and a screen to read."""

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidings import embedded

PATIENCE_SECONDS = 120


@contextmanager
def empty_home() -> Iterator[Path]:
    """An empty home that root's server may enter; what is started in it is removed."""
    with tempfile.TemporaryDirectory(prefix="home-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)
        for place in Path(directory).glob("**/tidings"):
            asyncio.run(embedded.remove(place))


class Terminal:
    """A shell with a home of its own, in which `export` is remembered and nothing else is set."""

    def __init__(self, home: Path) -> None:
        self.home = self.directory = home
        self.exported: dict[str, str] = {}

    @property
    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:{os.defpath}"
        return {"HOME": str(self.home), "PATH": path, "TERM": "xterm", **self.exported}

    def export(self, line: str) -> None:
        """Do what a line of the form `export NAME=value` says."""
        found = re.fullmatch(r"export (\w+)=(\S+)(?:\s+#.*)?", line)
        assert found, line
        self.exported[found[1]] = found[2]

    def run(self, *command: str) -> str:
        """Run a command to its end, and return what it printed."""
        ended = self.end(*command)
        assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
        return ended.stdout

    def end(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=self.directory,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    @contextmanager
    def running(self, *command: str) -> Iterator["Screen"]:
        """Run a command in the foreground of a real terminal, and end it with Ctrl-C."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command, cwd=self.directory, env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        screen = Screen(ours)
        try:
            yield screen
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0, screen.text
        finally:
            process.kill()
            process.wait()
            screen.close()


class Screen:
    """What a terminal shows."""

    def __init__(self, descriptor: int) -> None:
        self.text = ""
        self._descriptor = descriptor
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def wait_for(self, pattern: str) -> str:
        """Return what matches, once it is there."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, (pattern, self.text)
            time.sleep(0.05)
        return found[0]

    def close(self) -> None:
        self._reading.join(PATIENCE_SECONDS)
        os.close(self._descriptor)

    def _read(self) -> None:
        while True:
            try:
                read = os.read(self._descriptor, 65_536)
            except OSError:  # how Linux says that nobody has the other side any more
                return
            if not read:
                return
            self.text += re.sub(r"\x1b\[[0-9;]*m", "", read.decode(errors="replace"))
