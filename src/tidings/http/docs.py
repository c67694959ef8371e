"""/docs: the description for people, in one page that loads nothing from anywhere else."""

from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import HTMLResponse

router = APIRouter(include_in_schema=False)
_PAGE = files("tidings.http").joinpath("docs.html").read_text()
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}


@router.get("/docs")
async def show_docs() -> HTMLResponse:
    """The page; it reads /openapi.json by itself."""
    return HTMLResponse(_PAGE, headers=_HEADERS)
