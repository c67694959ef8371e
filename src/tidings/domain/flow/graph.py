"""The frozen graph that every way of writing a workflow compiles to."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import ClassVar

from tidings.domain.content.message import MessageContent
from tidings.domain.content.nested import filled, templates_in
from tidings.domain.flow.item import Channel
from tidings.domain.flow.retry import GRAPH, RetryPolicy
from tidings.domain.people.audience_filter import AudienceFilter
from tidings.views.sequences import OffsetFrom

CALL_TIMEOUT = timedelta(seconds=60)
"""How long a function may take unless its node or the workflow's `visibilityTimeout` says so."""


class Form(StrEnum):
    """How a workflow was written."""

    GRAPH = "graph"
    STEPS = "steps"
    SEQUENCE = "sequence"


class OnFailure(StrEnum):
    """What a walk does when a node has failed for one of its recipients."""

    ABORT = "abort"
    CONTINUE = "continue"


class OnDoubt(StrEnum):
    """What a walk does while a node's items are held in doubt."""

    CONTINUE = "continue"
    HOLD = "hold"


CONTACT_ZONE = "contact"
"""Stands for the contact's own time zone, in place of a name."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """So many days later, at a local hour in a zone; without an hour, at the time of day it is counted from."""

    day_offset: int
    hour: int | None = None
    zone: str = "UTC"
    offset_from: OffsetFrom = OffsetFrom.ENROLLMENT


class NodeType(StrEnum):
    """What a node is, as definitions write it; a node that sends is named by its channel."""

    DELAY = "delay"
    BRANCH = "branch"
    FUNCTION = "function"


@dataclass(frozen=True)
class Send:
    """A node that writes to people: one item for each recipient; if none is named, for each address of the contact."""

    id: str
    channel: Channel
    to: tuple[str, ...]
    content: Mapping[str, object]
    retry: RetryPolicy = GRAPH
    on_failure: OnFailure = OnFailure.ABORT
    on_doubt: OnDoubt = OnDoubt.CONTINUE
    max_lateness: timedelta | None = None  # after its planned time; what would leave later is skipped

    @property
    def type(self) -> str:
        """Its type, as definitions write it."""
        return self.channel

    @cached_property
    def message(self) -> MessageContent:
        """What is sent to each recipient."""
        return MessageContent(self.channel, self.content)

    @cached_property
    def every_template(self) -> Mapping[str, str]:
        """The templates of one message: its fields, and each recipient as `to.0`, `to.1`, …"""
        return {f"to.{place}": source for place, source in enumerate(self.to)} | dict(self.message.templates)


@dataclass(frozen=True)
class Function:
    """A node that calls code: one item. Called again after doubt only if it is declared `idempotent`."""

    type: ClassVar[NodeType] = NodeType.FUNCTION
    id: str
    function: str
    action: str
    payload: Mapping[str, object]  # strings in it may be templates
    retry: RetryPolicy = GRAPH
    on_failure: OnFailure = OnFailure.ABORT
    on_doubt: OnDoubt = OnDoubt.HOLD
    idempotent: bool = False
    timeout: timedelta = CALL_TIMEOUT

    @property
    def channel(self) -> Channel:
        """Functions have one channel."""
        return Channel.FUNCTION

    @cached_property
    def every_template(self) -> Mapping[str, str]:
        """The templates of one call: each string of the payload with Liquid in it, by its place."""
        return dict(templates_in(self.payload, "payload"))

    def body(self, fields: Mapping[str, str]) -> str:
        """The payload with its strings rendered, as JSON: stored like this, a repeat has the same bytes."""
        return json.dumps(filled(self.payload, "payload", fields), ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Delay:
    """A node that waits: for a while, until a time (given, or named as `{{ path }}`), or by a schedule."""

    type: ClassVar[NodeType] = NodeType.DELAY
    id: str
    wait: timedelta = timedelta()
    until: str | None = None
    schedule: Schedule | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A node that takes the first of its edges whose condition holds, or else the one without a condition."""

    type: ClassVar[NodeType] = NodeType.BRANCH
    id: str


Doer = Send | Function
"""A node that acts through the outbox."""
Node = Send | Function | Delay | Branch

ON_ERROR = "onError"
"""What is called or sent when an execution fails: an item like any other, under this name in the place of a node's."""


@dataclass(frozen=True, slots=True)
class Edge:
    """From one node to the next."""

    source: str
    target: str
    condition: AudienceFilter | None = None


@dataclass(frozen=True)
class Graph:
    """Nodes in the order they were defined, and the edges between them; checked by definition.py."""

    entry: str
    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    required_fields: tuple[str, ...] = ()
    timeout: timedelta | None = field(default=None)  # of a whole execution
    form: Form = Form.GRAPH
    visibility: timedelta | None = None  # after which another worker takes a dead worker's step, if not a lease
    on_error: Doer | None = None

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

    def before(self, node: str) -> frozenset[str]:
        """The nodes from which a path leads to this one: an execution that is here has passed them, or never will."""
        if node not in self._before:
            found: set[str] = set()
            open_ends = [node]
            while open_ends:
                # No edge leads to what is called when the execution fails: every result stands beside it.
                sources = {self.edges[edge].source for edge in self.edges_in.get(open_ends.pop(), ())} - found
                found |= sources
                open_ends.extend(sources)
            self._before[node] = frozenset(found)
        return self._before[node]

    def beside(self, node: str, results: Collection[str]) -> list[str] | None:
        """The nodes that have results when a node's turn comes and do not lead to it; None if there are none."""
        return sorted(set(results) - self.before(node)) or None

    @cached_property
    def _before(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def channels(self) -> frozenset[Channel]:
        """The channels of its nodes, and of `onError`."""
        return frozenset(node.channel for node in self.doers.values())

    @cached_property
    def doers(self) -> Mapping[str, Doer]:
        """All that acts through the outbox, by the name that its items have."""
        nodes: dict[str, Doer] = {id: node for id, node in self.nodes.items() if isinstance(node, Send | Function)}
        return nodes | ({ON_ERROR: self.on_error} if self.on_error else {})

    @cached_property
    def idempotent(self) -> frozenset[str]:
        """The nodes whose calls may be repeated whatever became of them."""
        return frozenset(id for id, node in self.nodes.items() if isinstance(node, Function) and node.idempotent)

    @cached_property
    def logged(self) -> Mapping[str, Delay | Branch]:
        """The nodes that have no items: only the log tells what they did."""
        return {id: node for id, node in self.nodes.items() if isinstance(node, Delay | Branch)}

    def context(self, data: Mapping[str, object], results: Mapping[str, object]) -> Mapping[str, object]:
        """What templates and conditions see: the caller's data, `vars`, and for steps `step_N_result` or its error."""
        return {**data, "vars": results, **(self._numbered(results) if self.form is Form.STEPS else {})}

    def accumulated(self, data: Mapping[str, object], results: Mapping[str, object]) -> Mapping[str, object]:
        """What `workflow-enqueue` returns: the context without `vars`, and each result by its node and its own fields.

        Nothing of it hides the caller's data; of two steps with the same field the later one wins.
        execution_context in storage/schema.sql does the same.
        """
        if self.form is not Form.STEPS:
            return {**results, **data}
        good = {node: results[node] for node in self.order if node in results and failed_call_in(results[node]) is None}
        fields = {name: one for result in good.values() if isinstance(result, Mapping) for name, one in result.items()}
        return {**fields, **good, **self._numbered(results), **data}

    def _numbered(self, results: Mapping[str, object]) -> Mapping[str, object]:
        """The result of each step, or why it failed, by its number."""
        context: dict[str, object] = {}
        for node, result in results.items():
            error = failed_call_in(result)
            what, shown = ("result", result) if error is None else ("error", error)
            context[f"step_{self.order.get(node)}_{what}"] = shown
        return context

    def _edges_by(self, end: Callable[[Edge], str]) -> Mapping[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {node: [] for node in self.nodes}
        for place, edge in enumerate(self.edges):
            found[end(edge)].append(place)
        return {node: tuple(places) for node, places in found.items()}


def failure(error: str | None) -> Mapping[str, object]:
    """What `vars.<node>` shows of a function that failed and was walked past."""
    return {"status": "failed", "error": error or "failed"}


def failure_in(result: object) -> str | None:
    """The error in what `vars.<node>` shows, if it shows one."""
    if isinstance(result, Mapping) and result.get("status") == "failed":
        error = result.get("error")
        return error if isinstance(error, str) else None
    return None


def failed_call_in(result: object) -> str | None:
    """The error of a failed call in `vars.<node>`, if any; a function's own answer may name an error, but no message
    id."""
    return failure_in(result) if isinstance(result, Mapping) and result.keys() >= {"messageId", "at"} else None
