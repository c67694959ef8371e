"""Turn a view into the bytes of a response."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tidings.views.view import View

JSON = "application/json"
_ENCODER = msgspec.json.Encoder()


def answer(
    view: View | Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None, media_type: str = JSON
) -> Response:
    """Return a view as a response, or its fields with others beside them."""
    return Response(encode(view), status, dict(headers or {}), media_type)


def encode(view: object) -> bytes:
    """Encode a view, or a plain value, as JSON."""
    return _ENCODER.encode(view)
