"""An execution: one walk through a frozen graph, and what it does next.

Everything here is a pure function of (graph, execution, its items, now). kernel/plan.py asks before the calls,
kernel/release.py asks again after them; neither decides anything itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import assert_never
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tidings.domain.doubt import LOOK_AGAIN
from tidings.domain.graph import Delay, Graph, OnDoubt, OnFailure, Send
from tidings.domain.item import SUCCESSES, ItemStatus


class ExecutionStatus(StrEnum):
    """The stored states; `processing` is derived: leased, or past its first node."""

    ENQUEUED = "enqueued"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Ready(msgspec.Struct, frozen=True):
    """A node whose turn has come, and when it is due."""

    node: str
    due_at: datetime


class Frontier(msgspec.Struct, frozen=True):
    """Where a walk stands: its ready nodes, and which edges have arrived or are dead; all others are open."""

    ready: tuple[Ready, ...] = ()
    arrived: frozenset[int] = frozenset()
    dead: frozenset[int] = frozenset()


class Execution(msgspec.Struct, frozen=True):
    """What is stored of one walk, as far as deciding needs it."""

    id: UUID
    status: ExecutionStatus
    frontier: Frontier
    vars: Mapping[str, object]
    attempts: int = 0
    error: str | None = None
    error_node: str | None = None


class ItemState(msgspec.Struct, frozen=True):
    """What deciding needs to know of one item."""

    node: str
    status: ItemStatus
    in_doubt: bool
    retry_at: datetime | None
    attempts: int
    message_id: str | None
    error: str | None


class Plan(msgspec.Struct, frozen=True):
    """Reserve the items of this node."""

    node: Send


class Deliver(msgspec.Struct, frozen=True):
    """Call the provider for the items of this node that are due."""

    node: Send


class Sleep(msgspec.Struct, frozen=True):
    """Nothing to do before then."""

    until: datetime


class Finish(msgspec.Struct, frozen=True):
    """The walk has ended."""


Action = Plan | Deliver | Sleep | Finish


def begin(graph: Graph, now: datetime) -> Frontier:
    """Stand at the entry."""
    return Frontier(ready=(_arrive(graph, graph.entry, now),))


def decide(graph: Graph, execution: Execution, items: Sequence[ItemState], now: datetime) -> tuple[Execution, Action]:
    """Walk as far as possible without a provider, and say what comes next; deciding twice changes nothing.

    One node at a time, in the order of due time, then of definition (rule 13). A node that has to wait for its items
    takes their time as its own, so it holds up no other branch.
    """
    execution, action = _walk(graph, _reckoned(graph, execution, items, now), items, now)
    attempts = _attempts(execution.frontier, items)
    return (execution if attempts == execution.attempts else replace(execution, attempts=attempts)), action


def _attempts(frontier: Frontier, items: Sequence[ItemState]) -> int:
    """How often the walk has tried what it stands at."""
    if not items or not frontier.ready:
        return 0
    standing = {ready.node for ready in frontier.ready}
    return max((item.attempts for item in items if item.node in standing), default=0)


def _walk(graph: Graph, execution: Execution, items: Sequence[ItemState], now: datetime) -> tuple[Execution, Action]:
    while True:
        if execution.status is ExecutionStatus.FAILED or execution.status is ExecutionStatus.CANCELLED:
            return execution, Finish()
        ready = first_ready(graph, execution.frontier)
        if ready is None:
            return replace(execution, status=ExecutionStatus.COMPLETED), Finish()
        if ready.due_at > now:
            return execution, Sleep(ready.due_at)
        node = graph.nodes[ready.node]
        match node:
            case Delay():
                execution = _completed(graph, execution, node.id, {"status": "completed"}, now)
            case Send():
                outcome = _after_send(graph, execution, node, [one for one in items if one.node == node.id], now)
                if not isinstance(outcome, Execution):
                    return execution, outcome
                execution = outcome
            case _:
                assert_never(node)


def first_ready(graph: Graph, frontier: Frontier) -> Ready | None:
    """The ready node that is due first."""
    if len(frontier.ready) == 1:
        return frontier.ready[0]
    return min(frontier.ready, key=lambda ready: (ready.due_at, graph.order[ready.node]), default=None)


def _reckoned(graph: Graph, execution: Execution, items: Sequence[ItemState], now: datetime) -> Execution:
    """Take each started send's time from its items: a fact or a person may have changed them since it was stored."""
    if not items:
        return execution

    def reckoned(ready: Ready) -> Ready:
        node, own = graph.nodes[ready.node], [item for item in items if item.node == ready.node]
        if isinstance(node, Delay) or not own:
            return ready
        return Ready(ready.node, min((_due_at(item, now) for item in own if _holds(item, node)), default=now))

    ready = tuple(reckoned(one) for one in execution.frontier.ready)
    return replace(execution, frontier=Frontier(ready, execution.frontier.arrived, execution.frontier.dead))


def _after_send(
    graph: Graph, execution: Execution, node: Send, items: Sequence[ItemState], now: datetime
) -> Execution | Plan | Deliver:
    if not items:
        return Plan(node)
    if any(_holds(item, node) for item in items):
        return Deliver(node)
    return _settled(graph, execution, node, items, now)


def _holds(item: ItemState, node: Send) -> bool:
    if item.status is not ItemStatus.QUEUED:
        return False
    is_held = item.in_doubt and item.retry_at is None
    return not is_held or node.on_doubt is OnDoubt.HOLD


def _due_at(item: ItemState, now: datetime) -> datetime:
    if item.in_doubt and item.retry_at is None:
        return now + LOOK_AGAIN  # parked; a fact or a person wakes it earlier
    return item.retry_at or now


def _settled(graph: Graph, execution: Execution, node: Send, items: Sequence[ItemState], now: datetime) -> Execution:
    failed = [item for item in items if item.status is ItemStatus.FAILED]
    is_failure = bool(failed) and not any(item.status in SUCCESSES or item.in_doubt for item in items)
    result = _result(items, now)
    if is_failure and node.on_failure is OnFailure.ABORT:
        return replace(
            execution,
            status=ExecutionStatus.FAILED,
            vars={**execution.vars, node.id: result},
            error=failed[0].error,
            error_node=node.id,
        )
    return _completed(graph, execution, node.id, result, now)


def _result(items: Sequence[ItemState], now: datetime) -> Mapping[str, object]:
    """What `vars.<node>` shows: of several recipients, the one that went best."""
    best = min(items, key=lambda item: (item.status not in SUCCESSES, not item.in_doubt, item.status))
    shown: dict[str, object] = {
        "status": "in_doubt" if best.in_doubt else best.status.value,
        "messageId": best.message_id,
        "at": now.isoformat(),
    }
    return shown | ({"error": best.error} if best.error else {})


def _completed(graph: Graph, execution: Execution, node: str, result: Mapping[str, object], now: datetime) -> Execution:
    return replace(
        execution,
        frontier=pass_node(graph, execution.frontier, node, now),
        vars={**execution.vars, node: result},
    )


def pass_node(
    graph: Graph, frontier: Frontier, node: str, now: datetime, taken: Iterable[int] | None = None
) -> Frontier:
    """Leave a node by the edges it takes (all of them unless given); the others die, and death spreads.

    A node is ready when none of its in-edges is open and at least one has arrived, so it runs at most once.
    """
    out = set(graph.edges_out[node])
    chosen = out if taken is None else out & set(taken)
    arrived, dead = frontier.arrived | chosen, set(frontier.dead | (out - chosen))
    ready = [one for one in frontier.ready if one.node != node]
    settling = [graph.edges[edge].target for edge in sorted(out)]
    while settling:
        target = settling.pop(0)
        edges = graph.edges_in[target]
        if any(edge not in arrived and edge not in dead for edge in edges):
            continue
        if arrived.isdisjoint(edges):
            fresh = set(graph.edges_out[target]) - dead
            dead |= fresh
            settling.extend(graph.edges[edge].target for edge in sorted(fresh))
        elif all(one.node != target for one in ready):
            ready.append(_arrive(graph, target, now))
    return Frontier(tuple(ready), arrived, frozenset(dead))


def _arrive(graph: Graph, node: str, now: datetime) -> Ready:
    reached = graph.nodes[node]
    return Ready(node, now + reached.wait if isinstance(reached, Delay) else now)
