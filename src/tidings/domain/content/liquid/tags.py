"""Tags whose expressions are read, compared and printed as in LiquidJS. Part of environment.py."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from liquid import BlockNode, ConditionalBlockNode, Environment, Node, RenderContext, Tag, Token, TokenStream
from liquid.builtin.expressions import LoopExpression, parse_identifier, parse_name, parse_primitive
from liquid.builtin.expressions.primitive import StringLiteral
from liquid.builtin.output import Output
from liquid.builtin.tags.assign_tag import AssignNode, AssignTag
from liquid.builtin.tags.capture_tag import ENDCAPTUREBLOCK, CaptureNode, CaptureTag
from liquid.builtin.tags.case_tag import CaseTag
from liquid.builtin.tags.cycle_tag import CycleNode, CycleTag
from liquid.builtin.tags.echo_tag import EchoNode, EchoTag
from liquid.builtin.tags.for_tag import ForNode, ForTag
from liquid.builtin.tags.if_tag import IfNode, IfTag
from liquid.builtin.tags.liquid_tag import LiquidTag
from liquid.builtin.tags.tablerow_tag import TableRow, TablerowNode, TablerowTag
from liquid.builtin.tags.unless_tag import UnlessNode, UnlessTag
from liquid.exceptions import BreakLoop, ContinueLoop, LiquidSyntaxError, LoopIterationLimitError
from liquid.expression import Expression
from liquid.parser import get_parser
from liquid.stringify import to_liquid_string
from liquid.token import TOKEN_ASSIGN, TOKEN_COLON, TOKEN_COMMA, TOKEN_EXPRESSION, TOKEN_TAG

from tidings.domain.content.liquid.expressions import (
    Condition,
    Stream,
    parse_condition,
    parse_filtered,
    parse_value,
    tokenize,
)
from tidings.domain.content.liquid.values import enumerated, equals, text_of, whole_number

# Output


def printed(value: object, context: RenderContext) -> str:
    """A value as it is written out: escaped in HTML unless it is marked as safe."""
    return to_liquid_string(text_of(value), context.autoescape)


class TextNode(EchoNode):
    """Output that prints as in LiquidJS."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Print the value."""
        return buffer.write(printed(self.expression.evaluate(context), context))


class TextOutput(Output):
    """`{{ … }}` printed by TextNode."""

    node_class = TextNode

    def parse(self, stream: TokenStream) -> TextNode:
        """Parse an output with operators in it, or without."""
        token = next(stream)
        expression = stream.expect(TOKEN_EXPRESSION)
        return TextNode(token, parse_value(self.env, Stream(tokenize(expression))))


class TextEcho(EchoTag):
    """`{% echo … %}` printed by TextNode."""

    node_class = TextNode

    def parse(self, stream: TokenStream) -> TextNode:
        """Parse the same with other brackets."""
        token = stream.eat(TOKEN_TAG)
        return TextNode(token, parse_value(self.env, stream.into_inner(tag=token, eat=False)))


class Assign(AssignTag):
    """`assign` of what an output could print."""

    def parse(self, stream: TokenStream) -> AssignNode:
        """Parse a name and a value."""
        token = stream.eat(TOKEN_TAG)
        tokens = stream.into_inner(tag=token, eat=False)
        name = parse_identifier(self.env, tokens, allow_trailing_question_mark=False)
        tokens.eat(TOKEN_ASSIGN)
        return AssignNode(token, name=name, expression=parse_value(self.env, tokens))


class Capture(CaptureTag):
    """`capture`, whose name may be in quotes."""

    def parse(self, stream: TokenStream) -> CaptureNode:
        """Parse a name and a block."""
        token = stream.eat(TOKEN_TAG)
        tokens = stream.into_inner(tag=token)
        name = parse_name(self.env, tokens)
        tokens.expect_eos()
        block = get_parser(self.env).parse_block(stream, ENDCAPTUREBLOCK)
        stream.expect(TOKEN_TAG, value=self.end)
        return CaptureNode(token, name=name, block=block)


class Cycling(CycleNode):
    """`cycle`: each list of values has its own turn, and each group."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Print the value whose turn it is."""
        group = text_of(self.group.evaluate(context)) if self.group else ""
        turn = context.cycle((group, ",".join(map(str, self.args))), len(self.args))
        return buffer.write(printed(self.args[turn].evaluate(context), context))


class Cycle(CycleTag):
    """`cycle` by Cycling."""

    node_class = Cycling

    def parse(self, stream: TokenStream) -> Cycling:
        """Parse a group, if there is one, and values."""
        token = stream.eat(TOKEN_TAG)
        tokens = stream.into_inner(tag=token, eat=False)
        group: Expression | None = None
        if tokens.peek.kind == TOKEN_COLON:
            group = parse_primitive(self.env, tokens)
            tokens.eat(TOKEN_COLON)
        values: list[Expression] = [parse_filtered(self.env, tokens)]
        while tokens.current.kind == TOKEN_COMMA:
            next(tokens)
            values.append(parse_filtered(self.env, tokens))
        tokens.expect_eos()
        return Cycling(token, group, values)


class Liquid(LiquidTag):
    """`{% liquid %}`, whose lines are read like other tags."""

    def parse(self, stream: TokenStream) -> Node:
        """Parse one tag on each line."""
        token = stream.eat(TOKEN_TAG)
        if stream.current.kind != TOKEN_EXPRESSION:
            raise LiquidSyntaxError("missing expression", token=token)
        lines = Stream(self._tokenize(stream.current.value, token=stream.current), stream.block_depth)
        return self.node_class(token, stream.current, block=get_parser(self.env).parse_block(lines, end=()))


# Conditions


def _branches(
    env: Environment, stream: TokenStream, end: str
) -> tuple[Condition, BlockNode, list[ConditionalBlockNode], BlockNode | None]:
    """Parse the branches of `if` and `unless`, up to the tag that ends them."""
    token = stream.eat(TOKEN_TAG)
    condition = parse_condition(env, stream.into_inner(tag=token))
    parse_block, ends = get_parser(env).parse_block, frozenset({end, "elsif", "else"})
    first = parse_block(stream, ends)
    others: list[ConditionalBlockNode] = []
    while stream.current.is_tag("elsif"):
        asked = parse_condition(env, stream.into_inner(tag=next(stream)))
        others.append(ConditionalBlockNode(stream.current, asked, parse_block(stream, ends)))
    default: BlockNode | None = None
    if stream.current.is_tag("else"):
        default = _else(env, stream, frozenset({end, "elsif", "else"}))
    stream.expect(TOKEN_TAG, value=end)
    return condition, first, others, default


def _else(env: Environment, stream: TokenStream, ends: frozenset[str]) -> BlockNode:
    token = next(stream)
    if stream.current.kind == TOKEN_EXPRESSION:
        raise LiquidSyntaxError("'else' asks nothing; did you mean 'elsif'?", token=token)
    return get_parser(env).parse_block(stream, ends)


class If(IfTag):
    """`if` with filters and operators."""

    def parse(self, stream: TokenStream) -> IfNode:
        """Parse its branches."""
        token = stream.current
        condition, first, others, default = _branches(self.env, stream, self.end)
        return IfNode(token, condition, first, others, default)


class Unless(UnlessTag):
    """`unless` with filters and operators."""

    def parse(self, stream: TokenStream) -> UnlessNode:
        """Parse its branches."""
        token = stream.current
        condition, first, others, default = _branches(self.env, stream, self.end)
        return UnlessNode(token, condition, first, others, default)


class WhenNode(Node):
    """A branch of `case` and the values it is for."""

    __slots__ = ("block", "values")

    def __init__(self, token: Token, values: list[Expression], block: BlockNode) -> None:
        super().__init__(token)
        self.values = values
        self.block = block

    def __str__(self) -> str:
        return f"{{% when {', '.join(map(str, self.values))} %}}{self.block}"

    def is_for(self, value: object, context: RenderContext) -> bool:
        """Whether one of its values is the one in question."""
        return any(equals(value, one.evaluate(context)) for one in self.values)

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Render the block."""
        return self.block.render(context, buffer)

    def children(self, static_context: RenderContext, *, include_partials: bool = True) -> Iterable[Node]:  # noqa: ARG002
        """The block."""
        yield self.block

    def expressions(self) -> Iterable[Expression]:
        """The values."""
        return self.values


class CaseNode(Node):
    """`case`: every branch that is for the value, or else the default."""

    __slots__ = ("branches", "default", "value")

    def __init__(self, token: Token, value: Expression, branches: list[WhenNode], default: BlockNode | None) -> None:
        super().__init__(token)
        self.value = value
        self.branches = branches
        self.default = default
        self.blank = False

    def __str__(self) -> str:
        default = f"{{% else %}}{self.default}" if self.default else ""
        return f"{{% case {self.value} %}}{''.join(map(str, self.branches))}{default}{{% endcase %}}"

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Render the branches in their order."""
        value = self.value.evaluate(context)
        count, is_found = 0, False
        for branch in self.branches:
            if branch.is_for(value, context):
                is_found = True
                count += branch.render(context, buffer)
        if self.default and not is_found:
            count += self.default.render(context, buffer)
        return count

    def children(self, static_context: RenderContext, *, include_partials: bool = True) -> Iterable[Node]:  # noqa: ARG002
        """The branches and the default."""
        yield from self.branches
        if self.default:
            yield self.default

    def expressions(self) -> Iterable[Expression]:
        """The value in question."""
        yield self.value


class ComparedCase(CaseTag):
    """`case` by CaseNode."""

    def parse(self, stream: TokenStream) -> CaseNode:
        """Parse the value in question and the branches."""
        token = stream.eat(TOKEN_TAG)
        value = parse_value(self.env, stream.into_inner(tag=token))
        ends = frozenset({self.end, "when", "else"})
        get_parser(self.env).parse_block(stream, ends)  # what stands before the first branch is not printed
        branches: list[WhenNode] = []
        default: BlockNode | None = None
        while stream.current.is_tag("when") and default is None:
            when = next(stream)
            values = list(self._values(stream.into_inner(tag=when)))
            branches.append(WhenNode(when, values, get_parser(self.env).parse_block(stream, ends)))
        if stream.current.is_tag("else"):
            default = _else(self.env, stream, ends)
        stream.expect(TOKEN_TAG, value=self.end)
        return CaseNode(token, value, branches, default)

    def _values(self, tokens: TokenStream) -> Iterator[Expression]:
        yield parse_primitive(self.env, tokens)
        while tokens.current.kind in {TOKEN_COMMA, "or"}:
            next(tokens)
            yield parse_primitive(self.env, tokens)
        tokens.expect_eos()


# Loops


class Loop(LoopExpression):
    """What a loop goes over: cut by `offset`, then by `limit`, then reversed."""

    @classmethod
    def of(cls, one: LoopExpression) -> "Loop":
        """The same loop with this way to evaluate it."""
        bounds = {"limit": one.limit, "offset": one.offset, "cols": one.cols}
        return cls(one.token, one.identifier, one.iterable, reversed_=one.reversed, **bounds)

    def evaluate(self, context: RenderContext) -> tuple[Iterator[object], int]:
        """Return the items and their number, which may be more than a loop is allowed."""
        items = enumerated(self.iterable.evaluate(context))
        start = self._start(context)
        items = items[start:]
        if self.limit is not None:
            items = items[: _bound(self.limit.evaluate(context))]
        length = _length(items)
        context.stopindex(self._key, start + length)
        # A list is copied here, a range is not, so a loop beyond the limit costs nothing.
        return iter(items[::-1] if self.reversed else items), length

    @property
    def _key(self) -> str:
        return f"{self.identifier}-{self.iterable}"

    def _start(self, context: RenderContext) -> int:
        if self.offset is None:
            return 0
        if isinstance(self.offset, StringLiteral) and self.offset.value == "continue":
            return context.stopindex(self._key)
        return _bound(self.offset.evaluate(context))


def _bound(value: object) -> int:
    text_of(value)  # of what is missing: raises, naming it
    return whole_number(value)


def _length(items: Sequence[object]) -> int:
    try:
        return len(items)
    except OverflowError:
        raise LoopIterationLimitError("loop iteration limit reached", token=None) from None


class LoopNode(ForNode):
    """`for` over a Loop."""

    def __init__(
        self, token: Token, expression: LoopExpression, block: BlockNode, default: BlockNode | None = None
    ) -> None:
        super().__init__(token, Loop.of(expression), block, default)


class For(ForTag):
    """`for` by LoopNode."""

    node_class = LoopNode


class RowNode(TablerowNode):
    """`tablerow` over a Loop, written without line ends."""

    def __init__(self, token: Token, expression: LoopExpression, block: BlockNode) -> None:
        super().__init__(token, Loop.of(expression), block)

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Write the rows."""
        items, length = self.expression.evaluate(context)
        cols = _bound(self.expression.cols.evaluate(context)) if self.expression.cols else 0
        rows = TableRow(self.expression.identifier, items, length, cols if cols > 0 else length)
        namespace: dict[str, object] = {"tablerowloop": rows}
        with context.loop(namespace, rows):
            for item in rows:
                namespace[self.expression.identifier] = item
                if rows.col == 1:
                    buffer.write(f'{"</tr>" if rows.row > 1 else ""}<tr class="row{rows.row}">')
                buffer.write(f'<td class="col{rows.col}">')
                is_last = self._cell(context, buffer)
                buffer.write("</td>")
                if is_last:
                    break
        return buffer.write("</tr>") if length else 0

    def _cell(self, context: RenderContext, buffer: TextIO) -> bool:
        """Write what is in a cell; return whether the loop ends there."""
        try:
            self.block.render(context, buffer)
        except BreakLoop:
            return True
        except ContinueLoop:
            return False
        return False


class Row(TablerowTag):
    """`tablerow` by RowNode."""

    node_class = RowNode


OWN_TAGS: tuple[type[Tag], ...] = (
    *(TextOutput, TextEcho, Assign, Capture, Cycle, Liquid),
    *(If, Unless, ComparedCase, For, Row),
)
