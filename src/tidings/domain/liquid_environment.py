"""The Liquid that templates may use: every limit set, no files, missing variables named.

Importing `liquid` takes a third of a second, so template.py imports this module when it meets the first template that
has Liquid in it.
"""

from functools import cache
from typing import TextIO

from liquid import Environment, RenderContext
from liquid.builtin.output import Output
from liquid.builtin.tags.echo_tag import EchoNode, EchoTag
from liquid.exceptions import LoopIterationLimitError
from liquid.stringify import to_liquid_string

from tidings.domain.liquid_filters import Missing, limited, own_filters, text_of

MAX_BLOCK_NESTING = 30
MAX_CONTEXT_DEPTH = 30
MAX_LOOP_ITERATIONS = 10_000
MAX_OUTPUT_BYTES = 1_000_000
MAX_LOCALS_BYTES = 1_000_000


class TextNode(EchoNode):
    """Output whose numbers and lists print as in LiquidJS."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Print the value."""
        value = self.expression.evaluate(context)
        if isinstance(value, float | list):
            value = text_of(value)
        return buffer.write(to_liquid_string(value, context.autoescape))


class TextOutput(Output):
    """`{{ … }}` printed by TextNode."""

    node_class = TextNode


class TextEcho(EchoTag):
    """`{% echo … %}` printed by TextNode."""

    node_class = TextNode


class Limited(Environment):
    """An environment with every limit set."""

    block_nesting_limit = MAX_BLOCK_NESTING
    context_depth_limit = MAX_CONTEXT_DEPTH
    loop_iteration_limit = MAX_LOOP_ITERATIONS
    output_stream_limit = MAX_OUTPUT_BYTES
    local_namespace_limit = MAX_LOCALS_BYTES
    logical_not_operator = True
    suppress_blank_control_flow_blocks = False

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        """Add our own output to Liquid's tags."""
        super().setup_tags_and_filters(extra=extra)
        self.add_tag(TextOutput)
        self.add_tag(TextEcho)


class Context(RenderContext):
    """A context that counts a reversed loop before Liquid copies its range."""

    __slots__ = ()

    def stopindex(self, key: str, index: int | None = None) -> int:
        """Called just before a reversed loop copies its range."""
        if index is not None and index > MAX_LOOP_ITERATIONS:
            raise LoopIterationLimitError("loop iteration limit reached", token=None)
        return super().stopindex(key, index)


@cache
def environment_for(html: bool) -> Environment:
    """The environment of HTML fields, which escapes what it prints, or of all others."""
    environment = Limited(undefined=Missing, autoescape=html)
    for tag in ("include", "render"):
        del environment.tags[tag]
    for name, function in {**environment.filters, **own_filters(environment.filters)}.items():
        environment.add_filter(name, function if name == "default" else limited(name, function))
    return environment
