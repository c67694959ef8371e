"""What `--json` prints: the API's answers, in its words and spelling.

A record is printed field by field, in camelCase; a mapping inside it is a user's own, and is printed as it is. A record
whose answer is not its fields goes through the function that the API itself uses.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Protocol
from uuid import UUID

from tidings.views.view import View


class Identified(Protocol):
    """What has an id."""

    @property
    def id(self) -> UUID:
        """The id."""
        ...


def answer_of(value: object) -> object:
    """Return a value that JSON does not know, as the API writes it."""
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case timedelta():
            from tidings.domain.timing import format_duration

            return format_duration(value)
        case UUID() | date() | Path():
            return str(value)
        case Mapping():
            return dict(value)
        case _:
            return fields_of(value)


def fields_of(record: object) -> dict[str, object]:
    """Return a record as the API answers it."""
    if isinstance(record, View):
        return record.in_json()
    return {camel(name): value for name, value in values_of(record).items()}


def values_of(record: object) -> dict[str, object]:
    """Return a record's values under the names of its fields."""
    if isinstance(record, View):
        return {name: getattr(record, name) for name in record.__struct_fields__}
    if not is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"a {type(record).__name__} is no answer: print a record, or what JSON knows")
    return {field.name: getattr(record, field.name) for field in fields(record)}


def with_fields(record: object, **beside: object) -> dict[str, object]:
    """Return a record as the API answers it, with fields that the command adds."""
    return fields_of(record) | {camel(name): more for name, more in beside.items()}


def deleted(record: "Identified") -> dict[str, object]:
    """Return the answer about something that was deleted."""
    return {"id": record.id, "deleted": True}


def camel(name: str) -> str:
    """Return a field's name as the API spells it."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
