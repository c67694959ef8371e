"""Which data a template uses, read from its nodes: what it prints, and whatever else it names.

Called by template.py. What a template renders is read as if it was written out where it is rendered, so the places are
always in the template itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from liquid import BoundTemplate, Node, RenderContext
from liquid.builtin.content import ContentNode
from liquid.builtin.expressions import FilteredExpression, Path
from liquid.builtin.output import OutputNode
from liquid.builtin.tags.cycle_tag import CycleNode
from liquid.expression import Expression

from tidings.domain.content.liquid.partials import PartialNode

CONTENT = "content"
"""What a layout prints in its middle: the message that it wraps."""


@dataclass(frozen=True, slots=True)
class ParsedTemplate:
    """A template, what it renders by name, and what wraps it."""

    template: BoundTemplate
    partials: Mapping[str, BoundTemplate] = field(default_factory=dict)
    layout: BoundTemplate | None = None


class FoundPath(NamedTuple):
    """A path into the data, and the character of the template at which it is needed."""

    path: tuple[object, ...]
    at: int


PathsOf = Callable[[Expression], Iterator[Path]]


def printed(parsed: ParsedTemplate) -> Iterator[FoundPath]:
    """Yield the paths that are output without `default`."""
    return _found(parsed, _PathReader(parsed.partials, _printed_by, _paths_without_default))


def named(parsed: ParsedTemplate) -> Iterator[FoundPath]:
    """Yield every path, be it printed, tested, passed on or looped over."""
    return _found(parsed, _PathReader(parsed.partials, _expressions_of, _every_path))


def fixed_text(parsed: ParsedTemplate) -> str:
    """Return the text outside of tags, that of what is rendered in any case included."""
    return "".join(_fixed(parsed.template, parsed.partials))


def _found(parsed: ParsedTemplate, reading: "_PathReader") -> Iterator[FoundPath]:
    yield from reading.read(parsed.template)
    if parsed.layout:
        wanted = reading.read(parsed.layout)
        yield from (FoundPath(path, 0) for path, _ in wanted if path[0] != CONTENT)


class _PathReader:
    """Reads templates for one purpose: which expressions of a node count, and which paths of an expression."""

    def __init__(
        self,
        partials: Mapping[str, BoundTemplate],
        expressions_of: Callable[[Node], Iterable[Expression]],
        paths_of: PathsOf,
    ) -> None:
        self._partials = partials
        self._expressions_of = expressions_of
        self._paths_of = paths_of
        self._known: dict[str, list[FoundPath]] = {}

    def read(self, template: BoundTemplate) -> Iterator[FoundPath]:
        """Yield the paths that lead into the data, not to what the template itself has named."""
        static_context = RenderContext(template)
        assigned: set[str] = set()

        def visit(node: Node, enclosing: frozenset[str]) -> Iterator[FoundPath]:
            for path, index, is_own in self._of_node(node):
                if not is_own or (path[0] not in enclosing and path[0] not in assigned):
                    yield FoundPath(path, index)
            assigned.update(map(str, node.template_scope()))
            inner = enclosing.union(map(str, node.block_scope()))
            for child in node.children(static_context, include_partials=False):
                yield from visit(child, inner)

        for node in template.nodes:
            yield from visit(node, frozenset())

    def _of_node(self, node: Node) -> Iterator[tuple[tuple[object, ...], int, bool]]:
        """Yield paths, their places, and whether the template's own names may hide them."""
        for expression in self._expressions_of(node):
            for path in self._paths_of(expression):
                yield tuple(path.path), path.token.start_index, True
        if isinstance(node, PartialNode):
            yield from self._of_partial(node)

    def _of_partial(self, node: PartialNode) -> Iterator[tuple[tuple[object, ...], int, bool]]:
        """Yield what a rendered template needs: of the data, or of what it is given."""
        given, index = node.given, node.token.start_index
        for path, _ in self._in_partial(node.name):
            root = str(path[0])
            if root in node.of_loop:
                continue
            value = given.get(root)
            if value is None:
                yield path, index, False
            elif isinstance(value, Path):
                yield (*value.path, *path[1:]), index, True
            else:
                yield from ((tuple(one.path), index, True) for one in self._paths_of(value))

    def _in_partial(self, name: str) -> list[FoundPath]:
        if name not in self._known:
            self._known[name] = []  # of one that renders itself: linking.py refuses it
            partial = self._partials.get(name)
            self._known[name] = list(dict.fromkeys(self.read(partial))) if partial else []
        return self._known[name]


def _printed_by(node: Node) -> Iterable[Expression]:
    return node.expressions() if isinstance(node, OutputNode | CycleNode) else ()


def _expressions_of(node: Node) -> Iterable[Expression]:
    return node.expressions()


def _every_path(expression: Expression) -> Iterator[Path]:
    if isinstance(expression, Path):
        yield expression
    for child in expression.children():
        yield from _every_path(child)


def _paths_without_default(expression: Expression) -> Iterator[Path]:
    if isinstance(expression, FilteredExpression):
        filters = expression.filters or []
        if not any(each.name == "default" for each in filters):
            yield from _paths_without_default(expression.left)
        for each in filters:
            if each.name != "default":
                for argument in each.children():
                    yield from _paths_without_default(argument)
        return
    if isinstance(expression, Path) and isinstance(expression.head(), str):
        yield expression
    for child in expression.children():
        yield from _paths_without_default(child)


def _fixed(template: BoundTemplate, partials: Mapping[str, BoundTemplate], depth: int = 0) -> Iterator[str]:
    for node in template.nodes:
        if isinstance(node, ContentNode):
            yield node.text
        elif isinstance(node, PartialNode) and not node.of_loop and node.name in partials and depth < len(partials):
            yield from _fixed(partials[node.name], partials, depth + 1)
