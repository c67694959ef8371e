"""What names lead to while a template is rendered. Part of environment.py."""

import re
from collections.abc import Mapping
from math import prod

from liquid import BoundTemplate, RenderContext, Token
from liquid.exceptions import ContextDepthError
from liquid.undefined import UNDEFINED
from liquid.utils import ReadOnlyChainMap

from tidings.domain.content.linked import MAX_RENDER_DEPTH
from tidings.domain.content.liquid.values import ABSENT, LISTS, Missing, is_missing, read

_OF_A_STEP = re.compile(r"step_\d+_(result|error)", re.ASCII)


class Context(RenderContext):
    """A context in which names lead where they do in LiquidJS."""

    __slots__ = ("_data", "_partials")

    def __init__(
        self,
        template: BoundTemplate,
        *,
        globals: Mapping[str, object],  # noqa: A002
        partials: Mapping[str, BoundTemplate] | None = None,
    ) -> None:
        super().__init__(template, globals=globals)
        self._data = globals
        self._partials = partials or {}
        # A counter goes before the data it was counted up from. No clock: `now` is in the data.
        self.scope = ReadOnlyChainMap(self.locals, self.counters, self.globals)

    def partial(self, name: str) -> BoundTemplate | None:
        """The template of this name that travels with the one that is rendered."""
        return self._partials.get(name)

    def isolated(self, template: BoundTemplate, given: Mapping[str, object], *, times: int = 1) -> "Context":
        """The context of a template that is rendered from here so often: the data, what it is given, nothing else."""
        if self._copy_depth >= MAX_RENDER_DEPTH:
            raise ContextDepthError("templates render each other too deeply", token=None)
        inner = Context(template, globals={**self._data, **given}, partials=self._partials)
        inner._data = self._data
        inner._copy_depth = self._copy_depth + 1
        inner.parent_context = self
        inner.loop_iteration_carry = prod((loop.length for loop in self.loops), start=self.loop_iteration_carry) * times
        inner.local_namespace_size_carry = self.get_size_of_locals()
        inner.tag_namespace["now"] = self.tag_namespace["now"]
        return inner

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
