"""Filters as people type them: `plan = pro and created after 30 days ago`, read into what the API takes.

    tag = vip and not (company = Acme or status in (lead, lost))
    tags all (vip, paid) and has email and allows sms and consent email = granted
    seats >= 5 and trial_ends before today and city missing

A name that is no field of a contact is an attribute. What starts with `{` is JSON, and is returned as it is.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidings.domain.comparison import WITHOUT_VALUE, Op
from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.json_text import parse_json
from tidings.domain.messages import quoted
from tidings.domain.people.audience_filter import ATTRIBUTES, TEXT_PATHS, TIME_PATHS
from tidings.domain.storable import TOO_DEEP, is_too_deep

Json = dict[str, Any]
LONGEST = 20_000
DEEPEST = 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<sign><=|>=|!=|<>|==|[=<>(),])|(?P<word>[^\s=<>!(),"']+))"""
)
_ESCAPED = re.compile(r"\\(.)")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SIGNS: Mapping[str, Op] = {
    "=": Op.EQUALS,
    "==": Op.EQUALS,
    "!=": Op.NOT_EQUALS,
    "<>": Op.NOT_EQUALS,
    "<": Op.LESS,
    "<=": Op.LESS_OR_EQUAL,
    ">": Op.GREATER,
    ">=": Op.GREATER_OR_EQUAL,
}
_OPS: Mapping[str, Op] = {**_SIGNS, **{op.lower(): op for op in Op}, "is": Op.EQUALS}
_JOINS = ("and", "or")
_LEAVES = ("company", "tag", "status")
_PATHS: Mapping[str, str] = {
    **{name.lower(): name for name in (*TEXT_PATHS, *TIME_PATHS)},
    **{column: name for name, column in {**TEXT_PATHS, **TIME_PATHS}.items()},
    "created": "createdAt",
    "updated": "updatedAt",
}
_CHANNEL_LEAVES: Mapping[str, str] = {"has": "has", "allows": "allows"}


def read_where(text: str, place: str) -> Json:
    """Return the filter that a text says, as the API takes it; raise FieldsInvalid where it says none."""
    try:
        if text.lstrip().startswith("{"):
            return _read_json(text)
        return read_expression(text)
    except _Wrong as error:
        raise FieldsInvalid([Problem(place, str(error))]) from None


def _read_json(text: str) -> Json:
    try:
        found = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise _Wrong(f"is not JSON: {error}") from None
    if is_too_deep(found):
        raise _Wrong(TOO_DEEP)
    return dict(found) if isinstance(found, dict) else {}


class _Wrong(Exception):
    """What is wrong with an expression, and what to write."""


def read_expression(text: str) -> Json:
    """Return the filter that an expression says."""
    if len(text) > LONGEST:
        raise _Wrong(f"has {len(text):,} characters: use at most {LONGEST:,}, or a segment")
    parser = _Parser(_tokens(text))
    if not parser.tokens:
        raise _Wrong("is empty: write something like plan = pro, or leave it out")
    if len(parser.tokens) == 1 and parser.tokens[0].text == "all":
        return {"all": True}
    found = parser.any_of()
    if parser.left:
        raise _Wrong(f"{parser.next_shown()} is not expected: write and, or or nothing there")
    return found


@dataclass(frozen=True, slots=True)
class _Token:
    """A word, a sign or a quoted string, and where it stands."""

    text: str
    at: int
    is_quoted: bool = False

    @property
    def word(self) -> str:
        """It in small letters; nothing for what is in quotes, which is never a keyword."""
        return "" if self.is_quoted else self.text.lower()


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _Wrong(f"{quoted(text[at : at + 20].strip())} at character {at + 1} cannot be read: close its quotes")
        if match["quoted"] is not None:
            found.append(_Token(_ESCAPED.sub(r"\1", match["quoted"][1:-1]), match.start("quoted") + 1, is_quoted=True))
        else:
            kind = "sign" if match["sign"] else "word"
            found.append(_Token(match[kind], match.start(kind) + 1))
        at = match.end()
    return found


class _Parser:
    """Reads tokens from left to right; `or` joins what `and` has joined."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def left(self) -> bool:
        """Whether there are more."""
        return self._at < len(self.tokens)

    def any_of(self) -> Json:
        """Alternatives."""
        return self._several(self._all_of, "or", "any")

    def _all_of(self) -> Json:
        return self._several(self._one, "and", "all")

    def _several(self, read: Callable[[], Json], word: str, join: str) -> Json:
        parts = [read()]
        while self._takes(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else {join: parts}

    def _one(self) -> Json:
        """Something negated, something in brackets, or a test."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise _Wrong(f"is nested too deeply: use at most {DEEPEST} levels")
        if self._takes("not"):
            found: Json = {"not": self._one()}
        elif self._takes("("):
            found = self.any_of()
            if not self._takes(")"):
                raise _Wrong(f"{self.next_shown()} is not expected: close the bracket with )")
        else:
            found = self._test(self._take("a name, such as plan or tag"))
        self._depth -= 1
        return found

    def _test(self, name: _Token) -> Json:
        if name.word in _CHANNEL_LEAVES and not self._is_op():
            return {_CHANNEL_LEAVES[name.word]: self._take("a channel, such as email").text}
        if name.word == "consent" and not self._is_op():
            channel = self._take("a channel, such as email").text
            self._op(f"consent {channel}", only=Op.EQUALS)
            return {"consent": {channel: self._value()}}
        if name.word == "tags":
            kind = self._take("any, all or none").word
            return {"tags": {kind: self._list()}}
        op = self._op(name.text)
        if op in WITHOUT_VALUE:
            return self._compared(name, {"op": str(op)})
        value = self._list() if op is Op.IN else self._value()
        return self._leaf(name.word, op, value) or self._compared(name, {"op": str(op), "value": value})

    def _leaf(self, name: str, op: Op, value: object) -> Json | None:
        """A test of a field that is a filter of its own."""
        if name == "tag":
            kinds: Mapping[Op, Json] = {
                Op.EQUALS: {"tag": str(value)},
                Op.NOT_EQUALS: {"not": {"tag": str(value)}},
                Op.IN: {"tags": {"any": value}},
            }
            if op not in kinds:
                raise _Wrong(f"tag takes =, != and in, not {op}; use tags all (…) or tags none (…)")
            return kinds[op]
        return {name: str(value)} if name in _LEAVES and op is Op.EQUALS else None

    def _compared(self, name: _Token, rest: Json) -> Json:
        root, *below = name.text.split(".")
        if name.word in _PATHS and not name.is_quoted:
            return {"path": _PATHS[name.word], **rest}
        if name.is_quoted:
            return {"path": [ATTRIBUTES, name.text], **rest}
        return {"path": ".".join([root, *below] if root == ATTRIBUTES else [ATTRIBUTES, root, *below]), **rest}

    def _op(self, name: str, only: Op | None = None) -> Op:
        token = self._take(f"an operator after {name}: {', '.join(_OPS)}")
        op = None if token.is_quoted else _OPS.get(token.word)
        if op is None or (only and op is not only):
            use = "=" if only else ", ".join(_OPS)
            raise _Wrong(f"{quoted(token.text)} at character {token.at} is no operator: use {use}")
        return op

    def _is_op(self) -> bool:
        return self.left and self.tokens[self._at].word in _OPS

    def _list(self) -> list[object]:
        if not self._takes("("):
            raise _Wrong(f"{self.next_shown()} is not expected: write a list in brackets, as (pro, team)")
        found = [self._value()]
        while self._takes(","):
            found.append(self._value())
        if not self._takes(")"):
            raise _Wrong(f"{self.next_shown()} is not expected: close the list with )")
        return found

    def _value(self) -> object:
        """A string in quotes, or words up to the next `and`, `or`, comma or bracket."""
        first = self._take("a value")
        if first.is_quoted:
            return first.text
        if first.text in {*_SIGNS, "(", ")", ","} or first.word in _JOINS:
            raise _Wrong(f"{quoted(first.text)} at character {first.at} is not a value; put it in quotes if it is one")
        words = [first.text]
        while self.left and not (following := self.tokens[self._at]).is_quoted and _is_plain(following):
            words.append(following.text)
            self._at += 1
        return _typed(" ".join(words))

    def _takes(self, word: str) -> bool:
        if self.left and self.tokens[self._at].word == word:
            self._at += 1
            return True
        return False

    def _take(self, wanted: str) -> _Token:
        if not self.left:
            raise _Wrong(f"ends too soon: {wanted} is missing")
        self._at += 1
        return self.tokens[self._at - 1]

    def next_shown(self) -> str:
        """The next token and its place, for messages."""
        if not self.left:
            return "the end"
        token = self.tokens[self._at]
        return f"{quoted(token.text)} at character {token.at}"


def _is_plain(token: _Token) -> bool:
    return token.text not in {*_SIGNS, "(", ")", ","} and token.word not in _JOINS


def _typed(text: str) -> object:
    """A bare value: a number, true or false, or a string."""
    if _NUMBER.fullmatch(text) and len(text) <= 30:
        return float(text) if "." in text else int(text)
    return {"true": True, "false": False}.get(text.lower(), text)
