"""The messages of a definition that is being written: of one node whatever the others are, or of all of it."""

from collections.abc import Mapping, Sequence

from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.flow.graph import ON_ERROR, NodeType, Send
from tidings.domain.workflows.definition import parse_workflow

Raw = Mapping[str, object]
_ALONE = "nodes[0]"


def part_of(definition: Raw, part: str) -> tuple[Raw, str]:
    """Return a definition of one node alone, and the node's place in the whole; raise DefinitionInvalid without it."""
    if part == ON_ERROR:
        report = definition.get(ON_ERROR, definition.get("on_error"))
        return {**_of({"id": "nothing", "type": NodeType.DELAY, "delayMs": 0}), ON_ERROR: report}, ON_ERROR
    nodes = definition.get("nodes")
    for place, node in enumerate(nodes if isinstance(nodes, list | tuple) else ()):
        if isinstance(node, Mapping) and node.get("id") == part:
            return _of(node), f"nodes[{place}]"
    raise DefinitionInvalid([Problem("part", f"there is no node {part!r}")])


def _of(node: Raw) -> dict[str, object]:
    return {"entryNodeId": node["id"], "nodes": [node]}


def messages_in(definition: Raw) -> Sequence[Send]:
    """Return what sends in a definition, read as leniently as one that is stored: rendering tells what is wrong."""
    doers = parse_workflow(definition, is_stored=True).doers
    return [node for node in doers.values() if isinstance(node, Send)]


def moved(error: DefinitionInvalid, place: str) -> DefinitionInvalid:
    """Return the problems of a part with their places in the whole."""
    return DefinitionInvalid([Problem(one.place.replace(_ALONE, place, 1), one.message) for one in error.problems])
