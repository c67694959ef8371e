"""A workflow as a drawing for the terminal: chains run down, forks go in, and where they meet it goes on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

from rich.text import Text

from tidings.cli.output import printable

MOST_NODES = 300
"""Beyond this nobody sees the shape any more; a table is shown instead."""
LONGEST_DETAIL = 70
SIGNS = {"delay": "◷", "branch": "◆", "function": "ƒ"}
MILLISECONDS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
OPERATORS = {
    "equals": "=",
    "notEquals": "≠",
    "greater": ">",
    "greaterOrEqual": "≥",
    "less": "<",
    "lessOrEqual": "≤",
}

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """A node as it is drawn."""

    id: str
    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge from one node to the next, and the case in which it is taken."""

    source: str
    target: str
    case: str | None


@dataclass(frozen=True)
class Shape:
    """What is drawn of a definition."""

    entry: str
    nodes: Mapping[str, Node]
    arrows: Sequence[Arrow]

    @cached_property
    def out_of(self) -> Mapping[str, list[Arrow]]:
        """Return the edges that leave each node."""
        found: dict[str, list[Arrow]] = {node: [] for node in self.nodes}
        for arrow in self.arrows:
            found[arrow.source].append(arrow)
        return found

    @cached_property
    def before(self) -> Mapping[str, list[str]]:
        """Return the nodes before each node."""
        found: dict[str, list[str]] = {node: [] for node in self.nodes}
        for arrow in self.arrows:
            found[arrow.target].append(arrow.source)
        return found

    @cached_property
    def meetings(self) -> Mapping[str, list[str]]:
        """Return the nodes where branches meet, each under the last node that all those branches have in common."""
        above: dict[str, str] = {}
        depth = {self.entry: 0}
        found: dict[str, list[str]] = {node: [] for node in self.nodes}
        for node in TopologicalSorter(self.before).static_order():
            if node == self.entry:
                continue
            ways = self.before[node]
            above[node] = reduce(lambda one, other: _common(one, other, above, depth), ways)
            depth[node] = depth[above[node]] + 1
            if len(ways) > 1:
                found[above[node]].append(node)
        return found


def _common(one: str, other: str, above: Mapping[str, str], depth: Mapping[str, int]) -> str:
    while one != other:
        if depth[one] > depth[other]:
            one = above[one]
        else:
            other = above[other]
    return one


def shape_of(definition: Raw) -> Shape:
    """Return the shape of a definition in either form; it was checked before it was stored."""
    if "steps" in definition:
        return _shape_of_steps(definition["steps"])
    nodes = {raw["id"]: Node(raw["id"], raw["type"], _detail(raw)) for raw in definition["nodes"]}
    branches = {node.id for node in nodes.values() if node.kind == "branch"}
    arrows = [_arrow(raw, branches) for raw in definition.get("edges") or ()]
    return Shape(_either(definition, "entryNodeId", "entry_node_id"), nodes, arrows)


def draw(definition: Raw) -> list[Text]:
    """Return the lines of the drawing."""
    shape = shape_of(definition)
    if len(shape.nodes) > MOST_NODES:
        return [_row(shape, node) for node in shape.nodes.values()]
    return list(_draw_chain(shape, shape.entry, ""))


def _draw_chain(shape: Shape, node: str, margin: str) -> Iterator[Text]:
    """Draw a node and what follows it: down to an end, or to where its branches part and meet again."""
    while True:
        yield _line(margin, shape.nodes[node])
        arrows = shape.out_of[node]
        if len(arrows) != 1 or arrows[0].case is not None or len(shape.before[arrows[0].target]) > 1:
            break
        yield Text(f"{margin}│", style="dim")
        node = arrows[0].target
    yield from _draw_fork(shape, arrows, margin)
    for meeting in shape.meetings[node]:
        yield Text(f"{margin}▼", style="dim")
        yield from _draw_chain(shape, meeting, margin)


def _draw_fork(shape: Shape, arrows: Sequence[Arrow], margin: str) -> Iterator[Text]:
    for place, arrow in enumerate(arrows, start=1):
        is_last = place == len(arrows)
        line = Text.assemble((f"{margin}{'└' if is_last else '├'}─", "dim"))
        if arrow.case:
            line.append(f" {printable(arrow.case)}", style="yellow")
        if len(shape.before[arrow.target]) > 1:
            yield line.append(" → ", style="dim").append(printable(arrow.target))
        else:
            yield line
            yield from _draw_chain(shape, arrow.target, margin + ("   " if is_last else "│  "))


def _line(margin: str, node: Node) -> Text:
    sign = SIGNS.get(node.kind, "✉")
    return Text.assemble(
        (margin, "dim"),
        (f"{sign} {printable(node.id)}", "bold"),
        (f"  {node.kind}", "cyan"),
        f"  {printable(node.detail)}" if node.detail else "",
    )


def _row(shape: Shape, node: Node) -> Text:
    targets = ", ".join(arrow.target + (f" {arrow.case}" if arrow.case else "") for arrow in shape.out_of[node.id])
    return _line("", node) + Text(f" → {printable(targets)}" if targets else "")


def _shape_of_steps(steps: Sequence[Raw]) -> Shape:
    nodes = [Node(raw["name"], "function", _detail(raw)) for raw in steps]
    arrows = [Arrow(one.id, after.id, None) for one, after in pairwise(nodes)]
    return Shape(nodes[0].id, {node.id: node for node in nodes}, arrows)


def _arrow(raw: Raw, branches: set[str]) -> Arrow:
    condition = raw.get("condition")
    case = f"if {say_condition(condition)}" if condition is not None else None
    if case is None and raw["from"] in branches:
        case = "otherwise"
    return Arrow(raw["from"], raw["to"], case)


def _detail(raw: Raw) -> str:
    kind = raw.get("type", "function")
    if kind == "delay":
        return _say_delay(raw)
    if kind == "branch":
        return ""
    if kind == "function":
        said = f"{raw['function']} · {raw['action']}" if raw.get("action") else str(raw["function"])
    else:
        to = raw.get("to") or ""
        content = next((raw[name] for name in ("subject", "title", "body", "script", "html") if raw.get(name)), "")
        said = f"to {to if isinstance(to, str) else ', '.join(to)}: {content}"
    failure = _either(raw, "onFailure", "on_failure")
    return _short(said) + (f"  (on failure: {say_failure(failure)})" if failure else "")


def _say_delay(raw: Raw) -> str:
    if raw.get("until") is not None:
        return f"until {raw['until']}"
    if raw.get("duration") is not None:
        return str(raw["duration"])
    left, parts = float(_either(raw, "delayMs", "delay_ms") or 0), []
    for unit, size in MILLISECONDS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count:g} {unit}")
    return " ".join(parts) or "0 s"


def say_condition(condition: Any) -> str:
    """Return a condition in words."""
    if "all" in condition:
        return " and ".join(_grouped(one) for one in condition["all"])
    if "any" in condition:
        return " or ".join(_grouped(one) for one in condition["any"])
    if "not" in condition:
        return f"not {_grouped(condition['not'])}"
    operator = condition.get("op", "equals")
    if operator in {"exists", "missing"}:
        return f"{condition['path']} {'exists' if operator == 'exists' else 'is missing'}"
    return f"{condition['path']} {OPERATORS.get(operator, operator)} {condition.get('value')!r}"


def say_failure(failure: Any) -> str:
    """Return in words what is done about a failure."""
    if isinstance(failure, Mapping):
        return f"retry {failure.get('retry')} times, then {failure.get('then', 'abort')}"
    return str(failure)


def _grouped(condition: Any) -> str:
    said = say_condition(condition)
    return f"({said})" if "all" in condition or "any" in condition else said


def _either(raw: Raw, camel: str, snake: str) -> Any:
    return raw.get(camel, raw.get(snake))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_DETAIL else f"{line[: LONGEST_DETAIL - 1]}…"
