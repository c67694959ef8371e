"""One rendering process: started when first needed, asked one chunk at a time, replaced when it dies or stalls."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from tidings.domain.errors import RendererUnavailable
from tidings.kernel.render import child as wire
from tidings.kernel.render.jobs import WaitingJob

MAX_ANSWER_BYTES = 256_000_000
MAX_KNOWN_TEMPLATE_CHARS = 16_000_000
READ_BUFFER_BYTES = 1_000_000
START_SECONDS = 60.0
LEAVE_SECONDS = 1.0
# What Python may need to find itself; everything else (database, keys) stays with the parent.
INHERITED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT")
EXCEEDS = wire.EXCEEDS
CHILD_MODULE = wire.__name__

_encode = msgspec.msgpack.Encoder().encode
_frames: msgspec.msgpack.Decoder[wire.Answers | float] = msgspec.msgpack.Decoder(wire.Answers | float)


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What one job may use."""

    memory_bytes: int
    cpu_seconds: float
    wall_seconds: float


@dataclass(slots=True)
class ChunkAnswers:
    """The answers to the first jobs of a chunk, what they cost, and why there are no more if the process ended."""

    answers: wire.Answers = field(default_factory=list)
    cpu_seconds: float = 0.0
    ended: str | None = None


@dataclass(slots=True)
class _Child:
    """A running child, and the templates it has been sent."""

    process: subprocess.Process
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    known: dict[str, int] = field(default_factory=dict)
    known_chars: int = 0

    def learn(self, source: str, new: dict[int, str]) -> int:
        """Return the number of a template, noting it as new if the child has not been sent it."""
        if source not in self.known:
            self.known[source] = len(self.known)
            self.known_chars += len(source)
            new[self.known[source]] = source
        return self.known[source]

    def forget(self) -> None:
        self.known.clear()
        self.known_chars = 0


class RenderProcess:
    """A child process and its limits; asked by one task at a time."""

    def __init__(self, limits: ProcessLimits) -> None:
        self.limits = limits
        self._child: _Child | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id, while there is one."""
        return self._child.process.pid if self._child else None

    async def ask(self, chunk: Sequence[WaitingJob], how: wire.Terms) -> ChunkAnswers:
        """Send a chunk, and return what it was answered."""
        found = ChunkAnswers()
        wall_seconds = wire.patience(self.limits.wall_seconds, how.strikes)
        current = await self._started()
        try:
            await _converse(current, _encode(_request(current, chunk, how)), found, wall_seconds)
        except TimeoutError:
            await self.stop(at_once=True)
            found.ended = f"{EXCEEDS} {wall_seconds:g} s"
        except (ConnectionError, asyncio.IncompleteReadError):
            found.ended = self._limit_named(await self.stop(), how)
        except BaseException:
            await self.stop(at_once=True)  # its answers to this chunk would be taken for those to the next
            raise
        return found

    async def stop(self, *, at_once: bool = False) -> int | None:
        """End the child if there is one; return how it ended."""
        ending, self._child = self._child, None
        return await _end(ending, at_once=at_once) if ending else None

    def _limit_named(self, exit_code: int | None, how: wire.Terms) -> str:
        if exit_code == -signal.SIGPROF:
            return f"{EXCEEDS} {how.cpu_seconds:g} s of CPU time"
        return (
            f"{EXCEEDS} the rendering process ({self.limits.memory_bytes} bytes of memory): it ended with {exit_code}"
        )

    async def _started(self) -> _Child:
        if self._child is None or self._child.process.returncode is not None:
            await self.stop()
            self._child = await self._start()
        return self._child

    async def _start(self) -> _Child:
        started = await _spawn(self.limits.memory_bytes)
        try:
            async with asyncio.timeout(START_SECONDS):
                await _receive(started)
        except BaseException as error:
            exit_code = await _end(started, at_once=not isinstance(error, asyncio.IncompleteReadError))
            if isinstance(error, Exception):
                raise RendererUnavailable(f"the rendering process ended with {exit_code} at its start") from error
            raise
        return started


def _request(current: _Child, chunk: Sequence[WaitingJob], how: wire.Terms) -> wire.RenderRequest:
    forget = current.known_chars > MAX_KNOWN_TEMPLATE_CHARS
    if forget:
        current.forget()
    new: dict[int, str] = {}
    shapes: dict[int, int] = {}
    layouts: list[wire.ChildShape] = []
    for each in chunk:
        if id(each.shape) not in shapes:
            shapes[id(each.shape)] = len(layouts)
            fields = [wire.Template(n, current.learn(s, new), html) for n, s, html in each.shape.liquid]
            layouts.append(wire.ChildShape(fields, each.shape.finish))
    jobs = [wire.ChildJob(shapes[id(each.shape)], each.data, each.now) for each in chunk]
    return wire.RenderRequest(how, forget, new, layouts, jobs)


async def _spawn(memory_bytes: int) -> _Child:
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", CHILD_MODULE, str(memory_bytes)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
            cwd="/",
            start_new_session=True,
            limit=READ_BUFFER_BYTES,
        )
    except OSError as error:
        raise RendererUnavailable(f"cannot start {sys.executable}: {error}") from error
    if process.stdin is None or process.stdout is None:
        raise RendererUnavailable("the rendering process has no pipes")
    return _Child(process, process.stdin, process.stdout)


def _environment() -> dict[str, str]:
    found = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | {"PYTHONPATH": found}


async def _converse(current: _Child, request: bytes, found: ChunkAnswers, wall_seconds: float) -> None:
    """Gather answers until the turn ends; the time is for one frame, and a frame never waits for more than one job."""
    async with asyncio.timeout(wall_seconds):
        current.stdin.write(len(request).to_bytes(wire.HEADER_BYTES, "little"))
        current.stdin.write(request)
        await current.stdin.drain()
    while True:
        async with asyncio.timeout(wall_seconds):
            frame = await _receive(current)
        if isinstance(frame, float):
            found.cpu_seconds = frame
            return
        found.answers += frame


async def _receive(current: _Child) -> wire.Answers | float:
    size = int.from_bytes(await current.stdout.readexactly(wire.HEADER_BYTES), "little")
    if size > MAX_ANSWER_BYTES:
        raise ConnectionError(f"an answer of {size} bytes")
    return _frames.decode(await current.stdout.readexactly(size))


async def _end(ending: _Child, *, at_once: bool) -> int:
    """Wait until a child and its pipes are gone, killing it if it must be; return how it ended."""
    ending.stdin.close()
    # Killing a process that has just died would take its exit status from the task that awaits it: let it end alone.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0 if at_once else LEAVE_SECONDS):
            await ending.process.wait()
    if ending.process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            ending.process.kill()
    with contextlib.suppress(ConnectionError):
        await ending.stdin.wait_closed()
    await ending.stdout.read()
    return await ending.process.wait()
