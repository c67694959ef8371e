"""The frozen graph that every way of writing a workflow compiles to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import cached_property

from tidings.domain.item import Channel
from tidings.domain.retry import GRAPH, RetryPolicy


class OnFailure(StrEnum):
    """What a walk does when none of a node's items succeeded."""

    ABORT = "abort"
    CONTINUE = "continue"


class OnDoubt(StrEnum):
    """What a walk does while a node's items are held in doubt."""

    CONTINUE = "continue"
    HOLD = "hold"


@dataclass(frozen=True)
class Send:
    """A node that writes to people: one item for each recipient."""

    id: str
    channel: Channel
    to: tuple[str, ...]
    templates: Mapping[str, str]
    retry: RetryPolicy = GRAPH
    on_failure: OnFailure = OnFailure.ABORT
    on_doubt: OnDoubt = OnDoubt.CONTINUE

    @cached_property
    def every_template(self) -> Mapping[str, str]:
        """What is rendered for one message: its fields, and each recipient as `to.0`, `to.1`, …"""
        return {f"to.{place}": source for place, source in enumerate(self.to)} | dict(self.templates)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of a message in the order its stored payload has them, so that a repeat has the same bytes."""
        return tuple(sorted(self.templates, key=lambda name: (len(name.encode()), name.encode())))


@dataclass(frozen=True, slots=True)
class Delay:
    """A node that waits."""

    id: str
    wait: timedelta


Node = Send | Delay


@dataclass(frozen=True, slots=True)
class Edge:
    """From one node to the next."""

    source: str
    target: str


@dataclass(frozen=True)
class Graph:
    """Nodes in the order they were defined, and the edges between them; checked by definition.py."""

    entry: str
    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]

    @cached_property
    def edges_in(self) -> Mapping[str, tuple[int, ...]]:
        """The edges into each node, by their place in `edges`."""
        return self._edges_by(lambda edge: edge.target)

    @cached_property
    def edges_out(self) -> Mapping[str, tuple[int, ...]]:
        """The edges out of each node, by their place in `edges`."""
        return self._edges_by(lambda edge: edge.source)

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The place of each node in the definition."""
        return {node: place for place, node in enumerate(self.nodes)}

    def _edges_by(self, end: Callable[[Edge], str]) -> Mapping[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {node: [] for node in self.nodes}
        for place, edge in enumerate(self.edges):
            found[end(edge)].append(place)
        return {node: tuple(places) for node, places in found.items()}
