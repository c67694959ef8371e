"""The page at `/`: files that Vite built from web/ into tidings/page, read once, for every address but the API's.

The page is a client like any other. Its addresses are its own affair, so whatever a browser asks for that is neither a
file nor part of the API is answered with index.html, and the page's router reads the address.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

NONCE = "__CSP_NONCE__"
_API = ("/v1", "/functions", "/docs", "/metrics", "/openapi.json", "/assets")
_FRAME = "/frame.html"
_INDEX = "/index.html"
_ASIDE = frozenset(["/manifest.json", "/docs.html"])
"""What the build keeps for itself, and what docs.py answers under its own policy."""
_MEDIA_TYPES: Mapping[str, str] = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "woff2": "font/woff2",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_NOT_BUILT = (
    "The page is not built yet. Run `make web` in the directory of Tidings, then reload.\n\n"
    "The API is here: /docs describes it.\n"
)


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the page as it is answered."""

    content: bytes
    packed: bytes | None
    headers: Mapping[str, str]
    tag: str


class PageRoute(BaseRoute):
    """Answers last, and only GET and HEAD: what no route before it knows."""

    def __init__(self, folder: Traversable | None = None) -> None:
        self._folder = folder or files("tidings") / "page"
        self._files: Mapping[str, _File] = {}
        self.endpoint = self

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether this request is for the page."""
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"}:
            return Match.NONE, {}
        path: str = scope["path"]
        if path == "/" or path in self._read() or (not _is_of_the_api(path) and _wants_html(scope)):
            return Match.FULL, {"endpoint": self}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the file of this path, or with the page itself."""
        request = Request(scope)
        found = self._read().get(request.url.path)
        if found is not None and request.url.path != _INDEX:
            response = _answer_file(request, found)
        elif index := self._read().get(_INDEX):
            response = _answer_index(index)
        else:
            response = PlainTextResponse(_NOT_BUILT, 503)
        await response(scope, receive, send)

    def _read(self) -> Mapping[str, _File]:
        """Return the files, read by the first request after they were built."""
        if not self._files and self._folder.joinpath("index.html").is_file():
            self._files = {path: _read_file(path, one) for path, one in _files_below(self._folder, "")}
        return self._files


def _is_of_the_api(path: str) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in _API)


def _wants_html(scope: Scope) -> bool:
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _files_below(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    """Return what is served: the compressed copies go with their files."""
    found: list[tuple[str, Traversable]] = []
    for one in folder.iterdir():
        here = f"{path}/{one.name}"
        if one.is_dir():
            found += _files_below(one, here)
        elif here.rpartition(".")[2] in _MEDIA_TYPES and here not in _ASIDE:
            found.append((here, one))
    return found


def _read_file(path: str, source: Traversable) -> _File:
    content = source.read_bytes()
    beside = _beside(source)
    media_type = _MEDIA_TYPES[path.rpartition(".")[2]]
    text = media_type.startswith("text/")
    headers = {
        "Content-Type": f"{media_type}; charset=utf-8" if text else media_type,
        "Cache-Control": _FOR_EVER if path.startswith("/assets/") else _ASK_AGAIN,
        "Vary": "Accept-Encoding",
    }
    return _File(content, beside, headers, sha256(content).hexdigest()[:24])


def _beside(source: Traversable) -> bytes | None:
    """Return the compressed copy that the build made of a file."""
    with_suffix = getattr(source, "with_name", None)
    packed = with_suffix(f"{source.name}.gz") if with_suffix else None
    return packed.read_bytes() if packed is not None and packed.is_file() else None


def _answer_file(request: Request, file: _File) -> Response:
    is_packed = file.packed is not None and "gzip" in request.headers.get("accept-encoding", "")
    tag = f'"{file.tag}{"-gzip" if is_packed else ""}"'
    headers = {**file.headers, "ETag": tag}
    if request.url.path == _FRAME:
        headers |= _frame_headers(shows_images="images" in request.query_params)
    if tag in [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    if is_packed:
        headers["Content-Encoding"] = "gzip"
    return Response(file.packed if is_packed else file.content, headers=headers)


def _answer_index(index: _File) -> Response:
    """Return the page under a policy whose nonce is new each time, and which its libraries read from the page."""
    nonce = secrets.token_urlsafe(18)
    content = index.content.replace(NONCE.encode(), nonce.encode())
    headers = {"Content-Security-Policy": _policy(nonce), "Cache-Control": _ASK_AGAIN}
    return HTMLResponse(content, headers=headers)


def _policy(nonce: str) -> str:
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
        "font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def _frame_headers(*, shows_images: bool) -> Mapping[str, str]:
    """Return the headers of the frame that shows messages: no origin, no network, no script but its own."""
    images = "data: https: http:" if shows_images else "data:"
    policy = (
        "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; "
        f"img-src {images}; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    )
    return {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"}
