"""Python programs as processes of their own, without the second that Python takes to import what they need.

A server process imports it once and forks for every command. The child has an environment, a directory, standard
streams and an exit status of its own, so nothing of a command leaks into the tests or into the next one. What it does
not show is the start of the program: a test of that starts `python -m tidings`.
"""

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import typer.main

IMPORTED = (
    *("asyncpg", "rich.live", "rich.progress", "structlog.dev", "typer._adapters", "typer.rich_utils", "uvloop"),
    *("tidings.cli.app", "tidings.simulation", "tidings.wiring", "tidings.worker.loop", "tidings.worker.main"),
)
"""What commands import, most of it when they are run."""

MOST_BYTES = 150_000
STREAMS = 3


class Warm:
    """The server, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def run(
        self, arguments: Sequence[str], directory: Path, environment: Mapping[str, str], typed: str, seconds: float
    ) -> tuple[int, str, str]:
        """Run `tidings` with these arguments; give its exit status and what it wrote to its two outputs."""
        request = json.dumps({"arguments": arguments, "directory": str(directory), "environment": dict(environment)})
        with (
            self._lock,
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(typed.encode())
            given.seek(0)
            status = self._ask(request.encode(), [file.fileno() for file in (given, out, err)], seconds)
            return status, _text(out), _text(err)

    def close(self) -> None:
        """End the server and whatever it runs."""
        if self._server is None or self._control is None:
            return
        self._control.close()
        os.killpg(self._server.pid, signal.SIGKILL)
        self._server.wait()
        self._server = self._control = None

    def _ask(self, request: bytes, streams: Sequence[int], seconds: float) -> int:
        control = self._control or self._start()
        control.settimeout(seconds)
        try:
            socket.send_fds(control, [request], streams)
            answer = control.recv(MOST_BYTES)
        except TimeoutError:
            self.close()
            raise
        if not answer:
            self.close()
            raise AssertionError("the server of warm commands has ended")
        return int(answer)

    def _start(self) -> socket.socket:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the tests; the server ends when they do
            )
        return self._control


def _text(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode().replace("\r\n", "\n")
    return text


def _serve(control: socket.socket) -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    typer.main.get_command = cache(typer.main.get_command)  # a hundred commands are described to typer in each process
    typer.main.get_command(sys.modules["tidings.cli.app"].app)
    gc.collect()
    gc.freeze()  # a child that looks for garbage would copy every page of what is shared
    while True:
        request, streams, _, _ = socket.recv_fds(control, MOST_BYTES, STREAMS)
        if not request:
            return
        child = os.fork()
        if child == 0:
            control.close()
            _become(json.loads(request), streams)
            return
        for stream in streams:
            os.close(stream)
        _, ended = os.waitpid(child, 0)
        control.send(str(os.waitstatus_to_exitcode(ended)).encode())


def _become(wanted: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Be the command; like in any program, what it raises ends it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(wanted["directory"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv = ["tidings", *wanted["arguments"]]
    importlib.reload(sys.modules["tidings.cli.output"])  # it asks the environment how wide the terminal is
    sys.modules["tidings.cli"].main()


if __name__ == "__main__":
    sys.path.pop(0)  # the tests' directory: commands must not find it
    _serve(socket.socket(fileno=int(sys.argv[1])))
