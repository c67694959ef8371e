"""Random graphs without a way back, every node reachable from the entry."""

from datetime import timedelta

from hypothesis import strategies as st

from tidings.domain.comparison import Compare, Op
from tidings.domain.flow.graph import Branch, Delay, Edge, Function, Graph, Node, OnDoubt, OnFailure, Send
from tidings.domain.flow.item import Channel


def send(id: str, on_failure: OnFailure = OnFailure.ABORT, on_doubt: OnDoubt = OnDoubt.CONTINUE) -> Send:
    return Send(id, Channel.EMAIL, ("a@example.com",), {"body": "b"}, on_failure=on_failure, on_doubt=on_doubt)


def function(
    id: str, on_failure: OnFailure = OnFailure.ABORT, on_doubt: OnDoubt = OnDoubt.HOLD, *, idempotent: bool = False
) -> Function:
    return Function(id, "code", "run", {}, on_failure=on_failure, on_doubt=on_doubt, idempotent=idempotent)


def delay(id: str, seconds: float = 0) -> Delay:
    return Delay(id, timedelta(seconds=seconds))


def graph_of(nodes: list[Node], *edges: str) -> Graph:
    """A graph from its nodes and edges written as "ab": from a to b."""
    return Graph(nodes[0].id, {node.id: node for node in nodes}, tuple(Edge(edge[0], edge[1]) for edge in edges))


def _nodes(id: str) -> st.SearchStrategy[Node]:
    sends = st.builds(send, st.just(id), st.sampled_from(OnFailure), st.sampled_from(OnDoubt))
    functions = st.builds(function, st.just(id), st.sampled_from(OnFailure), st.sampled_from(OnDoubt))
    return sends | functions | st.builds(delay, st.just(id), st.sampled_from([0, 0, 60, 7200])) | st.just(Branch(id))


def _conditions() -> st.SearchStrategy[Compare | None]:
    """True, false, dependent on what a node came to, or the default."""
    made = st.builds(Compare, st.just(("yes",)), st.sampled_from([Op.EXISTS, Op.MISSING]))
    results = st.builds(Compare, st.just(("vars", "n0", "status")), st.just(Op.EQUALS), st.just("sent"))
    return made | results | st.none()


@st.composite
def graphs(draw: st.DrawFn, most: int = 8) -> Graph:
    names = [f"n{number}" for number in range(draw(st.integers(1, most)))]
    edges = []
    for place, name in enumerate(names[1:], start=1):
        sources = draw(st.sets(st.sampled_from(names[:place]), min_size=1, max_size=3))
        edges += [Edge(source, name) for source in sorted(sources)]
    nodes = {name: draw(_nodes(name)) for name in draw(st.permutations(names))}
    conditioned = [
        Edge(edge.source, edge.target, draw(_conditions())) if isinstance(nodes[edge.source], Branch) else edge
        for edge in edges
    ]
    return Graph(names[0], nodes, tuple(draw(st.permutations(conditioned))))
