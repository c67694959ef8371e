"""The log of nodes other than sends: what each saw and produced, how long it took, and its error.

Reached from release.py, which writes it in the transaction that moves the execution; a send is described by its outbox
rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache

from tidings.domain.flow.execution import ExecutionState
from tidings.domain.flow.graph import Branch, Delay, Schedule, failure_in
from tidings.domain.people.contact import CONTACT
from tidings.kernel.flow.case import Case
from tidings.storage.release import LogEntry


def log_entries(case: Case, execution: ExecutionState, now: datetime) -> Iterable[LogEntry]:
    """One entry for each node whose result is new in this step."""
    return _entries(case, execution, now) if case.graph.logged else ()


def _entries(case: Case, execution: ExecutionState, now: datetime) -> Iterator[LogEntry]:
    known = case.loaded.execution.vars
    seen = set(known)
    for name, result in execution.vars.items():
        node = case.graph.logged.get(name)
        if node and name not in known:
            error, at = failure_in(result), _passed_at(case, name, now)
            yield LogEntry(
                execution_id=case.held.lease.id,
                node=name,
                status="failed" if error else "completed",
                output=result if isinstance(result, Mapping) else {},
                at=at,
                saw=_saw(case, node, execution),
                started_at=_started_at(case, node, at),
                error=error,
                seen=case.graph.beside(name, seen),
            )
        seen.add(name)


def _saw(case: Case, node: Delay | Branch, execution: ExecutionState) -> Mapping[str, object] | None:
    """The input to log: of a delay its time; of a branch everything it saw, of which only the contact changes later."""
    match node:
        case Branch():
            return {CONTACT: execution.input.get(CONTACT)} if case.person else None
        case Delay(schedule=Schedule() as schedule):
            return _fields(schedule)
        case Delay(until=str() as until):
            return {"until": until}
        case Delay():
            return {"seconds": node.wait.total_seconds()}


@lru_cache(maxsize=1024)
def _fields(schedule: Schedule) -> Mapping[str, object]:
    """A schedule as it is logged; cached, since it is expensive to make and the same for everyone due together."""
    return asdict(schedule)


def _passed_at(case: Case, node: str, now: datetime) -> datetime:
    """When a node was passed: before the calls of this step, or after them."""
    return case.walked_at if case.walked_at and node in case.walked else now


def _started_at(case: Case, node: Delay | Branch, now: datetime) -> datetime | None:
    """When a node's turn came; a node reached in this same step took no time."""
    ready = next((one for one in case.loaded.execution.frontier.ready if one.node == node.id), None)
    if ready is None:
        return now
    match node:
        case Branch():
            return min(ready.due_at, now)
        case Delay(until=None, schedule=None):
            return ready.due_at - node.wait
        case Delay():
            return None  # the time it waited for has replaced the time its turn came
