"""Turn a view into the bytes of a response."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.responses import Response

from tidings.domain.errors import Problem
from tidings.views.problems import ProblemPlace
from tidings.views.view import View
from tidings.views.workflows import Validated, Variable

JSON = "application/json"
_ENCODER = msgspec.json.Encoder()


def answer(
    view: View | Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None, media_type: str = JSON
) -> Response:
    """Return a view as a response, or its fields with others beside them."""
    return Response(encode(view), status, dict(headers or {}), media_type)


def validated(problems: Iterable[Problem], variables: Sequence[Variable]) -> Validated:
    """Return what is wrong with something that was checked, and the names that may be used in it."""
    errors = [ProblemPlace(place=one.place, message=one.message) for one in problems]
    return Validated(valid=not errors, errors=errors, variables=variables)


def encode(view: object) -> bytes:
    """Encode a view, or a plain value, as JSON."""
    return _ENCODER.encode(view)
