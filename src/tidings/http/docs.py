"""/docs, for people, in a page that loads nothing from elsewhere; /openapi.json, for programs: made once.

Where the page at `/` is built, `/docs` is Swagger UI, which the same build takes from npm (web/docs.html), and what it
tries goes out with a key or with the session. Without it, a small page lists the operations.
"""

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)
_POLICY = (
    "default-src 'none'; connect-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FRESH = {"Cache-Control": "public, max-age=300"}
ASK_AGAIN = {"Cache-Control": "no-cache"}
"""For a page that names files of its build: one that is kept names files that are gone."""


def _part(name: str) -> bytes:
    return files("tidings.http").joinpath(name).read_bytes()


_PAGE, _STYLE, _SCRIPT = map(_part, ("docs.html", "docs.css", "docs.js"))


def built_page() -> Traversable:
    """Return where the build of the page puts the API reference."""
    return files("tidings").joinpath("page", "docs.html")


@router.get("/docs")
async def show_docs() -> HTMLResponse:
    """The page; it reads /openapi.json by itself."""
    built = built_page()
    return _answer(built.read_bytes(), ASK_AGAIN) if built.is_file() else _answer(_PAGE, FRESH)


def _answer(page: bytes, kept: Mapping[str, str]) -> HTMLResponse:
    return HTMLResponse(page, headers={**kept, "Content-Security-Policy": _POLICY})


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
