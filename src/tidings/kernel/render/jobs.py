"""What is asked of the rendering processes, prepared: templates apart from data, and whatever needs no process done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from tidings.domain.content.interpolation import Interpolation, interpolation_of
from tidings.domain.content.links import problem_of_links
from tidings.domain.content.template import MAX_SOURCE_CHARS, RenderFailed, has_liquid
from tidings.domain.flow.ids import Workspace
from tidings.kernel.render import child as wire

MAX_CHUNK_JOBS = 500
MAX_CHUNK_BYTES = 4_000_000
MAX_DATA_BYTES = 4_000_000


class RenderJob(msgspec.Struct, frozen=True):
    """The templates of one message (field → source), the JSON to fill them with, and whose message it is."""

    templates: Mapping[str, str]
    data: Mapping[str, object]
    html_fields: frozenset[str]
    now: datetime
    workspace: Workspace
    finish: bool = False
    """Whether the process makes an e-mail of what was rendered (domain/content/finish.py)."""


class Rendered(msgspec.Struct, frozen=True):
    """The fields of one message."""

    fields: Mapping[str, str]


Result = Rendered | RenderFailed


@dataclass(frozen=True, slots=True)
class JobShape:
    """What jobs with the same templates share: what is constant, and what must be rendered."""

    constant: Mapping[str, str]
    liquid: Sequence[tuple[str, str, bool]]  # field, source, html
    finish: bool = False
    plain: Sequence[tuple[str, Interpolation, bool]] | None = None  # the same, where all of them are plain

    def filled(self, data: Mapping[str, object]) -> Result | None:
        """The message filled in place; None if it takes Liquid, or a process makes more of it."""
        if self.plain is None:
            return None
        fields = dict(self.constant)
        for name, template, html in self.plain:
            text = template.fill(data, html=html)
            if text is None:
                return None
            if html and (problem := problem_of_links(text)):
                return RenderFailed(f"{name}: {problem}")
            fields[name] = text
        return Rendered(fields)

    def result(self, answer: wire.Answer) -> Result:
        """What a process answered, with what it was not asked for."""
        return RenderFailed(answer) if isinstance(answer, str) else Rendered({**self.constant, **answer})


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job for a rendering process, and where its answer goes."""

    position: int
    shape: JobShape
    data: bytes
    now: str


def prepared(batch: Sequence[RenderJob]) -> Iterator[Result | WaitingJob]:
    """Yield for each job its result, where no process is needed for it, or what to ask."""
    shapes: dict[tuple[int, frozenset[str], bool], JobShape | RenderFailed] = {}
    for position, job in enumerate(batch):
        key = (id(job.templates), job.html_fields, job.finish)
        if key not in shapes:
            shapes[key] = _shape(job)
        shape = shapes[key]
        if isinstance(shape, RenderFailed):
            yield shape
        else:
            yield shape.filled(job.data) or _waiting(position, shape, job)


def _shape(job: RenderJob) -> JobShape | RenderFailed:
    fixed = {name: source for name, source in job.templates.items() if not has_liquid(source)}
    constant = {} if job.finish else fixed
    liquid = [(n, source, n in job.html_fields) for n, source in job.templates.items() if n not in constant]
    for name, source, _ in liquid:
        if len(source) > MAX_SOURCE_CHARS and name not in fixed:
            return RenderFailed(f"{name}: the template has {len(source)} characters; the most is {MAX_SOURCE_CHARS}")
        try:
            source.encode()
        except UnicodeEncodeError as error:
            return RenderFailed(f"{name}: {error}")
    plain = [(name, template, html) for name, source, html in liquid if (template := interpolation_of(source))]
    return JobShape(constant, liquid, job.finish, plain if len(plain) == len(liquid) and not job.finish else None)


def _waiting(position: int, shape: JobShape, job: RenderJob) -> WaitingJob | RenderFailed:
    try:
        data = msgspec.json.encode(dict(job.data))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return RenderFailed(f"data: {error}")
    if len(data) > MAX_DATA_BYTES:
        return RenderFailed(f"data: {len(data)} bytes of JSON; the most is {MAX_DATA_BYTES}")
    return WaitingJob(position, shape, data, job.now.isoformat())


def chunk_length(waiting: Sequence[WaitingJob], most: int) -> int:
    """How many jobs fit in one frame; always at least one."""
    size, shapes = 0, set[int]()
    for count, each in enumerate(waiting[:most]):
        size += len(each.data)
        if id(each.shape) not in shapes:
            shapes.add(id(each.shape))
            size += sum(len(source) for _, source, _ in each.shape.liquid)
        if count and size > MAX_CHUNK_BYTES:
            return count
    return min(len(waiting), most)
