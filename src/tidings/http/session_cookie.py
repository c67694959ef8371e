"""The cookie of a session: what it is called, when it counts, and the token that a page sends with every change.

A cookie is sent by the browser whoever wrote the page that asks. So it counts only where the page is our own (its
Origin, if it says one), and a change needs the header X-Tidings-CSRF, which only our own page can read and send.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import unquote, urlsplit

from starlette.requests import Request

from tidings.http.errors import CsrfMissing, Forbidden
from tidings.http.people_settings import PeopleSettings

COOKIE = "tidings_session"
SECURE_COOKIE = "__Host-tidings_session"
"""Its name under TLS: a browser takes it from this very host alone, not from one beside it, and not without TLS."""
CSRF_HEADER = "x-tidings-csrf"
WORKSPACE_HEADER = "x-tidings-workspace"
SAFE_METHODS = frozenset(["GET", "HEAD", "OPTIONS"])


def token_of(request: Request) -> str:
    """Return the token that a request's cookie has; empty without one."""
    return request.cookies.get(_name(request), "")


def setting_cookie(request: Request, token: str, seconds: float) -> Mapping[str, str]:
    """Return the header that gives a browser its token."""
    return {"Set-Cookie": cookie(_name(request), token, int(seconds), is_secure=is_secure(request))}


def removing_cookie(request: Request) -> Mapping[str, str]:
    """Return the header that takes the token from a browser."""
    return {"Set-Cookie": cookie(_name(request), "", 0, is_secure=is_secure(request))}


def cookie(name: str, value: str, seconds: int, *, is_secure: bool) -> str:
    """Return the value of Set-Cookie for a cookie that no script can read."""
    secure = "; Secure" if is_secure else ""
    return f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def csrf_token(token: str) -> str:
    """Return what a page sends with changes: made of the session's token, which it does not tell."""
    return urlsafe_b64encode(hmac.digest(token.encode(), b"csrf", sha256)[:24]).decode()


def check_page(request: Request, token: str, settings: PeopleSettings) -> None:
    """Refuse a cookie that a page of somebody else sends, or a change without the header of our own."""
    check_origin(request, settings)
    if request.method in SAFE_METHODS:
        return
    given = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(given.encode(), csrf_token(token).encode()):
        raise CsrfMissing("a change in a session needs the header X-Tidings-CSRF: csrfToken of GET /v1/session")


def check_origin(request: Request, settings: PeopleSettings) -> None:
    """Refuse a request that a page of another origin makes in somebody's browser."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    own = {request.headers.get("host", ""), urlsplit(settings.public_url or "").netloc}
    if urlsplit(origin).netloc not in own - {""}:
        raise Forbidden(
            "this page is not of this installation; if it is, set public_url or have the proxy pass the Host header on"
        )


def named_workspace(request: Request) -> str | None:
    """Return the workspace that a request in a session names, if any."""
    given = request.headers.get(WORKSPACE_HEADER)
    return unquote(given) if given else None


def is_secure(request: Request) -> bool:
    """Whether the request came under TLS, as far as the server or a proxy that it believes says."""
    return request.url.scheme == "https"


def _name(request: Request) -> str:
    return SECURE_COOKIE if is_secure(request) else COOKIE
