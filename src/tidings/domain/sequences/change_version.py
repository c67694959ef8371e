"""Where an enrollment stands when it is moved to another version of its sequence: decided here alone.

At the same step, with its time computed anew; where that step is gone, at the next one; where none is left, at the end.
Pure: kernel/manage/change_version.py reads, asks here, and writes.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

import msgspec

from tidings.domain.flow.execution import Frontier, Ready
from tidings.domain.flow.graph import Delay, Graph, OffsetFrom, Schedule
from tidings.domain.sequences.form import WAIT, Step
from tidings.domain.sequences.step_time import due_of
from tidings.domain.timing import parse_time


class Line(msgspec.Struct, frozen=True):
    """One version of a sequence: its steps in their order, and the graph they became."""

    steps: Mapping[str, Step]
    graph: Graph


class Standing(msgspec.Struct, frozen=True):
    """What deciding needs to know of an enrollment."""

    frontier: Frontier
    vars: Mapping[str, object]
    begun_at: datetime
    zone: str | None
    open_nodes: Collection[str]
    """The steps that have a message under way: being tried again, or in doubt."""


class Moved(msgspec.Struct, frozen=True):
    """Where it stands in the other version; without a cursor it has come to the end."""

    frontier: Frontier
    cursor: str | None
    due_at: datetime | None
    """When it is due; None leaves that as it is."""


class Left(msgspec.Struct, frozen=True):
    """It stays on its version for now: the other has no place for a message that is under way."""


def step_of(node: str) -> str:
    """The step that a node belongs to: a wait's or a send's."""
    return node.removeprefix(WAIT)


def move(standing: Standing, old: Line, new: Line, now: datetime) -> Moved | Left:
    """Decide about one enrollment."""
    if not standing.frontier.ready or any(node not in new.graph.nodes for node in standing.open_nodes):
        return Left()
    ready, retries = standing.frontier.ready[0], standing.frontier.retries  # a line has one
    here = step_of(ready.node)
    if here in new.steps and ready.node == here:
        # Its message is planned or sent already: it continues from there.
        return Moved(_at(new.graph, ready, retries), here, None)
    target = here if here in new.steps else _next(old.steps[here], standing.vars, new)
    if target is None:
        return Moved(Frontier((), frozenset(range(len(new.graph.edges))), frozenset(), retries), None, None)
    wait = f"{WAIT}{target}"
    due_at = _due_at(standing, new, wait, now)
    return Moved(_at(new.graph, Ready(wait, due_at), retries), wait, due_at)


def _next(gone: Step, passed: Collection[str], new: Line) -> str | None:
    """The first step from the gone one's place on that was not passed before."""
    return next((id for id, step in new.steps.items() if step.order >= gone.order and id not in passed), None)


def _at(graph: Graph, ready: Ready, retries: int) -> Frontier:
    """Standing at one node of a line: every edge in front of it has arrived."""
    return Frontier((ready,), frozenset(range(graph.order[ready.node])), frozenset(), retries)


def _due_at(standing: Standing, new: Line, wait: str, now: datetime) -> datetime:
    """Its time anew; the plan is made now, so what is past is due now and not late."""
    node = new.graph.nodes[wait]
    if not isinstance(node, Delay) or node.schedule is None:
        raise AssertionError(f"{wait!r} is not a wait of a sequence")
    return max(now, due_of(node.schedule, _base(standing, node.schedule), standing.zone))


def _base(standing: Standing, schedule: Schedule) -> datetime:
    """The enrollment, or when the last step was done: `vars` has the time of each."""
    if schedule.offset_from is OffsetFrom.ENROLLMENT:
        return standing.begun_at
    times = [result["at"] for result in standing.vars.values() if isinstance(result, Mapping) and "at" in result]
    return max((parse_time(at) for at in times if isinstance(at, str)), default=standing.begun_at)
