"""Expressions as LiquidJS reads them: operators and filters everywhere, `list.0`, and escapes in strings.

Part of environment.py; tags.py puts them into the tags. The tokens and the parts below an operator are
python-liquid's own.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from liquid import Environment, RenderContext, Token, TokenStream
from liquid.builtin.expressions import Filter, FilteredExpression, Nil, parse_primitive
from liquid.builtin.expressions.primitive import Blank, Empty
from liquid.exceptions import LiquidSyntaxError
from liquid.expression import Expression
from liquid.token import TOKEN_EOF, TOKEN_EXPRESSION, TOKEN_PIPE, operators

from tidings.domain.content.liquid.values import at_most, contains, equals, is_truthy, less

MAX_EXPRESSION_CHARS = 1_000
"""Of an expression that a filter such as `where_exp` is given."""

_WORDS = frozenset({"true", "false", "nil", "null", "empty", "blank", "and", "or", "not", "contains"})
_LOOP_WORDS = _WORDS | {"in", "limit", "offset", "reversed", "cols", "continue"}
_LOOPS = frozenset({"for", "tablerow"})

_STRING = r"(?P<{0}>[\"'])(?P<{1}>(?:\\.|(?!\\|(?P={0})).)*)(?P={0})"
_TOKENS = re.compile(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in (
            ("rangeexpression", r"\((?=.+?\.\.)"),
            ("identindex", r"\[\s*(?P<index>-?\d+)\s*\]"),
            ("identstring", rf"\[\s*{_STRING.format('name_quote', 'name')}\s*\]"),
            ("string", _STRING.format("quote", "text")),
            ("range", r"\.\."),
            ("dotindex", r"\.(?P<dot_index>\d+)(?![\w-])"),
            ("float", r"-?\d+\.(?!\.)\d*"),
            ("integer", r"-?\d+\b"),
            ("dot", r"\."),
            ("word", r"\w[\w\-]*\??"),
            ("lparen", r"\("),
            ("rparen", r"\)"),
            ("lbracket", r"\["),
            ("rbracket", r"\]"),
            ("colon", r":"),
            ("comma", r","),
            ("dpipe", r"\|\|"),
            ("pipe", r"\|"),
            ("operator", r"[!=<>]{1,2}"),
            ("skip", r"\s+"),
            ("illegal", r"."),
        )
    ),
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u(?P<hex>[0-9a-fA-F]{0,4})|(?P<octal>[0-7]{1,3})|(?P<other>.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Stream(TokenStream):
    """Tokens of a template, whose expressions are read as LiquidJS reads them."""

    def into_inner(self, *, tag: Token | None = None, eat: bool = True) -> TokenStream:
        """Return the tokens of the expression that comes next."""
        token = self.current
        if token.kind != TOKEN_EXPRESSION:
            raise LiquidSyntaxError("missing expression", token=tag or token)
        if eat:
            next(self)
        words = _LOOP_WORDS if tag is not None and tag.value in _LOOPS else _WORDS
        return Stream(tokenize(token, words))


def tokenize(parent: Token, words: frozenset[str] = _WORDS) -> Iterator[Token]:
    """Yield the tokens of an expression; `words` are read as something other than a name."""
    after_dot = False
    for match in _TOKENS.finditer(parent.value):
        if match.lastgroup == "skip":
            continue
        # Whatever a name is, after a dot it is no keyword.
        kind, value = _read(match, frozenset() if after_dot else words)
        token = Token(kind, value, parent.start_index + match.start(), parent.source)
        if kind == "illegal":
            raise LiquidSyntaxError(f"unexpected {value!r}", token=token)
        after_dot = kind == "dot"
        yield token


def _read(match: re.Match[str], words: frozenset[str]) -> tuple[str, str]:
    """The kind of a token, as python-liquid calls it, and its value."""
    kind, value = str(match.lastgroup), match[0]
    if kind == "word":
        return value if value in words else kind, value
    if kind == "operator":
        return operators.get(value, "illegal"), value
    if kind in {"identindex", "dotindex"}:
        return "identindex", match["index"] or match["dot_index"]
    if kind in {"string", "identstring"}:
        return kind, _unescaped(match["text"] if kind == "string" else match["name"])
    return kind, value


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    if escape["other"]:
        return _ESCAPED.get(escape["other"], escape["other"])
    code = int(escape["octal"], 8) if escape["octal"] else int(escape["hex"] or "0", 16)
    return chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"  # half a surrogate pair cannot be sent


# Operators


class Operation(Expression):
    """Two operands and what is said of them."""

    __slots__ = ("left", "operator", "right")

    def __init__(self, token: Token, left: Expression, operator: str, right: Expression) -> None:
        super().__init__(token)
        self.left = left
        self.operator = operator
        self.right = right

    def __str__(self) -> str:
        return f"{self.left} {self.token.value} {self.right}"

    def evaluate(self, context: RenderContext) -> bool:
        """Return true or false."""
        if self.operator == "and":
            return is_truthy(self.left.evaluate(context)) and is_truthy(self.right.evaluate(context))
        if self.operator == "or":
            return is_truthy(self.left.evaluate(context)) or is_truthy(self.right.evaluate(context))
        # Null in the data is less than 1, as in JavaScript; the literals are never less or more than anything.
        if self.operator in _ORDERS and isinstance(self.left, _WORD_LITERALS) | isinstance(self.right, _WORD_LITERALS):
            return False
        return _COMPARISONS[self.operator](self.left.evaluate(context), self.right.evaluate(context))

    def children(self) -> list[Expression]:
        """Both operands."""
        return [self.left, self.right]


_WORD_LITERALS = (Nil, Empty, Blank)
_ORDERS = frozenset({"lt", "gt", "le", "ge"})
_COMPARISONS: Mapping[str, Callable[[object, object], bool]] = {
    "eq": equals,
    "ne": lambda left, right: not equals(left, right),
    "ltgt": lambda left, right: not equals(left, right),
    "lt": less,
    "gt": lambda left, right: less(right, left),
    "le": at_most,
    "ge": lambda left, right: at_most(right, left),
    "contains": contains,
}


class Negation(Expression):
    """`not`, which binds more than `and` and less than a comparison."""

    __slots__ = ("operand",)

    def __init__(self, token: Token, operand: Expression) -> None:
        super().__init__(token)
        self.operand = operand

    def __str__(self) -> str:
        return f"not {self.operand}"

    def evaluate(self, context: RenderContext) -> bool:
        """Return true for what is not."""
        return not is_truthy(self.operand.evaluate(context))

    def children(self) -> list[Expression]:
        """The operand."""
        return [self.operand]


class Condition(Expression):
    """What a tag asks: whether a value counts as true."""

    __slots__ = ("value",)

    def __init__(self, value: Expression) -> None:
        super().__init__(value.token)
        self.value = value

    def __str__(self) -> str:
        return str(self.value)

    def evaluate(self, context: RenderContext) -> bool:
        """Return true or false."""
        return is_truthy(self.value.evaluate(context))

    def children(self) -> list[Expression]:
        """The value."""
        return [self.value]


# Parsing


def parse_value(env: Environment, tokens: TokenStream) -> FilteredExpression:
    """Parse operands, operators and filters to the end of the tokens."""
    value = parse_filtered(env, tokens)
    tokens.eat(TOKEN_EOF)
    return value


def parse_filtered(env: Environment, tokens: TokenStream) -> FilteredExpression:
    """Parse operands, operators and filters, and leave what follows them."""
    left = _parse_logic(env, tokens)
    return FilteredExpression(left.token, left, Filter.parse(env, tokens, delim=(TOKEN_PIPE,)))


def parse_condition(env: Environment, tokens: TokenStream) -> Condition:
    """Parse what a tag asks."""
    return Condition(parse_value(env, tokens))


def _parse_logic(env: Environment, tokens: TokenStream) -> Expression:
    """`and` and `or` bind alike, from the right: `a and b or c` is `a and (b or c)`."""
    left = _parse_negation(env, tokens)
    if tokens.current.kind not in {"and", "or"}:
        return left
    operator = next(tokens)
    return Operation(operator, left, operator.kind, _parse_logic(env, tokens))


def _parse_negation(env: Environment, tokens: TokenStream) -> Expression:
    if tokens.current.kind == "not":
        return Negation(next(tokens), _parse_negation(env, tokens))
    return _parse_comparison(env, tokens)


def _parse_comparison(env: Environment, tokens: TokenStream) -> Expression:
    left = parse_primitive(env, tokens)
    operator = tokens.current
    if operator.kind not in _COMPARISONS:
        return left
    next(tokens)
    return Operation(operator, left, operator.kind, _parse_comparison(env, tokens))


def expression_of(env: Environment, source: str) -> FilteredExpression:
    """Parse an expression that stands in a string, as filters such as `where_exp` take it."""
    return _parsed(env, source)


@lru_cache(maxsize=256)
def _parsed(env: Environment, source: str) -> FilteredExpression:
    if len(source) > MAX_EXPRESSION_CHARS:
        raise LiquidSyntaxError(f"an expression has at most {MAX_EXPRESSION_CHARS} characters", token=None)
    return parse_value(env, Stream(tokenize(Token(TOKEN_EXPRESSION, source, 0, source))))
