"""Answers on their way out: a view becomes the bytes of a response."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from tidings.views.view import View

JSON = "application/json"
_ENCODER = msgspec.json.Encoder()


def answer(view: View, status: int = 200, headers: Mapping[str, str] | None = None, media_type: str = JSON) -> Response:
    """A view as a response."""
    return Response(encode(view), status, dict(headers or {}), media_type)


def encode(view: object) -> bytes:
    """A view, or what JSON knows, as JSON."""
    return _ENCODER.encode(view)
