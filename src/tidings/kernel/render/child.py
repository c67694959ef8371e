"""The process that renders untrusted templates: `python -m tidings.kernel.render.child MEMORY_BYTES`.

Started and fed by renderer.py, over stdin and stdout: frames of four bytes of length and msgpack. It lives as long as
its stdin is open and no longer, so a parent that was killed leaves nothing behind; signals are the parent's to handle.

Three limits, from the inside out. A timer of CPU time per job raises inside Python, so that a job which loops fails
alone and the process goes on. RLIMIT_AS makes an allocation fail, which is caught the same way. A second timer ends
the process where Python cannot be interrupted (one long call into C), also when no parent is left to do so.
RLIMIT_CPU was tried for that and rejected: it counts from the start of the process, on a clock that no call reads
(the kernel's own count ran 5 % ahead of getrusage), so moving it ahead of honest work killed honest work.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import msgspec

from tidings.domain.content.finish import Unfinished, finish_email
from tidings.domain.content.links import problem_of_links
from tidings.domain.content.template import RenderFailed, facts_of, forget_parsed, render

HEADER_BYTES = 4
EXCEEDS = "exceeds the limit of"
FLUSH_BYTES = 256 * 1024
FLUSH_SECONDS = 0.005
REPEAT_SECONDS = 0.05
KILL_FACTOR = 4

Fields = dict[str, str]
Answer = Fields | str  # the rendered fields, or why there are none
Answers = list[Answer]


class Template(msgspec.Struct, array_like=True, frozen=True):
    """One field of a shape: which template, and whether its values are escaped."""

    field: str
    template: int
    html: bool


class ChildShape(msgspec.Struct, array_like=True, frozen=True):
    """The fields of jobs with the same templates, and whether they are then made into an e-mail."""

    fields: list[Template]
    finish: bool = False


class ChildJob(msgspec.Struct, array_like=True, frozen=True):
    """One set of fields to render, as an index into the request's shapes, with its data as JSON."""

    shape: int
    data: bytes
    now: str


class Terms(msgspec.Struct, array_like=True, frozen=True):
    """How jobs are to be answered, and when to stop."""

    cpu_seconds: float
    """For one job."""
    strikes: int = 0
    """How many jobs of the batch have broken a limit before."""
    turn_seconds: float = 1.0
    """After which the jobs that are left go unanswered."""
    flush_each: bool = False
    """Send every answer at once, so that the first unanswered job is the one that ended the process."""
    stop_at_strike: bool = False
    """Leave the other jobs unanswered once one has broken a limit."""
    examine: bool = False
    """Answer with the facts of the templates instead of rendering them."""


class RenderRequest(msgspec.Struct, array_like=True, frozen=True):
    """Jobs to answer in order; templates that this process has not seen yet come with them.

    `forget` drops the templates seen so far.
    """

    how: Terms
    forget: bool
    templates: dict[int, str]
    shapes: list[ChildShape]
    jobs: list[ChildJob]


def patience(seconds: float, strikes: int) -> float:
    """The CPU time for one job: a tenth once three of its batch broke a limit, so that every batch ends."""
    return seconds / 10 if strikes >= 3 else seconds


def is_strike(answer: Answer) -> bool:
    """Whether a job was stopped by a limit of the process, as opposed to one of Liquid, which costs nothing."""
    return isinstance(answer, str) and answer.startswith(EXCEEDS)


class CpuExceeded(BaseException):
    """Raised by the timer; no `except Exception` on the way can swallow it."""


class Child:
    """Answers requests until its input ends."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, memory_bytes: int) -> None:
        self._source = source
        self._sink = sink
        self._memory_bytes = memory_bytes
        self._templates: dict[int, str] = {}
        self._timed = False
        self._work: Callable[[ChildShape, ChildJob], Answer] = self._render
        self._decode_request = msgspec.msgpack.Decoder(RenderRequest).decode
        self._decode_data = msgspec.json.Decoder(dict[str, object]).decode
        self._encode = msgspec.msgpack.Encoder().encode

    def serve(self) -> None:
        """Say that the process is ready, then answer until the input ends."""
        signal.signal(signal.SIGVTALRM, self._on_timer)  # SIGPROF keeps its default: it ends the process
        self._send([])
        while frame := self._receive():
            self._answer(self._decode_request(frame))

    def _receive(self) -> bytes | None:
        header = self._source.read(HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            return None
        return self._source.read(int.from_bytes(header, "little"))

    def _send(self, sent: Answers | float) -> None:
        frame = self._encode(sent)
        self._sink.write(len(frame).to_bytes(HEADER_BYTES, "little") + frame)
        self._sink.flush()

    def _answer(self, request: RenderRequest) -> None:
        if request.forget:
            self._templates.clear()
        self._templates.update(request.templates)
        started = time.process_time()
        for answers in _batched(self._answers(request), flush_each=request.how.flush_each):
            self._send(answers)
        self._send(time.process_time() - started)

    def _answers(self, request: RenderRequest) -> Iterator[Answer]:
        how, strikes = request.how, request.how.strikes
        self._work = self._examine if how.examine else self._render
        until = time.monotonic() + how.turn_seconds
        for job in request.jobs:
            answer = self._within_limits(request.shapes[job.shape], job, patience(how.cpu_seconds, strikes))
            strikes += is_strike(answer)
            yield answer
            if time.monotonic() > until or (how.stop_at_strike and is_strike(answer)):
                return

    def _within_limits(self, shape: ChildShape, job: ChildJob, cpu_seconds: float) -> Answer:
        self._timed = True
        try:
            signal.setitimer(signal.ITIMER_PROF, KILL_FACTOR * cpu_seconds)
            # It fires again: what a signal handler raises can get lost, as in a finalizer.
            signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds, REPEAT_SECONDS)
            return self._render_twice_if_memory_is_short(shape, job)
        except CpuExceeded:
            return f"{EXCEEDS} {cpu_seconds:g} s of CPU time"
        finally:
            self._timed = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _on_timer(self, _number: int, _frame: FrameType | None) -> None:
        if self._timed:
            raise CpuExceeded

    def _render_twice_if_memory_is_short(self, shape: ChildShape, job: ChildJob) -> Answer:
        with contextlib.suppress(MemoryError):
            return self._work(shape, job)
        forget_parsed()  # this job must not fail because of the templates of other jobs
        try:
            return self._work(shape, job)
        except MemoryError:
            return f"{EXCEEDS} {self._memory_bytes} bytes of memory"

    def _examine(self, shape: ChildShape, _job: ChildJob) -> Answer:
        found = {each.field: facts_of(self._templates[each.template]) for each in shape.fields}
        return {field: msgspec.json.encode(facts).decode() for field, facts in found.items()}

    def _render(self, shape: ChildShape, job: ChildJob) -> Answer:
        try:
            data = self._decode_data(job.data)
        except (msgspec.DecodeError, RecursionError) as error:
            return f"data: {error}"
        now = datetime.fromisoformat(job.now)
        fields: Fields = {}
        for each in shape.fields:
            source = self._templates[each.template]
            result = render(source, data, html=each.html, now=now)
            if isinstance(result, RenderFailed):
                return f"{each.field}: {result.reason}"
            if each.html and result is not source and (problem := problem_of_links(result)):
                return f"{each.field}: {problem}"
            fields[each.field] = result
        return _finished(fields) if shape.finish else fields


def _finished(fields: Fields) -> Answer:
    try:
        return finish_email(fields)
    except Unfinished as error:
        return str(error)


def _batched(answers: Iterator[Answer], *, flush_each: bool) -> Iterator[Answers]:
    """Gather answers until they are large or late; no answer waits longer than the flush time for another job."""
    batch: Answers = []
    size, started = 0, time.monotonic()
    for answer in answers:
        batch.append(answer)
        size += _size(answer)
        if flush_each or size > FLUSH_BYTES or time.monotonic() - started > FLUSH_SECONDS:
            yield batch
            batch, size, started = [], 0, time.monotonic()
    if batch:
        yield batch


def _size(answer: Answer) -> int:
    return sum(map(len, answer.values())) if isinstance(answer, Mapping) else len(answer)


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _limit_memory(memory_bytes: int) -> None:
    """Allow that much beyond what the process has mapped already; where the system has no such limit, do without."""
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _warm_up() -> None:
    """Import Liquid and build both environments before the memory is measured."""
    for html in (False, True):
        render("{{ x | date: '%Y' }}", {"x": "1 May 2026"}, html=html, now=datetime(2026, 1, 1, tzinfo=UTC))


def main() -> None:
    """Serve the parent on stdin and stdout; nothing else can write to them."""
    _ignore_signals()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    memory_bytes = int(sys.argv[1])
    _warm_up()
    _limit_memory(memory_bytes)
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        Child(sys.stdin.buffer, sink, memory_bytes).serve()
    os._exit(0)


if __name__ == "__main__":
    main()
