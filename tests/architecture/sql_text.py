"""Reads SQL far enough to know which tables a statement touches, under which names, and how each is bound to a shard.

Not a parser: a tokenizer, nested parentheses, and the few clauses that matter. What it does not understand it reports.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidings.storage.statements import Statement

HOT = frozenset(
    {
        *("queue", "executions", "outbox", "jobs", "runs", "run_parts", "audience", "attempts", "execution_log"),
        "audit_log",
    }
)
SHARDED = HOT | {"shards"}
"""What a cluster distributes: the hot tables, and the one with a row for each shard."""

_TOKEN = re.compile(
    r"(?P<skip>\s+|--[^\n]*)|(?P<text>'(?:[^']|'')*')|\$(?P<number>\d+)|(?P<cast>::)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<digits>\d+(?:\.\d+)?)|(?P<dollar>\$\$.*?\$\$)|(?P<mark><>|<=|>=|\|\||->>|->|.)",
    re.DOTALL,
)
_QUERY = frozenset({"select", "with", "insert", "update", "delete", "values"})
_CLAUSES = frozenset(
    {
        *("from", "join", "left", "right", "full", "inner", "cross", "on", "where", "group", "having", "order", "limit"),
        *("for", "returning", "set", "union", "using", "select", "values", "window", "offset", "natural"),
    }
)
_NO_ALIAS = _CLAUSES | {"as", "and", "or"}

Group = list["str | Group"]  # type: ignore[misc]  # mypy has no recursive alias for a list of itself


def tokens(statement: Statement) -> list[str]:
    """The words of a statement in lower case; parameters by their names, quoted texts as they are."""
    found = []
    for match in _TOKEN.finditer(statement.text):
        if match["skip"] is None:
            number = match["number"]
            found.append(f":{statement.parameters[int(number) - 1]}" if number else match[0].lower())
    return found
