"""The Liquid that templates may use: LiquidJS's tags and filters, every limit set, no files, missing variables named.

`render` finds only the templates that travel with the one that is rendered (linked.py).

Importing `liquid` takes a third of a second, so template.py imports this module when it meets the first template that
has Liquid in it.
"""

from functools import cache

from liquid import Environment, Node
from liquid.parser import get_parser

from tidings.domain.content.liquid.expressions import Stream
from tidings.domain.content.liquid.filters import every_filter
from tidings.domain.content.liquid.partials import Render
from tidings.domain.content.liquid.tags import OWN_TAGS
from tidings.domain.content.liquid.values import MAX_ITEMS, Missing

MAX_BLOCK_NESTING = 30
MAX_CONTEXT_DEPTH = 30
MAX_LOOP_ITERATIONS = MAX_ITEMS
MAX_OUTPUT_BYTES = 1_000_000
MAX_LOCALS_BYTES = 1_000_000


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
        self.add_tag(Render)
        del self.tags["include"]
        self.filters = every_filter(self.filters)

    def _parse(self, source: str) -> list[Node]:
        return get_parser(self).parse(Stream(self.tokenizer()(source)))


@cache
def environment_for(html: bool) -> Environment:
    """The environment of HTML fields, which escapes what it prints, or of all others."""
    return Limited(undefined=Missing, autoescape=html)
