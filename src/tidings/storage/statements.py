"""The named statements of sql/*.sql, and the functions that run them.

    _SQL = load("executions")

    @_SQL.statement
    async def show_executions(tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID]) -> list[Found]:
        \"\"\"Those of one shard and workspace that are there.\"\"\"

runs the statement of the function's name with its arguments as `:shard`, `:ids` and so on, and makes the rows what it
returns (rows.py). `workspace` is two parameters, `:tenant` and `:workspace`, and `span` is `:since` and `:before`. A
function that has more to do than this takes `_SQL["name"]` and `tx.fetch`.

What several statements have in common is a part, written once in a file of parts: `{contact_columns}` in a statement
stands for the part of that name. A statement may be asked for with other parts in place of those it names; every value
is a parameter, whatever the parts.
A part that only one file needs, the columns of a record say, stands in that file as `-- part: name`.
"""

import inspect
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache, wraps
from importlib.resources import files
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, get_type_hints

from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import Span
from tidings.domain.people.sought import SoughtAddress
from tidings.storage.rows import reader_of

if TYPE_CHECKING:
    from tidings.storage.database import Tx

_HEADING = re.compile(r"^-- (name|part): (\w+)$", re.MULTILINE)
# A colon that is not part of a cast, and not inside a quoted string or a comment; a part's name in braces, likewise.
_PARAMETER = re.compile(r"'[^']*'|--[^\n]*|(?<![:\w]):([a-z_][a-z0-9_]*)")
_PLACE = re.compile(r"'[^']*'|--[^\n]*|\{([a-z_]+)\}")
_FILES_OF_PARTS = ("contact_parts", "record_parts", "claim_parts")
_SEVERAL: Mapping[object, Mapping[str, str]] = {
    Workspace: {"tenant": "tenant", "workspace": "name"},
    Span: {"since": "since", "before": "before"},
    SoughtAddress: {"needle": "needle", "filling": "filling", "pattern": "pattern"},
}
"""Arguments that are several parameters of a statement: each with the attribute that it takes."""

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, ready for the driver: `arguments` puts values by name in the order of its numbers."""

    name: str
    text: str
    parameters: tuple[str, ...]
    source: str = field(default="", compare=False, repr=False)
    """As it is written, with the names of its parts."""

    def arguments(self, values: Mapping[str, object]) -> list[object]:
        """The values in the order of $1, $2, …; a missing or unknown name is an error of the caller."""
        if values.keys() != set(self.parameters):
            raise TypeError(f"{self.name} takes {sorted(self.parameters)}, not {sorted(values)}")
        return [values[name] for name in self.parameters]

    def with_parts(self, **parts: str) -> "Statement":
        """The same statement with other SQL in place of some of its parts."""
        given = tuple(parts.items())
        if sum(len(sql) for _, sql in given) > _LARGEST_KEPT:
            return _parse(self.name, self.source, parts)
        return _with_parts(self.name, self.source, given)


class Statements(dict[str, Statement]):
    """The statements of one file, by name."""

    def statement(
        self, function: Callable[Concatenate["Tx", Arguments], Coroutine[Any, Any, Returned]]
    ) -> Callable[Concatenate["Tx", Arguments], Coroutine[Any, Any, Returned]]:
        """Let a function, which is only its signature, run the statement of its name."""
        statement, types = self[function.__name__], get_type_hints(function)
        read, bind = reader_of(types.pop("return")), _binder(function, statement, types)

        @wraps(function)
        async def run(tx: "Tx", /, *_: Arguments.args, **given: Arguments.kwargs) -> Returned:
            found: Returned = read(await tx.fetch_ordered(statement, bind(given)))
            return found

        return run


@cache
def load(file: str) -> Statements:
    """The statements of one file."""
    own = _pieces(file, "part")
    return Statements({name: _parse(name, _with_own(body, own)) for name, body in _pieces(file, "name").items()})


@cache
def load_parts() -> Mapping[str, str]:
    """Every part of statements, by name."""
    return {name: body.strip() for file in _FILES_OF_PARTS for name, body in _pieces(file, "part").items()}


def _pieces(file: str, heading: Literal["name", "part"]) -> Mapping[str, str]:
    source = files("tidings.storage").joinpath("sql", f"{file}.sql").read_text()
    _, *pieces = _HEADING.split(source)
    found = zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
    return {name: body for kind, name, body in found if kind == heading}


def _with_own(body: str, parts: Mapping[str, str]) -> str:
    """A statement with the parts of its own file filled in; other parts are filled in later."""

    def own(place: re.Match[str]) -> str:
        return _with_own(parts[place[1]].strip(), parts) if place[1] in parts else place[0]

    return _PLACE.sub(own, body)


def _binder(
    function: Callable[..., object], statement: Statement, types: Mapping[str, object]
) -> Callable[[Mapping[str, object]], list[object]]:
    """What puts a function's arguments in the order of the statement's parameters; wrong names fail at once."""
    takers: dict[str, Callable[[Mapping[str, Any]], object]] = {}
    _, *named = inspect.signature(function).parameters.values()
    for one in named:
        several = _SEVERAL.get(types[one.name])
        for parameter, attribute in (several or {one.name: ""}).items():
            takers[parameter] = _taker(one.name, attribute)
    if takers.keys() != set(statement.parameters):
        raise TypeError(f"{statement.name} takes {sorted(statement.parameters)}, not {sorted(takers)}")
    defaults = {one.name: one.default for one in named if one.default is not one.empty}
    names = {one.name for one in named}
    ordered = [takers[name] for name in statement.parameters]

    def bind(given: Mapping[str, object]) -> list[object]:
        values = {**defaults, **given}
        if values.keys() != names:
            raise TypeError(f"{statement.name} is called with {sorted(names)}, not with {sorted(values)}")
        return [take(values) for take in ordered]

    return bind


def _taker(name: str, attribute: str) -> Callable[[Mapping[str, Any]], object]:
    if not attribute:
        return lambda values: values[name]
    take = attrgetter(attribute)
    return lambda values: take(values[name])


_LARGEST_KEPT = 20_000
"""Characters: one filter may become 200,000, and a caller can make a thousand that differ."""


@lru_cache(maxsize=1_024)
def _with_parts(name: str, source: str, parts: tuple[tuple[str, str], ...]) -> Statement:
    return _parse(name, source, dict(parts))


def _parse(name: str, source: str, parts: Mapping[str, str] | None = None) -> Statement:
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        return f"${numbers.setdefault(match[1], len(numbers) + 1)}"

    text = _PARAMETER.sub(number, _filled(source, parts or {})).strip().rstrip(";")
    return Statement(name, text, tuple(numbers), source)


def _filled(source: str, parts: Mapping[str, str]) -> str:
    def fill(match: re.Match[str]) -> str:
        return match[0] if match[1] is None else _filled(parts.get(match[1]) or load_parts()[match[1]], parts)

    return _PLACE.sub(fill, source)
