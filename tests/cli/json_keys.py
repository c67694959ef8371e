"""What every `--json` answer must be: camelCase throughout, but for what users named themselves."""

import re
from collections.abc import Iterator

CAMEL = re.compile(r"[a-z][A-Za-z0-9]*")
OF_USERS = frozenset(
    [
        *("attributes", "byError", "checks", "content", "data", "definition", "inputPayload", "payload", "produced"),
        *("rejectedByField", "saw", "vars"),
    ]
)
"""Whose names inside are a user's own, or errors and names of checks."""


def odd_keys(answer: object, place: str = "") -> Iterator[str]:
    """Every key that the API would spell otherwise, with its place."""
    if isinstance(answer, list):
        for number, one in enumerate(answer):
            yield from odd_keys(one, f"{place}[{number}]")
    if isinstance(answer, dict):
        for name, value in answer.items():
            if not CAMEL.fullmatch(name):
                yield f"{place}.{name}"
            if name not in OF_USERS:
                yield from odd_keys(value, f"{place}.{name}")
