"""Query parameters: a route's own are accepted in either spelling, any other is refused with the nearest name.

A parameter that nobody reads would be a filter that filters nothing: `?in_dubt=true` would list everything.
"""

from collections.abc import Iterator, Mapping
from typing import get_args, get_origin
from urllib.parse import parse_qsl, urlencode

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.types import Scope

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.messages import did_you_mean

LONGEST_TOLD = 100
_AS_GIVEN = "tidings.query_as_given"


def spell_query(scope: Scope) -> None:
    """Rewrite the names of a query in camelCase, as every route declares them; messages use the names as given."""
    if b"_" in scope["query_string"]:
        given = _pairs(scope["query_string"])
        scope[_AS_GIVEN] = [name for name, _ in given]
        scope["query_string"] = urlencode([(to_camel(name), value) for name, value in given]).encode("ascii")


def check_query(request: Request) -> None:
    """Refuse a parameter that the route does not have, or that is given twice."""
    encoded: bytes = request.scope["query_string"]
    if not encoded:
        return
    route = request.scope.get("route")
    parameters = dict(_declared(route.dependant)) if isinstance(route, APIRoute) else {}
    names = [name for name, _ in _pairs(encoded)]
    problems = list(_problems(names, request.scope.get(_AS_GIVEN, names), parameters))
    if problems:
        raise FieldsInvalid(problems)


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    return parse_qsl(encoded.decode("latin-1"), keep_blank_values=True)


def _declared(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Yield every parameter of a route, and whether it may be repeated."""
    for one in dependant.query_params:
        yield one.alias, _is_list(one.field_info.annotation)
    for inner in dependant.dependencies:
        yield from _declared(inner)


def _is_list(annotation: object) -> bool:
    return get_origin(annotation) is list or any(get_origin(one) is list for one in get_args(annotation))


def _problems(names: list[str], given: list[str], parameters: Mapping[str, bool]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name, spelled in zip(names, given, strict=True):
        if name not in parameters:
            yield Problem(spelled[:LONGEST_TOLD], _unknown(spelled, parameters))
        elif name in seen and not parameters[name]:
            other = "" if seen[name] == spelled else f", the other time as {seen[name]}"
            yield Problem(spelled, f"is given twice{other}; give it once")
        seen.setdefault(name, spelled)


def _unknown(name: str, parameters: Mapping[str, bool]) -> str:
    if not parameters:
        return "is not a parameter here; this takes none"
    return f"is not a parameter here; use {', '.join(parameters)}{did_you_mean(name, parameters)}"
