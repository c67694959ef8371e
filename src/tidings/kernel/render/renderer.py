"""Render templates in a child process, so that no template can take down a worker.

A message that only inserts values is filled in place (domain/content/interpolation.py): it has nothing to confine.
Called while planning, when no transaction is open. A job that breaks a limit fails alone: the child answers jobs in
order and mostly fails them itself (child.py says how); if it dies or stalls, it is started again and the jobs without
an answer are sent once more, each answered at once. The first without an answer then is the one that did it.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Self

import msgspec

from tidings.domain.content.interpolation import Interpolation, interpolation_of
from tidings.domain.content.template import MAX_SOURCE_CHARS, RenderFailed, has_liquid
from tidings.domain.errors import RendererUnavailable
from tidings.kernel.render import child as wire

MAX_CHUNK_JOBS = 500
MAX_CHUNK_BYTES = 4_000_000
MAX_DATA_BYTES = 4_000_000
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
_decode_answers = msgspec.msgpack.Decoder(wire.Answers).decode


class RenderJob(msgspec.Struct, frozen=True):
    """The templates of one message (field → source) and the JSON to fill them with."""

    templates: Mapping[str, str]
    data: Mapping[str, object]
    html_fields: frozenset[str]
    now: datetime


class Rendered(msgspec.Struct, frozen=True):
    """The fields of one message."""

    fields: Mapping[str, str]


Result = Rendered | RenderFailed


@dataclass(frozen=True, slots=True)
class _Shape:
    """What jobs with the same templates share: what is constant, and what must be rendered."""

    constant: Mapping[str, str]
    liquid: Sequence[tuple[str, str, bool]]  # field, source, html
    plain: Sequence[tuple[str, Interpolation, bool]] | None = None  # the same, where all of them are plain

    def filled(self, data: Mapping[str, object]) -> Rendered | None:
        """The message filled in place; None if it takes Liquid."""
        if self.plain is None:
            return None
        fields = dict(self.constant)
        for name, template, html in self.plain:
            text = template.fill(data, html=html)
            if text is None:
                return None
            fields[name] = text
        return Rendered(fields)

    def result(self, answer: wire.Answer) -> Result:
        return RenderFailed(answer) if isinstance(answer, str) else Rendered({**self.constant, **answer})


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A job for the child, and where its answer goes."""

    position: int
    shape: _Shape
    data: bytes
    now: str


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


class Renderer:
    """Renders batches in one child process, started by the first batch that needs it.

    `cpu_seconds` and `wall_seconds` are for one job; after three jobs of a batch broke a limit, the others get a tenth.
    """

    def __init__(
        self, *, memory_bytes: int = 512 * 1024 * 1024, cpu_seconds: float = 2.0, wall_seconds: float = 10.0
    ) -> None:
        self._memory_bytes = memory_bytes
        self._cpu_seconds = cpu_seconds
        self._wall_seconds = wall_seconds
        self._child: _Child | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the child."""
        async with self._turn:
            await self._stop()

    @property
    def child_pid(self) -> int | None:
        """The child's process id, while there is one."""
        return self._child.process.pid if self._child else None

    async def render(self, batch: Sequence[RenderJob]) -> list[Result]:
        """Render every job of a batch, in order; a job that fails does not touch the others.

        Safe to call from several tasks: they take turns, chunk by chunk.
        """
        results: list[Result | None] = [None] * len(batch)
        waiting: list[_Waiting] = []
        for position, prepared in enumerate(_prepared(batch)):
            if isinstance(prepared, _Waiting):
                waiting.append(prepared)
            else:
                results[position] = prepared
        await self._render_waiting(waiting, results)
        return [result for result in results if result is not None]

    async def _render_waiting(self, waiting: list[_Waiting], results: list[Result | None]) -> None:
        strikes, suspicious = 0, False
        while waiting:
            chunk = waiting[: _chunk_length(waiting)]
            answers, ended = await self._attempt(chunk, flush_each=suspicious, strikes=strikes)
            if ended and suspicious:
                answers.append(ended)
            for each, answer in zip(chunk, answers, strict=False):
                results[each.position] = each.shape.result(answer)
            strikes += sum(map(wire.is_strike, answers))
            # One death may be an accident (an idle child was killed); from then on, each answer comes at once.
            suspicious = suspicious or ended is not None
            del waiting[: len(answers)]

    async def _attempt(
        self, chunk: Sequence[_Waiting], *, flush_each: bool, strikes: int
    ) -> tuple[wire.Answers, str | None]:
        """Send a chunk; return the answers, and why there are no more of them if the child died or stalled."""
        answers: wire.Answers = []
        wall_seconds = wire.patience(self._wall_seconds, strikes)
        async with self._turn:
            current = await self._started()
            request = _request(current, chunk, flush_each=flush_each, strikes=strikes, cpu_seconds=self._cpu_seconds)
            try:
                await _converse(current, _encode(request), len(chunk), answers, wall_seconds)
            except TimeoutError:
                await self._stop(at_once=True)
                return answers, f"{EXCEEDS} {wall_seconds:g} s"
            except (ConnectionError, asyncio.IncompleteReadError):
                return answers, self._limit_named(await self._stop())
            except BaseException:
                await self._stop(at_once=True)  # its answers to this chunk would be taken for those to the next
                raise
        return answers, None

    def _limit_named(self, exit_code: int | None) -> str:
        if exit_code == -signal.SIGPROF:
            return f"{EXCEEDS} {self._cpu_seconds:g} s of CPU time"
        return f"{EXCEEDS} the rendering process ({self._memory_bytes} bytes of memory): it ended with {exit_code}"

    async def _started(self) -> _Child:
        if self._child is None or self._child.process.returncode is not None:
            await self._stop()
            self._child = await self._start()
        return self._child

    async def _start(self) -> _Child:
        started = await _spawn(self._memory_bytes)
        try:
            async with asyncio.timeout(START_SECONDS):
                await _receive(started)
        except BaseException as error:
            exit_code = await _end(started, at_once=not isinstance(error, asyncio.IncompleteReadError))
            if isinstance(error, Exception):
                raise RendererUnavailable(f"the rendering process ended with {exit_code} at its start") from error
            raise
        return started

    async def _stop(self, *, at_once: bool = False) -> int | None:
        ending, self._child = self._child, None
        return await _end(ending, at_once=at_once) if ending else None


# Preparing a batch


def _prepared(batch: Sequence[RenderJob]) -> Iterator[Result | _Waiting]:
    shapes: dict[tuple[int, frozenset[str]], _Shape | RenderFailed] = {}
    for position, job in enumerate(batch):
        key = (id(job.templates), job.html_fields)
        if key not in shapes:
            shapes[key] = _shape(job)
        shape = shapes[key]
        if isinstance(shape, RenderFailed):
            yield shape
        else:
            yield shape.filled(job.data) or _waiting(position, shape, job)


def _shape(job: RenderJob) -> _Shape | RenderFailed:
    constant = {name: source for name, source in job.templates.items() if not has_liquid(source)}
    liquid = [(n, source, n in job.html_fields) for n, source in job.templates.items() if n not in constant]
    for name, source, _ in liquid:
        if len(source) > MAX_SOURCE_CHARS:
            return RenderFailed(f"{name}: the template has {len(source)} characters; the most is {MAX_SOURCE_CHARS}")
        try:
            source.encode()
        except UnicodeEncodeError as error:
            return RenderFailed(f"{name}: {error}")
    plain = [(name, template, html) for name, source, html in liquid if (template := interpolation_of(source))]
    return _Shape(constant, liquid, plain if len(plain) == len(liquid) else None)


def _waiting(position: int, shape: _Shape, job: RenderJob) -> _Waiting | RenderFailed:
    try:
        data = msgspec.json.encode(dict(job.data))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return RenderFailed(f"data: {error}")
    if len(data) > MAX_DATA_BYTES:
        return RenderFailed(f"data: {len(data)} bytes of JSON; the most is {MAX_DATA_BYTES}")
    return _Waiting(position, shape, data, job.now.isoformat())


def _chunk_length(waiting: Sequence[_Waiting]) -> int:
    """How many jobs fit in one frame; always at least one."""
    size, shapes = 0, set[int]()
    for count, each in enumerate(waiting[:MAX_CHUNK_JOBS]):
        size += len(each.data)
        if id(each.shape) not in shapes:
            shapes.add(id(each.shape))
            size += sum(len(source) for _, source, _ in each.shape.liquid)
        if count and size > MAX_CHUNK_BYTES:
            return count
    return min(len(waiting), MAX_CHUNK_JOBS)


def _request(
    current: _Child, chunk: Sequence[_Waiting], *, flush_each: bool, strikes: int, cpu_seconds: float
) -> wire.RenderRequest:
    forget = current.known_chars > MAX_KNOWN_TEMPLATE_CHARS
    if forget:
        current.forget()
    new: dict[int, str] = {}
    shapes: dict[int, int] = {}
    layouts: list[list[wire.Template]] = []
    for each in chunk:
        if id(each.shape) not in shapes:
            shapes[id(each.shape)] = len(layouts)
            layouts.append([wire.Template(n, current.learn(s, new), html) for n, s, html in each.shape.liquid])
    jobs = [wire.ChildJob(shapes[id(each.shape)], each.data, each.now) for each in chunk]
    return wire.RenderRequest(cpu_seconds, strikes, flush_each, forget, new, layouts, jobs)


# Talking to the child


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


async def _converse(current: _Child, request: bytes, count: int, answers: wire.Answers, wall_seconds: float) -> None:
    """Gather one answer for each job; the time is for one frame, and a frame never waits for more than one job."""
    async with asyncio.timeout(wall_seconds):
        current.stdin.write(len(request).to_bytes(wire.HEADER_BYTES, "little"))
        current.stdin.write(request)
        await current.stdin.drain()
    while len(answers) < count:
        async with asyncio.timeout(wall_seconds):
            answers += await _receive(current)


async def _receive(current: _Child) -> wire.Answers:
    size = int.from_bytes(await current.stdout.readexactly(wire.HEADER_BYTES), "little")
    if size > MAX_ANSWER_BYTES:
        raise ConnectionError(f"an answer of {size} bytes")
    return _decode_answers(await current.stdout.readexactly(size))


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
