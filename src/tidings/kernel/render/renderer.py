"""Render templates in child processes, so that no template can take down a worker, nor hold up another tenant's.

A message that only inserts values is filled in place (domain/content/interpolation.py): it has nothing to confine.
Called while planning, when no transaction is open. A job that breaks a limit fails alone: the child answers jobs in
order and mostly fails them itself (child.py says how); if it dies or stalls, it is started again and the jobs without
an answer are sent once more, each answered at once. The first without an answer then is the one that did it.

Everybody shares one process, in turns by tenant, then by workspace. A turn ends after a moment, whatever is left of
the chunk, and a job may use only a moment there: one that needs more is not failed but moved, with its tenant, to the
second process, which gives it all of its time. So expensive templates wait only for each other.
"""

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import msgspec

from tidings.domain.content.template_facts import TemplateFacts
from tidings.domain.flow.ids import Workspace
from tidings.kernel.process.turns import FairTurns
from tidings.kernel.render import child as wire
from tidings.kernel.render.groups import JobGroup, together
from tidings.kernel.render.jobs import JobShape, Rendered, RenderJob, Result, WaitingJob, prepared
from tidings.kernel.render.process import ChunkAnswers, ProcessLimits, RenderProcess
from tidings.kernel.render.slow_tenants import SlowTenants

__all__ = ["RenderJob", "Rendered", "Renderer", "Result"]

TURN_SECONDS = 0.1
"""After which a process answers what it has, and another tenant has its turn."""
MOMENT_SECONDS = 0.25
"""The CPU time that a job may use in the process that everybody shares."""
SLOW_JOB_SECONDS = 0.1
"""A tenant whose jobs use more than this each renders apart."""
FACTS = "facts"
_decode_facts = msgspec.json.Decoder(TemplateFacts).decode


class Renderer:
    """Renders batches in two child processes, each started by the first batch that needs it.

    `cpu_seconds` and `wall_seconds` are for one job; after three jobs of a batch broke a limit, the others get a tenth.
    """

    def __init__(
        self,
        *,
        memory_bytes: int = 512 * 1024 * 1024,
        cpu_seconds: float = 2.0,
        wall_seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        full = ProcessLimits(memory_bytes, cpu_seconds, wall_seconds)
        shared = ProcessLimits(memory_bytes, min(cpu_seconds, MOMENT_SECONDS), wall_seconds)
        self._shared, self._apart = RenderProcess(shared), RenderProcess(full)
        self._turns = {self._shared: FairTurns(), self._apart: FairTurns()}
        self._slow = SlowTenants(clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the children."""
        for process, turns in self._turns.items():
            async with turns.turn(Workspace()):
                await process.stop()

    @property
    def child_pid(self) -> int | None:
        """The process id of the child that everybody shares, while there is one."""
        return self._shared.pid

    @property
    def is_busy(self) -> bool:
        """Whether a child is at work."""
        return any(turns.is_taken for turns in self._turns.values())

    async def render(self, batch: Sequence[RenderJob]) -> list[Result]:
        """Render every job of a batch, in order; a job that fails does not touch the others.

        Safe to call from several tasks: they take turns, by tenant and workspace.
        """
        results: list[Result | None] = [None] * len(batch)
        groups: dict[Workspace, list[WaitingJob]] = {}
        for position, one in enumerate(prepared(batch)):
            if isinstance(one, WaitingJob):
                groups.setdefault(batch[position].workspace, []).append(one)
            else:
                results[position] = one
        await together(self._render_group(JobGroup(*one), results) for one in groups.items())
        return [result for result in results if result is not None]

    async def examine(self, workspace: Workspace, sources: Sequence[str]) -> list[TemplateFacts]:
        """Return what is to be known of templates before they are stored; one that takes too long is invalid."""
        results: list[Result | None] = [None] * len(sources)
        waiting = [
            WaitingJob(position, JobShape({}, [(FACTS, source, False)]), b"{}", "")
            for position, source in enumerate(sources)
        ]
        await self._render_group(JobGroup(workspace, waiting, examine=True), results)
        return [
            _decode_facts(one.fields[FACTS]) if isinstance(one, Rendered) else TemplateFacts.unknown(one.reason)
            for one in results
            if one is not None
        ]

    async def _render_group(self, group: JobGroup, results: list[Result | None]) -> None:
        while group.waiting:
            process = self._process_for(group.workspace)
            async with self._turns[process].turn(group.workspace):
                if process is not self._process_for(group.workspace):
                    continue  # its tenant was slow elsewhere meanwhile
                chunk = group.next_chunk()
                found = await process.ask(chunk, self._terms(process, group))
            self._judge(process, group, found)
            for each, answer in group.answered(chunk, found):
                results[each.position] = each.shape.result(answer)

    def _process_for(self, workspace: Workspace) -> RenderProcess:
        return self._apart if self._slow.has(workspace.tenant) else self._shared

    def _terms(self, process: RenderProcess, group: JobGroup) -> wire.Terms:
        limits = process.limits
        return wire.Terms(
            cpu_seconds=limits.cpu_seconds,
            strikes=group.strikes,
            turn_seconds=TURN_SECONDS,
            flush_each=group.suspicious,
            stop_at_strike=process is self._shared,
            examine=group.examine,
        )

    def _judge(self, process: RenderProcess, group: JobGroup, found: ChunkAnswers) -> None:
        """Send a tenant apart that was slow, and take back what was only too slow for the shared process."""
        answers = found.answers
        struck = bool(answers) and wire.is_strike(answers[-1])
        died_again = found.ended is not None and group.suspicious
        if struck or died_again or found.cpu_seconds > SLOW_JOB_SECONDS * max(len(answers), 1):
            self._slow.add(group.workspace.tenant)
        if process is self._apart:
            return
        if struck and self._shared.limits.cpu_seconds < self._apart.limits.cpu_seconds:
            answers.pop()
        if died_again:
            found.ended = None  # the other process decides which job did it
