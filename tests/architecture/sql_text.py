"""Reads SQL far enough to know which tables a statement touches, under which names, and how each is tied to a shard.

Not a parser: a tokenizer, nested parentheses, and the few clauses that matter.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tidings.storage.statements import Statement

HOT = frozenset(
    [
        *("queue", "executions", "outbox", "jobs", "runs", "run_parts", "audience", "attempts", "execution_log"),
        *("audit_log", "contacts", "contact_tags", "suppressed_addresses", "events", "event_contacts"),
    ]
)
SHARDED = HOT | {"shards"}
"""What a cluster distributes: the hot tables, and the one with a row for each shard."""

_TOKEN = re.compile(
    r"(?P<skip>\s+|--[^\n]*)|'(?:[^']|'')*'|\$(?P<number>\d+)|\$\$.*?\$\$|::|[A-Za-z_]\w*|\d+(?:\.\d+)?"
    r"|<>|<=|>=|\|\||->>|->|.",
    re.DOTALL,
)
_QUERY = frozenset(["select", "with", "insert", "update", "delete", "values"])
_ENDS_CONDITION = frozenset(
    [
        *(
            "from",
            "join",
            "left",
            "right",
            "full",
            "inner",
            "cross",
            "on",
            "where",
            "group",
            "having",
            "order",
            "limit",
        ),
        *("for", "returning", "set", "union", "using", "select", "values", "offset"),
    ]
)
_NO_ALIAS = _ENDS_CONDITION | {"and", "or", "as", "materialized"}


@dataclass(eq=False)
class Group:
    """What stands between two parentheses, or a whole statement."""

    items: list["str | Group"] = field(default_factory=list)

    @property
    def is_query(self) -> bool:
        return bool(self.items) and self.items[0] in _QUERY


@dataclass(frozen=True)
class Source:
    """A table where one query names it; a function has its own name and `is_call`."""

    table: str
    alias: str
    verb: str
    is_call: bool


@dataclass(frozen=True)
class Query:
    """One select, insert, update or delete, without the queries inside it."""

    items: tuple["str | Group", ...]

    def word(self, place: int) -> str:
        item = self.items[place] if 0 <= place < len(self.items) else ""
        return item if isinstance(item, str) else "()"

    @property
    def verb(self) -> str:
        """What the query does."""
        found = [self.word(place) for place in range(len(self.items)) if self._starts_query(place)]
        return next((word for word in found if word in {"insert", "update", "delete"}), "select")

    def _starts_query(self, place: int) -> bool:
        return self.word(place) in _QUERY and self.word(place - 1) not in {"for", "do"}

    def sources(self) -> list[Source]:
        """Every table and function that the query reads or writes."""
        found: list[Source] = []
        for place in range(len(self.items)):
            verb = self.word(place)
            if verb in {"from", "using"} and self.word(place - 1) != "distinct":
                found += self._list(place + 1, verb)
            elif verb in {"join", "into"} or (verb == "update" and self._starts_query(place)):
                source, _ = self._source(place + 1, verb)
                found += [source] if source else []
        return found

    def _list(self, place: int, verb: str) -> Iterator[Source]:
        while True:
            source, place = self._source(place, verb)
            if source:
                yield source
            if self.word(place) != ",":
                return
            place += 1

    def _source(self, place: int, verb: str) -> tuple[Source | None, int]:
        name = self.word(place)
        place += 1
        is_call = verb != "into" and name != "()" and self.word(place) == "()"
        place += is_call
        place += self.word(place) == "as"
        alias = name
        if re.fullmatch(r"[a-z_]\w*", self.word(place)) and self.word(place) not in _NO_ALIAS:
            alias, place = self.word(place), place + 1
            place += self.word(place) == "()" and verb != "into"
        return (None if name == "()" else Source(name, alias, verb, is_call)), place

    def conditions(self) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """Each ON and WHERE: the alias it may bind (a join binds what it joins, `*` is any), and what it demands.

        Demands are the parts between top-level ANDs; where an OR stands beside them nothing is demanded.
        """
        joined = ""
        for place in range(len(self.items)):
            word = self.word(place)
            if word == "join":
                source, _ = self._source(place + 1, "join")
                joined = source.alias if source else ""
            if word == "where" or (word == "on" and self.word(place - 1) != "distinct"):
                yield ("*" if word == "where" else joined), self._demands(place + 1)

    def _demands(self, place: int) -> list[tuple[str, ...]]:
        demands: list[list[str]] = [[]]
        while place < len(self.items) and not self._ends_condition(place):
            if self.word(place) == "or":
                return []
            if self.word(place) == "and":
                demands.append([])
            else:
                demands[-1].append(self.word(place))
            place += 1
        return [tuple(demand) for demand in demands]

    def _ends_condition(self, place: int) -> bool:
        is_distinct_from = self.word(place) == "from" and self.word(place - 1) == "distinct"
        return self.word(place) in _ENDS_CONDITION and not is_distinct_from


def tokens(statement: Statement) -> list[str]:
    """The words of a statement in lower case; parameters by their names, quoted texts as they are."""
    found = []
    for match in _TOKEN.finditer(statement.text):
        if match["skip"] is None:
            number = match["number"]
            found.append(f":{statement.parameters[int(number) - 1]}" if number else match[0].lower())
    return found


def queries(statement: Statement) -> list[Query]:
    """Every query of a statement: the statement itself, its CTEs, its subqueries, the halves of a union."""
    whole = Group()
    open_groups = [whole]
    for token in tokens(statement):
        if token == "(":
            open_groups.append(Group())
            open_groups[-2].items.append(open_groups[-1])
        elif token == ")":
            open_groups.pop()
        else:
            open_groups[-1].items.append(token)
    return list(_queries(whole))


def _queries(group: Group) -> Iterator[Query]:
    if group.is_query:
        part: list[str | Group] = []
        for item in group.items:
            if item == "union":
                yield Query(tuple(part))
                part = []
            else:
                part.append(item)
        yield Query(tuple(part))
    for item in group.items:
        if isinstance(item, Group):
            yield from _queries(item)


def calls(statement: Statement) -> set[str]:
    """Every word that stands right before a parenthesis."""
    words = tokens(statement)
    return {word for word, following in pairwise(words) if following == "(" and word.isidentifier()}


def unbound_tables(statement: Statement) -> list[str]:
    """The sharded tables that some query of the statement touches without naming the one shard."""
    return [problem for query in queries(statement) for problem in _unbound(query)]


def _unbound(query: Query) -> Iterator[str]:
    sharded = [source for source in query.sources() if source.table in SHARDED]
    read = [source for source in sharded if source.verb != "into"]
    bound = set(_bound(query, read))
    for source in read:
        if source.alias not in bound:
            yield f"{source.table} {source.alias} is read or written without shard = :shard"
    for source in sharded:
        if source.verb == "into" and not _takes_shard_from(query, bound):
            yield f"{source.table} is inserted into without the shard of a row that is bound to :shard"


def _bound(query: Query, read: list[Source]) -> Iterator[str]:
    for alias, demands in query.conditions():
        for source in read:
            is_only_one = len(read) == 1
            named = (source.alias, ".", "shard", "=", ":shard") in demands
            unnamed = is_only_one and ("shard", "=", ":shard") in demands
            if (named or unnamed) and alias in {"*", source.alias}:
                yield source.alias


def _takes_shard_from(query: Query, bound: set[str]) -> bool:
    into = query.items.index("into")
    columns = query.items[into + (4 if query.word(into + 2) == "as" else 2)]
    if not isinstance(columns, Group) or columns.items[:1] != ["shard"] or "select" not in query.items:
        return False
    select = query.items.index("select")
    alias, dot, column, comma = (query.word(select + step) for step in (1, 2, 3, 4))
    return (dot, column, comma) == (".", "shard", ",") and alias in bound
