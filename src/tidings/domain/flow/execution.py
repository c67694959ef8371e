"""An execution: one walk through a frozen graph, and what it does next.

Everything here is a pure function of (graph, execution, its items, now). kernel/flow/plan.py asks before the calls,
kernel/flow/release.py asks again after them; neither decides anything itself.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import assert_never
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tidings.domain.content.interpolation import interpolation_of
from tidings.domain.flow.condition import holds
from tidings.domain.flow.doubt import LOOK_AGAIN
from tidings.domain.flow.graph import Branch, Delay, Doer, Function, Graph, Node, OnDoubt, OnFailure, Send, failure
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.node_result import failure_of, result_of
from tidings.domain.people.contact import LoadedContact
from tidings.domain.sequences.step_time import Times, arrival, kept_plan, planned_at, zone_of
from tidings.domain.timing import parse_time


class ExecutionStatus(StrEnum):
    """The stored states; one that has started and goes on is shown as `processing`."""

    ENQUEUED = "enqueued"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Ready(msgspec.Struct, frozen=True):
    """A node whose turn has come, and when it is due."""

    node: str
    due_at: datetime
    planned_at: datetime | None = None  # of a send that may not be late, once `due_at` is its items' time


class Frontier(msgspec.Struct, frozen=True):
    """Where a walk stands: its ready nodes, and which edges have arrived or are dead; all others are open."""

    ready: tuple[Ready, ...] = ()
    arrived: frozenset[int] = frozenset()
    dead: frozenset[int] = frozenset()
    retries: int = 0  # how often nodes passed so far had to be tried again


class ExecutionState(msgspec.Struct, frozen=True):
    """The stored fields of one walk that deciding needs."""

    id: UUID
    status: ExecutionStatus
    frontier: Frontier
    vars: Mapping[str, object]
    begun_at: datetime  # a replay does not change it: a schedule keeps its plan
    attempts: int = 0
    error: str | None = None
    error_node: str | None = None
    input: Mapping[str, object] = msgspec.field(default_factory=dict)
    contact: LoadedContact | None = None  # as it is now: what branches ask of it; never stored


class ItemState(msgspec.Struct, frozen=True):
    """What deciding needs to know of one item."""

    node: str
    status: ItemStatus
    in_doubt: bool
    retry_at: datetime | None
    attempts: int
    message_id: str | None
    error: str | None
    result: object = None  # the result of a function


class Plan(msgspec.Struct, frozen=True):
    """Reserve the items of this node."""

    node: Doer


class Deliver(msgspec.Struct, frozen=True):
    """Call the provider for the items of this node that are due."""

    node: Doer


class Sleep(msgspec.Struct, frozen=True):
    """Do nothing before this time."""

    until: datetime


class Finish(msgspec.Struct, frozen=True):
    """The walk has ended."""


Action = Plan | Deliver | Sleep | Finish

# Asked several times for every item: reading a member from its enum takes longer than comparing it.
_QUEUED = ItemStatus.QUEUED
_STOPPED = (ExecutionStatus.FAILED, ExecutionStatus.CANCELLED)


def begin(graph: Graph, now: datetime, contact: Mapping[str, object] | None = None) -> Frontier:
    """Return the frontier at the entry."""
    times = Times(now, now, now, zone_of(contact))
    return Frontier(ready=(Ready(graph.entry, arrival(graph, graph.entry, times)),))


def decide(
    graph: Graph, execution: ExecutionState, items: Sequence[ItemState], now: datetime
) -> tuple[ExecutionState, Action]:
    """Walk as far as possible without a provider, and return what comes next; deciding twice changes nothing.

    One node at a time, in the order of due time, then of definition (rule 13). A node that has to wait for its items
    takes their time as its own, so it holds up no other branch.
    """
    execution, action = _walk(graph, _reckoned(graph, execution, items, now), items, now)
    attempts = _attempts(execution, items)
    return (execution if attempts == execution.attempts else replace(execution, attempts=attempts)), action


def _attempts(execution: ExecutionState, items: Sequence[ItemState]) -> int:
    """Count attempts: one as soon as anything was tried, and one more for each time a node had to be tried again."""
    standing = [ready.node for ready in execution.frontier.ready]
    tried = max([item.attempts for item in items if item.node in standing], default=0)
    if not tried and (execution.attempts or any(item.attempts for item in items)):
        tried = 1
    return execution.frontier.retries + tried


def _walk(
    graph: Graph, execution: ExecutionState, items: Sequence[ItemState], now: datetime
) -> tuple[ExecutionState, Action]:
    while True:
        if execution.status in _STOPPED:
            return execution, Finish()
        ready = first_ready(graph, execution.frontier)
        if ready is None:
            return replace(execution, status=ExecutionStatus.COMPLETED), Finish()
        if ready.due_at > now:
            return execution, Sleep(ready.due_at)
        outcome = _step(graph, execution, graph.nodes[ready.node], items, now)
        if not isinstance(outcome, ExecutionState):
            return execution, outcome
        execution = outcome


def _step(
    graph: Graph, execution: ExecutionState, node: Node, items: Sequence[ItemState], now: datetime
) -> ExecutionState | Plan | Deliver:
    match node:
        case Send() | Function():
            return _after_items(graph, execution, node, [one for one in items if one.node == node.id], now)
        case Delay(until=None):
            return _completed(graph, execution, node.id, {"status": "completed"}, now)
        case Delay():
            return _waited(graph, execution, node, now)
        case Branch():
            return _branched(graph, execution, node, now)
        case _:
            assert_never(node)


def _waited(graph: Graph, execution: ExecutionState, node: Delay, now: datetime) -> ExecutionState:
    """Pass a delay whose time has come; before that, the node takes that time as its own."""
    text = _until_text(graph, execution, node)
    try:
        until = parse_time(text)
    except ValueError as error:
        return _failed(execution, node.id, f"until: {error}")
    if until <= now:
        return _completed(graph, execution, node.id, {"status": "completed"}, now)
    ready = tuple(Ready(one.node, until) if one.node == node.id else one for one in execution.frontier.ready)
    return replace(execution, frontier=replace(execution.frontier, ready=ready))


def _until_text(graph: Graph, execution: ExecutionState, node: Delay) -> str:
    source = node.until or ""
    named = interpolation_of(source)
    if named is None or not named.parts:
        return source
    return named.fill(graph.context(execution.input, execution.vars), html=False) or ""


def _branched(graph: Graph, execution: ExecutionState, node: Branch, now: datetime) -> ExecutionState:
    """Leave by the first edge whose condition holds, or else by the one without; if there is none, this path ends."""
    context = graph.context(execution.input, execution.vars)
    out = sorted(graph.edges_out[node.id], key=lambda place: graph.edges[place].condition is None)
    taken = next((place for place in out if _is_open(graph, place, context, execution.contact, now)), None)
    result = {"status": "completed", "taken": None if taken is None else graph.edges[taken].target}
    return _completed(graph, execution, node.id, result, now, taken=() if taken is None else (taken,))


def _is_open(
    graph: Graph, edge: int, context: Mapping[str, object], contact: LoadedContact | None, now: datetime
) -> bool:
    condition = graph.edges[edge].condition
    return condition is None or holds(condition, context, now, contact)


def first_ready(graph: Graph, frontier: Frontier) -> Ready | None:
    """The ready node that is due first."""
    if len(frontier.ready) <= 1:
        return frontier.ready[0] if frontier.ready else None
    return min(frontier.ready, key=lambda ready: (ready.due_at, graph.order[ready.node]))


def _reckoned(graph: Graph, execution: ExecutionState, items: Sequence[ItemState], now: datetime) -> ExecutionState:
    """Set each started node's time from its items: a fact or a person may have changed them since it was stored."""
    if not items:
        return execution
    ready = tuple([_by_its_items(graph.nodes[one.node], one, items, now) for one in execution.frontier.ready])
    return replace(execution, frontier=replace(execution.frontier, ready=ready))


def _by_its_items(node: Node, ready: Ready, items: Sequence[ItemState], now: datetime) -> Ready:
    own = [item for item in items if item.node == ready.node]
    if not own or not isinstance(node, Doer):
        return ready
    times = [_due_at(item, now) for item in own if _holds(item, node)]
    return Ready(ready.node, min(times) if times else now, kept_plan(node, ready.planned_at or ready.due_at))


def _after_items(
    graph: Graph, execution: ExecutionState, node: Doer, items: Sequence[ItemState], now: datetime
) -> ExecutionState | Plan | Deliver:
    if not items:
        return Plan(node)
    for item in items:
        if _holds(item, node):
            return Deliver(node)
    return _settled(graph, execution, node, items, now)


def _holds(item: ItemState, node: Doer) -> bool:
    if item.status is not _QUEUED:
        return False
    is_held = item.in_doubt and item.retry_at is None
    return not is_held or node.on_doubt is OnDoubt.HOLD


def _due_at(item: ItemState, now: datetime) -> datetime:
    if item.in_doubt and item.retry_at is None:
        return now + LOOK_AGAIN  # parked; a fact or a person wakes it earlier
    return item.retry_at or now


def _settled(
    graph: Graph, execution: ExecutionState, node: Doer, items: Sequence[ItemState], now: datetime
) -> ExecutionState:
    error, result = failure_of(node, items), result_of(node, items, now)
    if error is not None and node.on_failure is OnFailure.ABORT:
        return _failed(execution, node.id, error, result)
    retries = max(item.attempts for item in items) - 1
    if retries > 0:
        frontier = replace(execution.frontier, retries=execution.frontier.retries + retries)
        execution = replace(execution, frontier=frontier)
    return _completed(graph, execution, node.id, result, now)


def _failed(execution: ExecutionState, node: str, error: str | None, result: object = None) -> ExecutionState:
    shown = {**execution.vars, node: failure(error) if result is None else result}
    return replace(execution, status=ExecutionStatus.FAILED, vars=shown, error=error, error_node=node)


def _completed(
    graph: Graph,
    execution: ExecutionState,
    node: str,
    result: object,
    now: datetime,
    taken: Collection[int] | None = None,
) -> ExecutionState:
    zone, begun_at = zone_of(execution.input.get("contact")), execution.begun_at
    frontier = pass_node(graph, execution.frontier, node, now, taken, begun_at=begun_at, zone=zone)
    return replace(execution, frontier=frontier, vars={**execution.vars, node: result})


def pass_node(
    graph: Graph,
    frontier: Frontier,
    node: str,
    now: datetime,
    taken: Collection[int] | None = None,
    *,
    begun_at: datetime | None = None,
    zone: str | None = None,
) -> Frontier:
    """Leave a node by the edges it takes (all of them unless given); the others die, and death spreads.

    A node is ready when none of its in-edges is open and at least one has arrived, so it runs at most once.
    """
    out, left = graph.edges_out[node], [one.due_at for one in frontier.ready if one.node == node]
    ready = [one for one in frontier.ready if one.node != node]
    if not out:
        return Frontier(tuple(ready), frontier.arrived, frontier.dead, frontier.retries)
    times = Times(now, begun_at or now, planned_at(graph, node, left[0] if left else now, now), zone)
    chosen = out if taken is None else [edge for edge in out if edge in taken]
    arrived, dead = frontier.arrived.union(chosen), set(frontier.dead).union(set(out).difference(chosen))
    settling = [graph.edges[edge].target for edge in out]
    while settling:
        target = settling.pop(0)
        edges = graph.edges_in[target]
        if [edge for edge in edges if edge not in arrived and edge not in dead]:
            continue
        if arrived.isdisjoint(edges):
            fresh = set(graph.edges_out[target]) - dead
            dead |= fresh
            settling.extend(graph.edges[edge].target for edge in sorted(fresh))
        elif target not in [one.node for one in ready]:
            ready.append(Ready(target, arrival(graph, target, times)))
    return Frontier(tuple(ready), arrived, frozenset(dead), frontier.retries)
