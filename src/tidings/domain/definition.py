"""A workflow as users write it, checked as a whole: every problem is reported, each with its place."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from tidings.domain import template
from tidings.domain.errors import DefinitionInvalid, Problem, TemplateInvalid
from tidings.domain.graph import Delay, Edge, Graph, Node, OnDoubt, OnFailure, Send
from tidings.domain.item import Channel
from tidings.domain.storable import UNSTORABLE, unstorable_places
from tidings.domain.timing import LONGEST_WAIT, parse_duration

CONTENT_FIELDS: Mapping[Channel, tuple[str, ...]] = {
    Channel.EMAIL: ("subject", "body", "html"),
    Channel.SMS: ("body",),
    Channel.WHATSAPP: ("body",),
    Channel.PUSH: ("title", "body"),
    Channel.VOICE: ("script",),
    Channel.SOCIAL: ("body",),
}
"""The templates each channel takes."""

HTML_FIELDS = frozenset({"html"})
MAX_NODES = 10_000

Raw = Mapping[str, object]
_Choice = TypeVar("_Choice", OnFailure, OnDoubt)


def parse_graph(raw: object) -> Graph:
    """Turn a definition into a graph, or raise DefinitionInvalid with everything that is wrong with it."""
    return _Reader().graph(raw)


def check_content(channel: Channel, content: Raw) -> Mapping[str, str]:
    """The templates of a campaign's content, or DefinitionInvalid."""
    reader = _Reader()
    templates = reader.templates(content, channel, "content")
    reader.raise_if_any()
    return templates


class _Reader:
    """Reads a definition once and keeps every problem it meets."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.places: dict[str, int] = {}

    def add(self, place: str, message: str) -> None:
        self.problems.append(Problem(place, message))

    def raise_if_any(self) -> None:
        if self.problems:
            raise DefinitionInvalid(self.problems)

    def graph(self, raw: object) -> Graph:
        if not isinstance(raw, Mapping):
            raise DefinitionInvalid([Problem("", "a workflow is an object with entryNodeId, nodes and edges")])
        for place in unstorable_places(raw):
            self.add(place, UNSTORABLE)
        nodes = self.nodes(raw.get("nodes"))
        found = len(self.problems)
        edges = self.edges(raw.get("edges", ()), nodes)
        entry = self.entry(raw.get("entryNodeId", raw.get("entry_node_id")), nodes)
        if len(self.problems) == found:
            self.check_shape(entry, nodes, edges)
        self.raise_if_any()
        return Graph(entry, nodes, edges)

    def entry(self, raw: object, nodes: Mapping[str, Node]) -> str:
        if not isinstance(raw, str) or raw not in nodes:
            self.add("entryNodeId", f"{raw!r} is not the id of a node; use one of {_some(nodes)}")
            return ""
        return raw

    def nodes(self, raw: object) -> dict[str, Node]:
        if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
            self.add("nodes", "give at least one node")
            return {}
        if len(raw) > MAX_NODES:
            self.add("nodes", f"{len(raw)} nodes are more than the {MAX_NODES} a workflow may have")
            return {}
        nodes: dict[str, Node] = {}
        for place, one in enumerate(raw):
            node = self.node(one, f"nodes[{place}]")
            if node and node.id in nodes:
                self.add(f"nodes[{place}].id", f"{node.id!r} is used twice")
            elif node:
                nodes[node.id], self.places[node.id] = node, place
        return nodes

    def node(self, raw: object, place: str) -> Node | None:
        if not isinstance(raw, Mapping):
            self.add(place, "a node is an object with id and type")
            return None
        name = raw.get("id")
        if not isinstance(name, str) or not name or len(name) > 200:
            self.add(f"{place}.id", f"{name!r} is not an id: use a text of 1 to 200 characters")
            name = ""
        node = self.node_of_type(raw, name, place)
        return node if name else None

    def node_of_type(self, raw: Raw, name: str, place: str) -> Node:
        kind = raw.get("type")
        if kind == "delay":
            return Delay(name, self.wait(raw, place))
        if isinstance(kind, str) and kind in CONTENT_FIELDS:
            return self.send(raw, name, Channel(kind), place)
        self.add(f"{place}.type", f"{kind!r} is not a node type; use delay, {', '.join(CONTENT_FIELDS)}")
        return Delay(name, timedelta())  # stands in for it, so that edges to it are not called wrong as well

    def send(self, raw: Raw, name: str, channel: Channel, place: str) -> Send:
        return Send(
            name,
            channel,
            self.recipients(raw.get("to"), place),
            self.templates(raw, channel, place),
            on_failure=self.choice(raw, "onFailure", OnFailure, OnFailure.ABORT, place),
            on_doubt=self.choice(raw, "onDoubt", OnDoubt, OnDoubt.CONTINUE, place),
        )

    def recipients(self, raw: object, place: str) -> tuple[str, ...]:
        given = [raw] if isinstance(raw, str) else raw
        if not isinstance(given, Sequence) or not given or not all(isinstance(one, str) and one for one in given):
            self.add(f"{place}.to", "name at least one recipient: an address, or a template such as {{ email }}")
            return ()
        for one in given:
            self.check_template(str(one), f"{place}.to", html=False)
        return tuple(str(one) for one in given)

    def templates(self, raw: Raw, channel: Channel, place: str) -> Mapping[str, str]:
        allowed = CONTENT_FIELDS[channel]
        found = {name: raw[name] for name in allowed if raw.get(name) is not None}
        if not found.keys() - {"subject", "title"}:
            wanted = " or ".join(name for name in allowed if name not in {"subject", "title"})
            self.add(f"{place}.{allowed[-1]}", f"an {channel} needs {wanted}")
        for name, source in found.items():
            if not isinstance(source, str):
                self.add(f"{place}.{name}", f"{source!r} is not a text")
            else:
                self.check_template(source, f"{place}.{name}", html=name in HTML_FIELDS)
        return {name: str(source) for name, source in found.items()}

    def check_template(self, source: str, place: str, *, html: bool) -> None:
        try:
            template.check(source, html=html)
        except TemplateInvalid as error:
            self.add(place, f"{error} (line {error.line}, column {error.column})")

    def wait(self, raw: Raw, place: str) -> timedelta:
        milliseconds, duration = raw.get("delayMs", raw.get("delay_ms")), raw.get("duration")
        if (milliseconds is None) == (duration is None):
            self.add(place, "a delay needs either delayMs or duration")
            return timedelta()
        if duration is not None:
            return self.duration(duration, place)
        if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or not milliseconds >= 0:
            self.add(f"{place}.delayMs", f"{milliseconds!r} is not a wait: use a number of milliseconds from 0 on")
            return timedelta()
        if milliseconds > LONGEST_WAIT.total_seconds() * 1000:
            self.add(f"{place}.delayMs", f"{milliseconds!r} is longer than ten years")
            return timedelta()
        return timedelta(milliseconds=milliseconds)

    def duration(self, raw: object, place: str) -> timedelta:
        try:
            return parse_duration(raw if isinstance(raw, str) else repr(raw))
        except ValueError as error:
            self.add(f"{place}.duration", str(error))
            return timedelta()

    def choice(self, raw: Raw, name: str, kind: type[_Choice], default: _Choice, place: str) -> _Choice:
        given = raw.get(name, default)
        try:
            return kind(str(given))
        except ValueError:
            self.add(f"{place}.{name}", f"{given!r} is not one of {', '.join(kind)}")
            return default

    def edges(self, raw: object, nodes: Mapping[str, Node]) -> tuple[Edge, ...]:
        if not isinstance(raw, Sequence) or isinstance(raw, str):
            self.add("edges", "edges are a list of {from, to}")
            return ()
        edges: dict[Edge, None] = {}
        for place, one in enumerate(raw):
            ends = (one.get("from"), one.get("to")) if isinstance(one, Mapping) else (None, None)
            for name, end in zip(("from", "to"), ends, strict=True):
                if not isinstance(end, str) or end not in nodes:
                    self.add(f"edges[{place}].{name}", f"{end!r} is not the id of a node; use one of {_some(nodes)}")
            edge = Edge(str(ends[0]), str(ends[1]))
            if edge in edges:
                self.add(f"edges[{place}]", f"{edge.source!r} to {edge.target!r} is there twice")
            edges[edge] = None
        return tuple(edges)

    def check_shape(self, entry: str, nodes: Mapping[str, Node], edges: Sequence[Edge]) -> None:
        sources: dict[str, list[str]] = {name: [] for name in nodes}
        targets: dict[str, list[str]] = {name: [] for name in nodes}
        for edge in edges:
            sources[edge.target].append(edge.source)
            targets[edge.source].append(edge.target)
        try:
            TopologicalSorter(sources).prepare()
        except CycleError as error:
            self.add("edges", "a workflow has no way back, but this goes round: " + " → ".join(error.args[1]))
            return
        for name in sorted(nodes.keys() - _reachable(entry, targets), key=self.places.__getitem__):
            self.add(f"nodes[{self.places[name]}]", f"{name!r} cannot be reached from {entry!r}")


def _reachable(entry: str, targets: Mapping[str, Sequence[str]]) -> set[str]:
    seen, waiting = {entry}, [entry]
    while waiting:
        fresh = [name for name in targets[waiting.pop()] if name not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    return seen


def _some(nodes: Mapping[str, Node]) -> str:
    names = [repr(name) for name in nodes][:5]
    return ", ".join(names) + (", …" if len(nodes) > len(names) else "") if names else "(there are none)"
