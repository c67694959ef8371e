"""`{% render 'footer', name: contact.name %}`: print another template. Part of environment.py.

The template sees the message's data and what it is given, none of the names that the one around it has made, and what
it names itself ends with it. It is found among those that travel with the message, so none can appear or change later.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TextIO

from liquid import Node, RenderContext, Tag, Token, TokenStream
from liquid.builtin.expressions import KeywordArgument, Path, parse_identifier, parse_primitive
from liquid.builtin.expressions.primitive import StringLiteral
from liquid.builtin.tags.for_tag import ForLoop
from liquid.exceptions import LiquidSyntaxError, TemplateNotFoundError
from liquid.expression import Expression
from liquid.token import TOKEN_TAG, TOKEN_WORD

from tidings.domain.content.liquid.context import Context
from tidings.domain.content.liquid.values import enumerated

FORLOOP = "forloop"


class Bound(NamedTuple):
    """What follows `with` or `for`: one value under a name, or the template once for each of several."""

    value: Expression
    name: str
    is_loop: bool


class PartialNode(Node):
    """`render`: the name of a template, and what it is given."""

    __slots__ = ("args", "bound", "name")

    def __init__(self, token: Token, name: str, bound: Bound | None, args: list[KeywordArgument]) -> None:
        super().__init__(token)
        self.name = name
        self.bound = bound
        self.args = args
        self.blank = False

    def __str__(self) -> str:
        given = "".join(f", {one}" for one in self.args)
        return f"{{% render {self.name!r}{given} %}}"

    @property
    def given(self) -> Mapping[str, Expression]:
        """What the template is given, by name; of a loop neither the items nor `forloop`."""
        named = {one.name: one.value for one in self.args}
        return named | ({self.bound.name: self.bound.value} if self.bound and not self.bound.is_loop else {})

    @property
    def of_loop(self) -> frozenset[str]:
        """The names that only a loop over it provides."""
        return frozenset({self.bound.name, FORLOOP}) if self.bound and self.bound.is_loop else frozenset()

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Print the template, or print it for each of the items."""
        template = context.partial(self.name) if isinstance(context, Context) else None
        if template is None or not isinstance(context, Context):
            raise TemplateNotFoundError(f"there is no template {self.name!r}", token=self.token)
        given = {name: value.evaluate(context) for name, value in self.given.items()}
        if self.bound is None or not self.bound.is_loop:
            template.render_with_context(context.isolated(template, given), buffer, partial=True, block_scope=True)
            return 1
        items = enumerated(self.bound.value.evaluate(context))
        context.raise_for_loop_limit(len(items))
        for namespace in self._turns(items):
            inner = context.isolated(template, {**given, **namespace}, times=len(items))
            template.render_with_context(inner, buffer, partial=True, block_scope=True)
        return 1

    def _turns(self, items: Iterable[object]) -> Iterator[Mapping[str, object]]:
        """The names of each turn of a loop."""
        if self.bound is None:
            return
        listed = list(items)
        loop = ForLoop(name=self.bound.name, it=iter(listed), length=len(listed), parentloop=None)
        for item in loop:
            yield {self.bound.name: item, FORLOOP: loop}

    def expressions(self) -> Iterable[Expression]:
        """The values that it is given."""
        if self.bound:
            yield self.bound.value
        yield from (one.value for one in self.args)


class Render(Tag):
    """`render` by PartialNode."""

    name = "render"
    block = False

    def parse(self, stream: TokenStream) -> PartialNode:
        """Parse a name in quotes, `with` or `for` a value, and what else it is given."""
        token = stream.eat(TOKEN_TAG)
        tokens = stream.into_inner(tag=token, eat=False)
        name = parse_primitive(self.env, tokens)
        if not isinstance(name, StringLiteral):
            raise LiquidSyntaxError("'render' takes the name of a template in quotes", token=token)
        bound = self._bound(tokens, name.value)
        return PartialNode(token, name.value, bound, KeywordArgument.parse(self.env, tokens))

    def _bound(self, tokens: TokenStream, template: str) -> Bound | None:
        word = tokens.current
        if word.kind != TOKEN_WORD or word.value not in {"with", "for"}:
            return None
        next(tokens)
        value = Path.parse(self.env, tokens)
        name = template
        if tokens.current.kind == TOKEN_WORD and tokens.current.value == "as":
            next(tokens)
            name = parse_identifier(self.env, tokens)
        return Bound(value, str(name), word.value == "for")
