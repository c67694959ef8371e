"""`tidings` as processes of their own, without the second that Python takes to import what commands need.

A server imports it once and forks for every command. A forked command has an environment, a directory, standard
streams, signals and an exit status of its own, so nothing of it leaks into the tests or into the next one. What it does
not show is the start of the program: a test of that starts `python -m tidings`.
"""

import asyncio
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import typer.main

IMPORTED = (
    *("asyncpg", "rich.live", "rich.progress", "structlog.dev", "typer._adapters", "typer.rich_utils", "uvloop"),
    *("tidings.simulation", "tidings.wiring", "tidings.worker.loop", "tidings.worker.main", "tidings.http.server"),
)
"""What commands import, most of it when they are run."""

WHOLE = ("tidings.cli", "tidings.kernel", "tidings.resources")
"""Packages of which commands import what they use."""

ASKING = ("tidings.cli.screen", "tidings.kernel.crash_points")
"""What asks the environment when it is imported: how wide the terminal is, and where to die."""

SIMULATE_ON = "TIDINGS_TEST_SIMULATE_ON"
"""The variable that names a server for simulations: to start one for each costs more than all else that they do."""

MOST_BYTES = 1_000_000
NUMBER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Call:
    """What is run, and where."""

    arguments: Sequence[str]
    directory: Path
    environment: Mapping[str, str]

    def request(self) -> bytes:
        told = {"arguments": self.arguments, "directory": str(self.directory), "environment": dict(self.environment)}
        return json.dumps(told).encode() + b"\n"


class Forked:
    """A command at work, as asyncio shows its own processes."""

    def __init__(self, pid: int, end: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = asyncio.create_task(self._watch(end))

    def send_signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def _watch(self, end: socket.socket) -> int:
        with end:
            end.setblocking(False)
            self.returncode = _number(await asyncio.get_running_loop().sock_recv(end, NUMBER_BYTES))
        return self.returncode


class Program(Forked):
    """A command at work whose outputs are read."""

    def __init__(
        self, pid: int, end: socket.socket, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader
    ) -> None:
        super().__init__(pid, end)
        self.stdout = stdout
        self.stderr = stderr


class Warm:
    """The server, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def run(self, call: Call, typed: str, seconds: float) -> tuple[int, str, str]:
        """Run a command to its end; give its exit status and what it wrote to its two outputs."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(typed.encode())
            given.seek(0)
            pid, end = self._start(call, given, out, err)
            with end:
                status = _wait(pid, end, seconds)
            return status, _text(out), _text(err)

    @asynccontextmanager
    async def running(self, call: Call) -> AsyncIterator[Program]:
        """A command that is killed at the end of the block if it has not ended by then."""
        with open(os.devnull, "rb") as nothing:
            (out, stdout), (err, stderr) = await _reading(), await _reading()
            with out, err:
                program = Program(*self._start(call, nothing, out, err), stdout, stderr)
        try:
            yield program
        finally:
            if program.returncode is None:
                program.kill()
            await program.wait()

    def start(self, call: Call, output: IO[bytes]) -> Forked:
        """Start a command that writes to a file; whoever starts it ends it."""
        with open(os.devnull, "rb") as nothing:
            return Forked(*self._start(call, nothing, output, output))

    def close(self) -> None:
        """End the server and whatever it runs."""
        if self._server and self._control:
            self._control.close()
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()

    def _start(self, call: Call, *streams: IO[bytes]) -> tuple[int, socket.socket]:
        """Have the server fork; give the process and the socket that tells its end."""
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            control = self._control or self._start_server()
            socket.send_fds(control, [call.request()], [*(one.fileno() for one in streams), theirs.fileno()])
        return _number(ours.recv(NUMBER_BYTES)), ours

    def _start_server(self) -> socket.socket:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the tests; the server ends when they do
            )
        return self._control


def _wait(pid: int, end: socket.socket, seconds: float) -> int:
    end.settimeout(seconds)
    try:
        return _number(end.recv(NUMBER_BYTES))
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise


async def _reading() -> tuple[IO[bytes], asyncio.StreamReader]:
    """A pipe's end to write to, and what is read from the other; it is closed when nobody writes any more."""
    source, sink = os.pipe()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", buffering=0)
    )
    return os.fdopen(sink, "wb", buffering=0), reader


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _number(data: bytes) -> int:
    if not data:
        raise AssertionError("the server of warm commands has ended")
    return int.from_bytes(data, signed=True)


class _Server:
    """Forks a command for each request, and tells its process id and how it ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._ends: dict[int, socket.socket] = {}
        self._bell, self._ringing = socket.socketpair()

    def serve(self) -> Mapping[str, Any] | None:
        """Return in each child with what it is to be, and in the server when the tests have ended."""
        self._ringing.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._ringing.fileno())
        while True:
            ready, _, _ = select.select([self._control, self._bell], [], [])
            if self._bell in ready:
                self._bell.recv(MOST_BYTES)
                self._reap()
            if self._control in ready:
                request, files, _, _ = socket.recv_fds(self._control, MOST_BYTES, 4)
                while request and not request.endswith(b"\n"):
                    request += self._control.recv(MOST_BYTES)
                if not request:
                    return None
                if self._fork(*files):
                    return dict(json.loads(request))

    def _fork(self, *files: int) -> bool:
        """Whether this is the child."""
        *streams, end = files
        child = os.fork()
        if child == 0:
            self._forget()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
        else:
            self._ends[child] = socket.socket(fileno=end)
            self._ends[child].send(child.to_bytes(NUMBER_BYTES, signed=True))
        for file in streams if child else files:
            os.close(file)
        return child == 0

    def _forget(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in (self._control, self._bell, self._ringing, *self._ends.values()):
            one.close()

    def _reap(self) -> None:
        for child in list(self._ends):
            found, ended = os.waitpid(child, os.WNOHANG)
            if found:
                with self._ends.pop(child) as end, suppress(BrokenPipeError):
                    end.send(os.waitstatus_to_exitcode(ended).to_bytes(NUMBER_BYTES, signed=True))


def _import_all() -> None:
    for name in (*IMPORTED, *(found for package in WHOLE for found in _modules_of(package))):
        importlib.import_module(name)
    typer.main.get_command = cache(typer.main.get_command)
    _build_all(typer.main.get_command(sys.modules["tidings.cli.app"].app))
    gc.collect()
    gc.freeze()  # a child that looks for garbage would copy every page of what is shared


def _modules_of(package: str) -> Iterator[str]:
    path = importlib.import_module(package).__path__
    return (found.name for found in pkgutil.walk_packages(path, f"{package}."))


def _build_all(group: Any) -> None:
    """Have every command described to typer: each process would describe its own anew."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            _build_all(command)


def _be(wanted: Mapping[str, Any]) -> None:
    """Be the command; as in any program, what it raises ends it."""
    os.chdir(wanted["directory"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv = ["tidings", *wanted["arguments"]]
    sys.path.insert(0, wanted["directory"])  # as `python -m` does
    for name in ASKING:
        importlib.reload(sys.modules[name])
    if server := os.environ.pop(SIMULATE_ON, None):
        vars(sys.modules["tidings.testing.scratch"])["temporary_server"] = lambda _: nullcontext(server)
    try:
        sys.modules["tidings.cli"].main()
    except SystemExit as left:
        if isinstance(left.code, int):
            _leave(left.code)
        raise


def _leave(status: int) -> None:
    """End like any program, but leave the modules whole: to take apart what is shared is to copy it first."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    gc.collect()  # what was left open complains now
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.path.pop(0)  # the tests' directory: commands must not find it
    _import_all()
    if wanted := _Server(socket.socket(fileno=int(sys.argv[1]))).serve():
        _be(wanted)
