"""/docs, for people, in one page that loads nothing from elsewhere; /openapi.json, for programs: made once."""

from importlib.resources import files

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)
_POLICY = (
    "default-src 'none'; connect-src 'self'; style-src 'self'; script-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FRESH = {"Cache-Control": "public, max-age=300"}


def _part(name: str) -> bytes:
    return files("tidings.http").joinpath(name).read_bytes()


_PAGE, _STYLE, _SCRIPT = map(_part, ("docs.html", "docs.css", "docs.js"))


@router.get("/docs")
async def show_docs() -> HTMLResponse:
    """The page; it reads /openapi.json by itself."""
    return HTMLResponse(_PAGE, headers={**FRESH, "Content-Security-Policy": _POLICY})


@router.get("/docs.css")
async def show_style() -> Response:
    """What the page looks like."""
    return Response(_STYLE, media_type="text/css", headers=FRESH)


@router.get("/docs.js")
async def show_script() -> Response:
    """What the page does."""
    return Response(_SCRIPT, media_type="text/javascript", headers=FRESH)


@router.get("/openapi.json")
async def show_description(request: Request) -> Response:
    """The description for programs: made and encoded by the first request, which anybody may send."""
    state = request.app.state
    if not hasattr(state, "description"):
        state.description = msgspec.json.encode(request.app.openapi())
    return Response(state.description, media_type="application/json", headers=FRESH)
