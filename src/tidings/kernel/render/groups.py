"""The jobs of one call and one workspace: which are left, and what happened to the others."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidings.domain.flow.ids import Workspace
from tidings.kernel.render import child as wire
from tidings.kernel.render.jobs import MAX_CHUNK_JOBS, WaitingJob, chunk_length
from tidings.kernel.render.process import ChunkAnswers

LEAST_CHUNK_JOBS = 8


@dataclass(slots=True)
class JobGroup:
    """Jobs that wait for a process."""

    workspace: Workspace
    waiting: list[WaitingJob]
    examine: bool = False
    strikes: int = 0
    suspicious: bool = False
    """One death may be an accident (an idle child was killed); from then on, each answer comes at once."""
    most: int = MAX_CHUNK_JOBS

    def next_chunk(self) -> list[WaitingJob]:
        """Return as many as a turn will probably answer."""
        return self.waiting[: chunk_length(self.waiting, self.most)]

    def answered(self, chunk: Sequence[WaitingJob], found: ChunkAnswers) -> Iterator[tuple[WaitingJob, wire.Answer]]:
        """Take off what was answered, and yield each with its answer."""
        answers = found.answers
        if found.ended and self.suspicious:
            answers.append(found.ended)
        self.strikes += sum(map(wire.is_strike, answers))
        self.suspicious = self.suspicious or found.ended is not None
        is_short = len(answers) < len(chunk)
        self.most = max(LEAST_CHUNK_JOBS, 2 * len(answers)) if is_short else MAX_CHUNK_JOBS
        self.most = min(self.most, MAX_CHUNK_JOBS)
        del self.waiting[: len(answers)]
        return zip(chunk, answers, strict=False)


async def together(works: Iterable[Coroutine[None, None, None]]) -> None:
    """Do them at the same time; if one raises, the others are ended, and it is raised as it is."""
    first, *others = [*works] or [_nothing()]
    if not others:
        return await first
    try:
        async with asyncio.TaskGroup() as group:
            for one in (first, *others):
                group.create_task(one)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return None


async def _nothing() -> None:
    return None
