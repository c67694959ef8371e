"""A workflow as users write it, checked as a whole: every problem is reported, each with its place.

Three forms, one graph: nodes with edges, steps one after the other, and what publishing a sequence freezes
(domain/sequences/form.py). Names may be in camelCase or in snake_case.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise

from tidings.domain.channels import CONTENT_FIELDS, Channel
from tidings.domain.content.linking import linked
from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.flow.graph import (
    CALL_TIMEOUT,
    ON_ERROR,
    Branch,
    Delay,
    Edge,
    Form,
    Function,
    Graph,
    Node,
    NodeType,
    OnDoubt,
    Send,
)
from tidings.domain.flow.retry import GRAPH, STEPS, RetryPolicy
from tidings.domain.messages import quoted, unfit
from tidings.domain.sequences.form import SequenceForm
from tidings.domain.storable import UNSTORABLE, unstorable_places
from tidings.domain.timing import parse_time
from tidings.domain.workflows import fields
from tidings.domain.workflows.content_reader import ContentReader
from tidings.domain.workflows.definition_reader import LONGEST_KEY, Raw
from tidings.domain.workflows.function import problem_of_function

__all__ = ["check_content", "parse_own_workflow", "parse_workflow"]

MAX_NODES = 2_000
MAX_EDGES = 10_000

_GRAPH_FIELDS = ("entryNodeId", "nodes", "edges", *fields.names_of(fields.OPTIONS))
_STEPS_FIELDS = ("steps", *fields.names_of(fields.OPTIONS))
NODE_FIELDS: Mapping[str, tuple[fields.FormField, ...]] = {
    NodeType.DELAY: fields.DELAY_FIELDS,
    NodeType.BRANCH: (),
    NodeType.FUNCTION: fields.FUNCTION_FIELDS,
}
_REPORT: Raw = {
    "execution_id": "{{ error.execution }}",
    "workflow_name": "{{ error.workflow }}",
    "error_message": "{{ error.message }}",
    "error_step": "{{ error.node }}",
}
"""What a function gets to know of a failure unless its payload says otherwise: named as in `workflow_executions`."""


def parse_workflow(raw: object, *, is_stored: bool = False) -> Graph:
    """Turn a definition into a graph, or raise DefinitionInvalid with everything that is wrong with it.

    The templates of a version that is stored are not checked again: what was published once still runs, and a template
    that is refused today fails its own message.
    """
    if not isinstance(raw, Mapping):
        raise DefinitionInvalid([Problem("", "a workflow is an object with nodes and edges, or with steps")])
    raw = linked(raw) if is_stored else raw
    try:
        form = SequenceForm if "sequence" in raw else _Workflow
        reader = form(raw, is_stored=is_stored)
        for place in unstorable_places(raw):
            reader.add(place, UNSTORABLE)
        if isinstance(reader, SequenceForm):
            return reader.graph()
        return reader.steps_form() if "steps" in raw else reader.graph_form()
    except RecursionError:
        raise DefinitionInvalid([Problem("", "nested too deeply")]) from None


def parse_own_workflow(raw: object) -> Graph:
    """Turn a definition that people write as a workflow into a graph; a sequence is refused here."""
    if isinstance(raw, Mapping) and "sequence" in raw:
        raise DefinitionInvalid(
            [Problem("sequence", "is not a field of a workflow; create a sequence, add steps, publish it")]
        )
    return parse_workflow(raw, is_stored=False)


def check_content(channel: Channel, content: Raw) -> Mapping[str, object]:
    """What a campaign says, or DefinitionInvalid."""
    reader = ContentReader()
    read = reader.content(content, channel, "content")
    reader.raise_if_any()
    return read


class _Workflow(ContentReader):
    """Reads one definition, in the form it was written in."""

    def __init__(self, raw: Raw, *, is_stored: bool = False) -> None:
        super().__init__(is_stored=is_stored)
        self.raw = raw
        self.places: dict[str, int] = {}
        self.visibility = self.read_visibility()
        self.calls = self.visibility or CALL_TIMEOUT

    def graph_form(self) -> Graph:
        self.known_fields(self.raw, _GRAPH_FIELDS, "")
        retry = self.default_retry(GRAPH)
        nodes = self.nodes(self.get(self.raw, "nodes"), retry)
        found = self.found
        edges = self.edges(self.get(self.raw, "edges", ()), nodes)
        entry = self.entry(self.get(self.raw, "entryNodeId"), nodes)
        if self.found == found:
            self.check_shape(entry, nodes, edges)
        timeout = self.timeout(None)
        self.check_waits(nodes, timeout)
        report = self.on_error(nodes, retry)
        return self.finished(
            Graph(
                entry,
                nodes,
                edges,
                self.required_fields(),
                timeout,
                visibility=self.visibility,
                on_error=report,
            )
        )

    def steps_form(self) -> Graph:
        self.known_fields(self.raw, _STEPS_FIELDS, "")
        retry = self.default_retry(STEPS)
        steps = self.listed(self.get(self.raw, "steps"), "steps", "step")
        nodes: dict[str, Node] = {}
        for place, one in enumerate(steps):
            node = self.step(one, retry, f"steps[{place}]")
            if node and node.id in nodes:
                self.add(f"steps[{place}].name", f"{node.id!r} is used twice")
            elif node:
                nodes[node.id] = node
        names = list(nodes)
        edges = tuple(Edge(one, other) for one, other in pairwise(names))
        return self.finished(
            Graph(
                names[0] if names else "",
                nodes,
                edges,
                self.required_fields(),
                self.timeout(fields.STEPS_TIMEOUT),
                Form.STEPS,
                self.calls,
                self.on_error(nodes, retry),
            )
        )

    def on_error(self, nodes: Mapping[str, Node], retry: RetryPolicy) -> Function | Send | None:
        """What is called or sent when an execution fails: a function by its name or with a payload, or one message."""
        given = self.get(self.raw, ON_ERROR)
        raw = {"function": given} if isinstance(given, str) else given
        if raw is None:
            return None
        if not isinstance(raw, Mapping):
            self.add(
                ON_ERROR, f"{quoted(raw)} is not the name of a function, nor an object with function, or type and to"
            )
            return None
        if ON_ERROR in nodes:
            self.add(ON_ERROR, f"a node is called {ON_ERROR!r} as well; rename it")
        kind = raw.get("type", "function")
        if kind == "function":
            self.known_fields(raw, fields.names_of(fields.REPORT_FIELDS), ON_ERROR)
            payload = self.get(raw, "payload", self.get(raw, "payloadTemplate", _REPORT))
            return self.function(raw, ON_ERROR, payload, retry, ON_ERROR, in_graph=False)
        return self.report_message(raw, kind, retry)

    def report_message(self, raw: Raw, kind: object, retry: RetryPolicy) -> Send | None:
        if not isinstance(kind, str) or kind not in CONTENT_FIELDS:
            types = ", ".join(("function", *CONTENT_FIELDS))
            self.add(f"{ON_ERROR}.type", f"{unfit(kind, 'is not what tells of a failure')}; use one of {types}")
            return None
        channel = Channel(kind)
        self.known_fields(raw, (fields.TYPE.name, fields.TO.name, *CONTENT_FIELDS[channel], "retry"), ON_ERROR)
        if not isinstance(raw.get("to"), str):
            self.add(f"{ON_ERROR}.to", "name one recipient: an address, or a template such as {{ owner_email }}")
            return None
        return self.send({name: one for name, one in raw.items() if name != "type"}, ON_ERROR, channel, retry, ON_ERROR)

    def finished(self, graph: Graph) -> Graph:
        self.check_walk(graph)
        self.raise_if_any()
        return graph

    def check_walk(self, graph: Graph) -> None:
        """Refuse templates and conditions that want the result of a node or step that is not there."""
        steps = len(graph.nodes) if graph.form is Form.STEPS else 0
        for place, one in self.of_the_walk:
            if one.node is not None and one.node not in graph.nodes:
                known = _some(graph.nodes)
                self.add(place, f"{one.name}: there is no node {one.node!r}; use one of {known}{one.where}")
            elif one.step is not None and not steps:
                self.add(place, f"{one.name}: only a workflow of steps has it; use vars.<id of a node>{one.where}")
            elif one.step is not None and one.step >= steps:
                self.add(place, f"{one.name}: {_count(steps)}, counted from 0{one.where}")

    def required_fields(self) -> tuple[str, ...]:
        raw = self.get(self.raw, "requiredFields", ())
        if not isinstance(raw, list | tuple) or not all(isinstance(one, str) and one for one in raw):
            self.add("requiredFields", f"{quoted(raw)} is not a list of names")
            return ()
        if len(raw) > fields.MOST_FIELDS:
            self.add("requiredFields", f"{len(raw)} names are more than the {fields.MOST_FIELDS} there may be")
        for place, one in enumerate(raw):
            if len(one) > LONGEST_KEY:
                self.add(f"requiredFields[{place}]", f"a name has at most {LONGEST_KEY} characters")
        return tuple(dict.fromkeys(raw))

    def timeout(self, default: timedelta | None) -> timedelta | None:
        seconds = self.bounded(self.raw, fields.EXECUTION_SECONDS)
        return default if seconds is None else timedelta(seconds=seconds)

    def read_visibility(self) -> timedelta | None:
        """`visibility_timeout`: the longest a call may take, and when a step whose worker died comes back."""
        seconds = self.bounded(self.raw, fields.VISIBILITY_SECONDS)
        return None if seconds is None else timedelta(seconds=seconds)

    def default_retry(self, preset: RetryPolicy) -> RetryPolicy:
        """The policy of every node that has none of its own."""
        retries = self.bounded(self.raw, fields.MAX_RETRIES)
        attempts = preset.attempts if retries is None else int(retries) + 1
        return self.retry(self.raw, replace(preset, attempts=attempts), "")

    def entry(self, raw: object, nodes: Mapping[str, Node]) -> str:
        if not isinstance(raw, str) or raw not in nodes:
            self.add("entryNodeId", f"{unfit(raw, 'is not the id of a node')}; use one of {_some(nodes)}")
            return ""
        return raw

    def listed(self, raw: object, place: str, what: str) -> Sequence[object]:
        if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
            self.add(place, f"give at least one {what}")
            return ()
        if len(raw) > MAX_NODES:
            self.add(place, f"{len(raw)} {place} are more than the {MAX_NODES} a workflow may have")
            return ()
        return raw

    def nodes(self, raw: object, retry: RetryPolicy) -> dict[str, Node]:
        nodes: dict[str, Node] = {}
        for place, one in enumerate(self.listed(raw, "nodes", "node")):
            node = self.node(one, retry, f"nodes[{place}]")
            if node and node.id in nodes:
                self.add(f"nodes[{place}].id", f"{node.id!r} is used twice")
            elif node:
                nodes[node.id], self.places[node.id] = node, place
        return nodes

    def node(self, raw: object, retry: RetryPolicy, place: str) -> Node | None:
        if not isinstance(raw, Mapping):
            self.add(place, "a node is an object with id and type")
            return None
        name = self.name(raw, "id", place)
        node = self.node_of_type(raw, name, retry, place)
        return node if name else None

    def node_of_type(self, raw: Raw, name: str, retry: RetryPolicy, place: str) -> Node:
        kind = raw.get("type")
        if isinstance(kind, str) and kind in CONTENT_FIELDS:
            return self.send(raw, name, Channel(kind), retry, place)
        if not isinstance(kind, str) or kind not in NODE_FIELDS:
            types = ", ".join((*NODE_FIELDS, *CONTENT_FIELDS))
            self.add(f"{place}.type", f"{unfit(kind, 'is not a node type')}; use one of {types}")
            return Delay(name)  # stands in for it, so that edges to it are not called wrong as well
        self.known_fields(raw, fields.names_of((fields.ID, fields.TYPE, *NODE_FIELDS[kind])), place)
        match NodeType(kind):
            case NodeType.FUNCTION:
                return self.function_node(raw, name, retry, place)
            case NodeType.BRANCH:
                return Branch(name)
            case NodeType.DELAY:
                return self.delay(raw, name, place)

    def function_node(self, raw: Raw, name: str, retry: RetryPolicy, place: str) -> Function:
        payload = self.get(raw, "payload", self.get(raw, "payloadTemplate"))
        if not self.is_stored and "payload" in raw and self.get(raw, "payloadTemplate") is not None:
            self.add(f"{place}.payloadTemplate", "is given twice, the other time as payload; give it once")
        return self.function(raw, name, payload, retry, place, in_graph=True)

    def send(self, raw: Raw, name: str, channel: Channel, retry: RetryPolicy, place: str) -> Send:
        own = (
            *fields.names_of((fields.ID, fields.TYPE, fields.TO)),
            *CONTENT_FIELDS[channel],
            *fields.names_of(fields.SEND_FIELDS),
        )
        self.known_fields(raw, own, place)
        policy, on_failure = self.on_failure(raw, self.retry(raw, retry, place), place, only_retry_repeats=False)
        return Send(
            name,
            channel,
            self.recipients(raw.get("to"), channel, place),
            self.content(raw, channel, place),
            retry=policy,
            on_failure=on_failure,
            on_doubt=self.choice(raw, fields.SEND_DOUBT.name, OnDoubt, OnDoubt(str(fields.SEND_DOUBT.default)), place),
        )

    def step(self, raw: object, retry: RetryPolicy, place: str) -> Function | None:
        if not isinstance(raw, Mapping):
            self.add(place, "a step is an object with name, function, action and payload_template")
            return None
        self.known_fields(raw, fields.names_of(fields.STEP_FIELDS), place)
        name = self.name(raw, "name", place)
        node = self.function(raw, name, self.get(raw, "payloadTemplate"), retry, place, in_graph=False)
        return node if name else None

    def function(
        self, raw: Raw, name: str, payload: object, retry: RetryPolicy, place: str, *, in_graph: bool
    ) -> Function:
        """A step is called again after a failure, so its functions count as idempotent unless they say otherwise."""
        own = self.retry(raw, retry, place)
        policy, on_failure = self.on_failure(raw, own, place, only_retry_repeats=not in_graph)
        seconds = self.bounded(raw, fields.CALL_SECONDS, place)
        idempotent = fields.IDEMPOTENT if in_graph else fields.STEP_IDEMPOTENT
        return Function(
            name,
            self.function_name(raw, place),
            self.name(raw, fields.ACTION.name, place, default=str(fields.ACTION.default)),
            self.payload(payload, place),
            retry=policy,
            on_failure=on_failure,
            on_doubt=self.choice(raw, fields.CALL_DOUBT.name, OnDoubt, OnDoubt(str(fields.CALL_DOUBT.default)), place),
            idempotent=self.flag(raw, idempotent.name, bool(idempotent.default), place),
            timeout=self.calls if seconds is None else timedelta(seconds=seconds),
        )

    def function_name(self, raw: Raw, place: str) -> str:
        name = self.name(raw, "function", place)
        if name and not self.is_stored and (wrong := problem_of_function(name)):
            self.add(f"{place}.function", wrong)
        return name

    def delay(self, raw: Raw, name: str, place: str) -> Delay:
        given = {field: self.get(raw, field) for field in fields.names_of(fields.DELAY_FIELDS)}
        named = [field for field, value in given.items() if value is not None]
        if len(named) != 1:
            self.add(place, "a delay needs either delayMs, duration or until")
            return Delay(name)
        if named == ["until"]:
            return Delay(name, until=self.until(given["until"], f"{place}.until"))
        if named == ["duration"]:
            return Delay(name, self.duration(given["duration"], place))
        return Delay(name, self.milliseconds(given["delayMs"], place))

    def until(self, raw: object, place: str) -> str | None:
        if isinstance(raw, str) and self.is_plain_variable(raw):
            self.check_template(raw, place, html=False)
            return raw
        try:
            parse_time(raw if isinstance(raw, str) else repr(raw))
        except ValueError as error:
            self.add(place, f"{error}, or name one variable like {{{{ appointment_at }}}}")
            return None
        return str(raw)

    def edges(self, raw: object, nodes: Mapping[str, Node]) -> tuple[Edge, ...]:
        if not isinstance(raw, Sequence) or isinstance(raw, str):
            self.add("edges", "edges are a list of {from, to}")
            return ()
        if len(raw) > MAX_EDGES:
            self.add("edges", f"{len(raw)} edges are more than the {MAX_EDGES} a workflow may have")
            return ()
        edges: dict[tuple[str, str], Edge] = {}
        for place, one in enumerate(raw):
            edge = self.edge(one, nodes, f"edges[{place}]")
            if (edge.source, edge.target) in edges:
                self.add(f"edges[{place}]", f"{edge.source!r} to {edge.target!r} is there twice")
            edges[edge.source, edge.target] = edge
        self.check_branches(list(edges.values()), nodes)
        return tuple(edges.values())

    def edge(self, raw: object, nodes: Mapping[str, Node], place: str) -> Edge:
        ends = (raw.get("from"), raw.get("to")) if isinstance(raw, Mapping) else (None, None)
        for name, end in zip(("from", "to"), ends, strict=True):
            if not isinstance(end, str) or end not in nodes:
                self.add(f"{place}.{name}", f"{unfit(end, 'is not the id of a node')}; use one of {_some(nodes)}")
        if not isinstance(raw, Mapping):
            return Edge(str(ends[0]), str(ends[1]))
        self.known_fields(raw, fields.names_of(fields.EDGE_FIELDS), place)
        condition = raw.get("condition")
        if condition is None:
            return Edge(str(ends[0]), str(ends[1]))
        if isinstance(ends[0], str) and not isinstance(nodes.get(ends[0], Branch("")), Branch):
            self.add(f"{place}.condition", f"{ends[0]!r} is not a branch: only edges out of a branch have conditions")
        return Edge(str(ends[0]), str(ends[1]), self.condition(condition, f"{place}.condition"))

    def check_branches(self, edges: Iterable[Edge], nodes: Mapping[str, Node]) -> None:
        out: dict[str, list[Edge]] = defaultdict(list)
        for edge in edges:
            out[edge.source].append(edge)
        for name in (name for name, node in nodes.items() if isinstance(node, Branch)):
            defaults = [edge for edge in out[name] if edge.condition is None]
            place = f"nodes[{self.places[name]}]"
            if len(defaults) == len(out[name]):
                self.add(place, f"branch {name!r} needs at least one edge with a condition")
            if len(defaults) > 1:
                self.add(
                    place, f"branch {name!r} has {len(defaults)} edges without a condition; leave one as its default"
                )

    def check_waits(self, nodes: Mapping[str, Node], timeout: timedelta | None) -> None:
        for name, node in nodes.items():
            if timeout and isinstance(node, Delay) and node.wait >= timeout:
                self.add(f"nodes[{self.places[name]}]", f"{name!r} waits {node.wait}, past the timeout of {timeout}")

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


def _count(steps: int) -> str:
    return "there is 1 step" if steps == 1 else f"there are {steps} steps"


def _some(nodes: Mapping[str, Node]) -> str:
    names = [repr(name) for name in islice(nodes, 5)]
    return ", ".join(names) + (", …" if len(nodes) > len(names) else "") if names else "(there are none)"
