"""The Liquid that templates may use: LiquidJS's tags and filters, every limit set, no files, missing variables named.

Importing `liquid` takes a third of a second, so template.py imports this module when it meets the first template that
has Liquid in it.
"""

import re
from functools import cache

from liquid import BoundTemplate, Environment, Node, RenderContext, Token
from liquid.parser import get_parser
from liquid.undefined import UNDEFINED
from liquid.utils import ReadOnlyChainMap

from tidings.domain.content.liquid.expressions import Stream
from tidings.domain.content.liquid.filters import every_filter
from tidings.domain.content.liquid.tags import OWN_TAGS
from tidings.domain.content.liquid.values import ABSENT, LISTS, MAX_ITEMS, Missing, is_missing, read

MAX_BLOCK_NESTING = 30
MAX_CONTEXT_DEPTH = 30
MAX_LOOP_ITERATIONS = MAX_ITEMS
MAX_OUTPUT_BYTES = 1_000_000
MAX_LOCALS_BYTES = 1_000_000

_OF_A_STEP = re.compile(r"step_\d+_(result|error)", re.ASCII)


class Limited(Environment):
    """An environment with every limit set."""

    block_nesting_limit = MAX_BLOCK_NESTING
    context_depth_limit = MAX_CONTEXT_DEPTH
    loop_iteration_limit = MAX_LOOP_ITERATIONS
    output_stream_limit = MAX_OUTPUT_BYTES
    local_namespace_limit = MAX_LOCALS_BYTES
    suppress_blank_control_flow_blocks = False

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        """Put our own tags and filters in the place of Liquid's."""
        super().setup_tags_and_filters(extra=extra)
        for tag in OWN_TAGS:
            self.add_tag(tag)
        for name in ("include", "render"):
            del self.tags[name]
        self.filters = every_filter(self.filters)

    def _parse(self, source: str) -> list[Node]:
        return get_parser(self).parse(Stream(self.tokenizer()(source)))


class Context(RenderContext):
    """A context in which names lead where they do in LiquidJS."""

    __slots__ = ()

    def __init__(self, template: BoundTemplate, *, globals: dict[str, object]) -> None:  # noqa: A002
        super().__init__(template, globals=globals)
        # A counter goes before the data it was counted up from. No clock: `now` is in the data.
        self.scope = ReadOnlyChainMap(self.locals, self.counters, self.globals)

    def get(self, path: list[object], *, token: Token | None, default: object = UNDEFINED) -> object:  # noqa: ARG002
        """Follow a path; what is missing on the way is named."""
        root, *names = path
        try:
            value = self.scope[str(root)]
        except KeyError:
            return self._missing_root(str(root), token)
        for place, name in enumerate(names):
            if is_missing(name):
                return name
            inner = read(value, name)
            if inner is ABSENT:
                return self._missing_inside(path[: place + 2], token)
            if inner is None and isinstance(value, LISTS):
                return None  # beyond the end of a list there is nothing, however long the path
            value = inner
        return value

    def _missing_root(self, name: str, token: Token | None) -> object:
        if "vars" in self.globals and _OF_A_STEP.fullmatch(name):
            return None  # the step has not run
        return Missing(name, token=token, hint=f"{name!r} is undefined")

    def _missing_inside(self, path: list[object], token: Token | None) -> object:
        if path[0] == "vars" and len(path) == 2:
            return None  # the node has not run
        names = [f".{name}" if isinstance(name, str) else f"[{name}]" for name in path[1:]]
        return Missing(str(path[0]), token=token, hint=f"{path[0]}{''.join(names)} is undefined")

    def increment(self, name: str) -> int:
        """Return a counter, then count it up."""
        value = self._counter(name)
        self.counters[name] = value + 1
        return value

    def decrement(self, name: str) -> int:
        """Count a counter down, then return it."""
        self.counters[name] = self._counter(name) - 1
        return self.counters[name]

    def _counter(self, name: str) -> int:
        value = self.counters.get(name, self.globals.get(name))
        return value if isinstance(value, int) and not isinstance(value, bool) else 0


@cache
def environment_for(html: bool) -> Environment:
    """The environment of HTML fields, which escapes what it prints, or of all others."""
    return Limited(undefined=Missing, autoescape=html)
