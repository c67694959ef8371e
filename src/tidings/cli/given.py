"""Read JSON or a string from an argument: the value itself, a file's name after @, or @- for standard input."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tidings.domain.errors import InputInvalid

Json = Mapping[str, object]
_OBJECT = re.compile(r'\s*\{\s*"')


def read_data(text: str, flag: str = "--data") -> Json:
    """Return the JSON object of an argument."""
    data = read_json(text, flag)
    if not isinstance(data, dict):
        raise InputInvalid(f'{flag} is no JSON object; write it like \'{{"name": "Ada"}}\'')
    return data


def read_json(text: str, flag: str) -> object:
    """Return any JSON value of an argument, which may name a file after @."""
    from tidings.domain.json_text import parse_json

    source = text if not text.startswith("@") else _read(text[1:], flag)
    try:
        return parse_json(source)
    except (ValueError, RecursionError) as error:
        raise InputInvalid(f'{flag} is no JSON: {error}; write it like \'{{"name": "Ada"}}\' or @file.json') from error


def read_where(text: str) -> Json:
    """Return the filter of `--where`, which is JSON, an expression, or a file that has one of them."""
    from tidings.domain.people import filter_expression

    return filter_expression.read_where(_read(text[1:], "--where") if text.startswith("@") else text, "--where")


def with_where(audience: Json, where: Json | None) -> Json:
    """Return an audience with what `--where` asks beside the other options."""
    if twice := sorted(audience.keys() & (where or {}).keys()):
        raise InputInvalid(f"--where and another option both say {', '.join(twice)}: say all of it in --where")
    return {**audience, **(where or {})}


def with_audience(data: Json, where: Json | None) -> Json:
    """Return the fields of a campaign or segment, with what `--where` asks as the audience."""
    if where is None:
        return data
    if data.get("audience"):
        raise InputInvalid("--where and the audience of --data both say whom: leave one of them out")
    return {**data, "audience": where}


def _read(name: str, flag: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputInvalid(f"{flag} @{name} cannot be read: {error}") from error


def read_content(text: str) -> object:
    """Return what a message says: a text, or the JSON object of its fields."""
    read = read_text(text)
    return read_data(read, "--content") if _OBJECT.match(read) else read


def read_text(text: str) -> str:
    """Return the string of an argument: the value itself, or the content of the file named after @."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputInvalid(f"{text[1:]!r} cannot be read: {reason}") from error
