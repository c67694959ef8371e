"""The context that a node saw: what its execution was started with, and what earlier nodes had produced.

It is not stored for each node: neither what was given nor a stored result ever changes. The graph tells which results
were there; the node's row names those of branches that ran beside its own.
"""

from collections.abc import Collection, Mapping

import msgspec

from tidings.domain.flow.graph import Form, Graph
from tidings.views.executions import LogContext

LARGEST_CONTEXT = 65_536
"""Bytes of JSON that a line of the log shows of a context; the largest values are left out, and named."""
MOST_NAMED = 20

Json = Mapping[str, object]
Place = tuple[str, str]


def results_before(graph: Graph, node: str, told: Collection[str], beside: Collection[str], results: Json) -> Json:
    """Return the results a node saw; `told` are the nodes earlier in the log, `beside` those that its row names."""
    # A sequence has no branches, and an enrollment may have been moved to another version: it saw what came earlier.
    names = {*told} if graph.form is Form.SEQUENCE or node not in graph.nodes else {*graph.before(node), *beside}
    return {name: result for name, result in results.items() if name in names}


def bounded_context(data: Json, results: Json) -> LogContext:
    """Return a context, without its largest values if it is too large."""
    parts = {"data": data, "vars": results}
    sizes = {
        (part, name): len(name) + len(msgspec.json.encode(value))
        for part, values in parts.items()
        for name, value in values.items()
    }
    dropped = _largest(sizes)
    kept = {
        part: {name: value for name, value in values.items() if (part, name) not in dropped}
        for part, values in parts.items()
    }
    return LogContext(data=kept["data"], vars=kept["vars"], left_out=_named(dropped))


def _largest(sizes: Mapping[Place, int]) -> list[Place]:
    """Return the places to leave out, the largest first."""
    dropped: list[Place] = []
    excess = sum(sizes.values()) - LARGEST_CONTEXT
    for place in sorted(sizes, key=lambda one: sizes[one], reverse=True):
        if excess <= 0:
            break
        dropped.append(place)
        excess -= sizes[place]
    return dropped


def _named(dropped: Collection[Place]) -> list[str]:
    names = [f"{part}.{name}" for part, name in dropped]
    return names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"and {len(names) - MOST_NAMED} more"]
