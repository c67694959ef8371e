"""The graph of an execution with the path that it took, for a screen that draws it. Reached from executions.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from tidings.domain.flow.execution import ExecutionState, ExecutionStatus, ItemState
from tidings.domain.flow.graph import Edge, Graph
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.path import NodePlace, edge_states, node_places
from tidings.domain.people.filter_words import in_words
from tidings.storage.executions import LoggedItem
from tidings.views.executions import (
    EdgeState,
    Execution,
    ExecutionPath,
    LogLine,
    NodeState,
    PathEdge,
    PathNode,
    ShownStatus,
)


def path_of(
    shown: Execution,
    graph: Graph,
    state: ExecutionState,
    items: Sequence[LoggedItem],
    lines: Sequence[LogLine],
    now: datetime,
) -> ExecutionPath:
    """Return the nodes and edges of a graph as one execution has left them; `lines` is its log."""
    if shown.status is ShownStatus.PAUSED:
        state = replace(state, status=ExecutionStatus.PAUSED)  # asked for, if not yet obeyed
    places = node_places(graph, state, [_item(one) for one in items])
    told = {line.node: line for line in lines}
    return ExecutionPath(
        execution_id=shown.id,
        status=shown.status,
        workflow_id=shown.workflow_id,
        workflow_name=shown.workflow_name,
        workflow_version=shown.workflow_version,
        entry=graph.entry,
        nodes=[_node(graph, name, place, told, shown.waiting, now) for name, place in places.items()],
        edges=[_edge(*one) for one in zip(graph.edges, edge_states(graph, state.frontier), strict=True)],
    )


def _item(item: LoggedItem) -> ItemState:
    return ItemState(
        item.node, ItemStatus(item.status), item.in_doubt, item.retry_at, item.attempts, item.message_id, item.error
    )


def _node(
    graph: Graph, name: str, place: NodePlace, told: Mapping[str, LogLine], lacks: str | None, now: datetime
) -> PathNode:
    line = told.get(name)
    is_due = place.state is NodeState.WAITING and place.until is not None and place.until <= now
    return PathNode(
        id=name,
        type={**graph.nodes, **graph.doers}[name].type,
        state=place.state,
        until=place.until,
        why=lacks if is_due and lacks else place.why,
        visits=int(place.state is not NodeState.NOT_REACHED),
        attempts=line.attempts if line else 0,
        started_at=line.started_at if line else None,
        ended_at=line.ended_at if line else None,
    )


def _edge(edge: Edge, state: EdgeState) -> PathEdge:
    condition = None if edge.condition is None else in_words(edge.condition)
    return PathEdge(from_=edge.source, to=edge.target, condition=condition, state=state)
