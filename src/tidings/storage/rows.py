"""Turns rows into records, by the names of their columns. Reached from statements.py.

A record is a msgspec Struct (a view, or one of storage's own; the fastest to make) or a dataclass, a tuple of columns,
or the value of an only column. A field that is a StrEnum, or a list of them, becomes one, one that is a Struct is read
from JSON, and `workspace: Workspace` is made of the columns `tenant` and `workspace`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import msgspec

from tidings.domain.flow.ids import Workspace, workspace_of

if TYPE_CHECKING:
    from tidings.storage.database import Row

Change = Callable[[Any], Any]


def reader_of(returned: Any) -> Callable[["Sequence[Row]"], Any]:
    """Return the function that turns the rows of a statement into what its function returns.

    `list[Record]` or `set[Value]` is all of them, `Mapping[Key, Record]` all by their first column, `Record | None` the
    first if there is one, `Record` the only one, and None nothing. `Mapping[Key, list[Record]]` groups them.
    """
    origin, inner = get_origin(returned), get_args(returned)
    if returned is NoneType:
        return lambda _: None
    if origin in {list, set}:
        one = _record(inner[0])
        return (lambda rows: [one(row) for row in rows]) if origin is list else (lambda rows: {*map(one, rows)})
    if origin in {dict, Mapping}:
        return _by_first_column(inner[1])
    one = _record(returned)
    return (lambda rows: one(rows[0]) if rows else None) if NoneType in inner else (lambda rows: one(rows[0]))


def _by_first_column(kind: Any) -> Callable[["Sequence[Row]"], Any]:
    if get_origin(kind) is not list:
        value = _record(kind, first=1)
        return lambda rows: {row[0]: value(row) for row in rows}
    one = _record(get_args(kind)[0], first=1)

    def group(rows: "Sequence[Row]") -> dict[Any, list[Any]]:
        found: dict[Any, list[Any]] = {}
        for row in rows:
            found.setdefault(row[0], []).append(one(row))
        return found

    return group


def _record(kind: Any, first: int = 0) -> Callable[["Row"], Any]:
    """Return the function that turns one row into a record; columns before `first` are not part of it."""
    change, kind = _change(kind), _named(kind)
    if get_origin(kind) is tuple:
        return tuple
    if not (isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or is_dataclass(kind))):
        return (lambda row: change(row[first])) if change else (lambda row: row[first])
    types = get_type_hints(kind)
    changes = {name: needed for name, one in types.items() if (needed := _change(one))}
    if types.get("workspace") is Workspace:
        return lambda row: kind(**_with_workspace(row, changes))
    if changes or first:
        return lambda row: kind(**_changed(row, changes, first))
    return lambda row: kind(**row)


def _change(kind: Any) -> Change | None:
    """Return the function that converts a column's value to this type; None for most, which need none."""
    named = _named(kind)
    if get_origin(named) in {list, Sequence} and (each := _change(get_args(named)[0])):
        return lambda values: [each(value) for value in values]
    if not (isinstance(named, type) and issubclass(named, Enum | msgspec.Struct)):
        return None
    change = named if issubclass(named, Enum) else partial(msgspec.convert, type=named)
    return (lambda value: None if value is None else change(value)) if named is not kind else change


def _changed(row: "Row", changes: Mapping[str, Change], first: int = 0) -> dict[str, Any]:
    values = dict([*row.items()][first:]) if first else dict(row)
    for name, change in changes.items():
        if name in values:  # a field with a default need not be a column: resources fill it later
            values[name] = change(values[name])
    return values


def _with_workspace(row: "Row", changes: Mapping[str, Change]) -> dict[str, Any]:
    values = _changed(row, changes)
    return values | {"workspace": workspace_of(values.pop("tenant"), values.pop("workspace"))}


def _named(kind: Any) -> Any:
    """The type itself, of one that may also be None."""
    named = [one for one in get_args(kind) if one is not NoneType]
    return named[0] if len(named) == 1 and NoneType in get_args(kind) else kind
