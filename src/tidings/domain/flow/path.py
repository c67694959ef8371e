"""Where an execution stands in its graph: the state of each node, and which edges it took. Pure.

The frontier says which nodes are ready and which edges have arrived or are dead, as execution.py left it; nothing of
the walk is decided again here. resources/execution_path.py adds the times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidings.domain.flow.execution import ExecutionState, ExecutionStatus, Frontier, ItemState, Ready
from tidings.domain.flow.graph import Branch, Delay, Graph, failure_in
from tidings.domain.flow.item import ItemStatus
from tidings.views.executions import EdgeState, NodeState


@dataclass(frozen=True, slots=True)
class NodePlace:
    """The state of one node; while it waits, until when and why."""

    state: NodeState
    until: datetime | None = None
    why: str | None = None


def node_places(graph: Graph, execution: ExecutionState, items: Sequence[ItemState]) -> Mapping[str, NodePlace]:
    """Return the state of every node, by name; `onError` is among them where the graph has it."""
    ready = {one.node: one for one in execution.frontier.ready}
    by_node = {name: [one for one in items if one.node == name] for name in (*graph.nodes, *graph.doers)}
    return {
        name: _place(graph, execution, name, ready.get(name), by_node[name]) for name in (*graph.nodes, *graph.doers)
    }


def edge_states(graph: Graph, frontier: Frontier) -> list[EdgeState]:
    """Return the state of each edge, in the order of the graph's edges."""
    return [
        EdgeState.TAKEN if edge in frontier.arrived else EdgeState.DEAD if edge in frontier.dead else EdgeState.OPEN
        for edge in range(len(graph.edges))
    ]


def _place(
    graph: Graph, execution: ExecutionState, name: str, ready: Ready | None, items: Sequence[ItemState]
) -> NodePlace:
    if execution.error_node == name and execution.status is ExecutionStatus.FAILED:
        return NodePlace(NodeState.FAILED, why=execution.error)
    if ready is not None and execution.status in {ExecutionStatus.ENQUEUED, ExecutionStatus.PAUSED}:
        return _waiting(graph, execution, ready, items)
    if name in execution.vars:
        return _passed(execution.vars[name], items)
    if items:  # what is called when an execution fails, or what was under way when it was stopped
        return _of_items(items)
    return NodePlace(NodeState.NOT_REACHED)


def _passed(result: object, items: Sequence[ItemState]) -> NodePlace:
    if items and all(item.status is ItemStatus.SKIPPED for item in items):
        return NodePlace(NodeState.SKIPPED, why=next((item.error for item in items if item.error), None))
    if error := failure_in(result):
        return NodePlace(NodeState.FAILED, why=error)
    return NodePlace(NodeState.DONE)


def _of_items(items: Sequence[ItemState]) -> NodePlace:
    error = next((item.error for item in items if item.error), None)
    if any(item.status is ItemStatus.QUEUED for item in items):
        doubtful = any(item.in_doubt for item in items)
        return NodePlace(NodeState.WAITING, why="in doubt: nobody knows whether it arrived" if doubtful else error)
    if any(item.status is ItemStatus.FAILED for item in items):
        return NodePlace(NodeState.FAILED, why=error)
    return NodePlace(NodeState.SKIPPED if all(item.status is ItemStatus.SKIPPED for item in items) else NodeState.DONE)


def _waiting(graph: Graph, execution: ExecutionState, ready: Ready, items: Sequence[ItemState]) -> NodePlace:
    if execution.status is ExecutionStatus.PAUSED:
        return NodePlace(NodeState.WAITING, ready.due_at, "paused")
    held = [item for item in items if item.status is ItemStatus.QUEUED]
    if any(item.in_doubt and item.retry_at is None for item in held):
        return NodePlace(NodeState.WAITING, None, "in doubt: a person has to say whether it arrived")
    times = [item.retry_at for item in held if item.retry_at]
    if times:
        return NodePlace(NodeState.WAITING, min(times), next((item.error for item in held if item.error), None))
    return NodePlace(NodeState.WAITING, ready.due_at, _why_ready(graph, ready))


def _why_ready(graph: Graph, ready: Ready) -> str:
    match graph.nodes.get(ready.node):
        case Delay(until=str()):
            return "waits until a time"
        case Delay(schedule=None):
            return "waits for a while"
        case Delay():
            return "waits for its day"
        case Branch():
            return "is about to choose"
        case _:
            return "is due"
