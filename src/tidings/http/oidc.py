"""/v1/oidc: sign in with a login of one's own organisation, by OpenID Connect.

The authorization code flow with PKCE. What must come back with the code (state, nonce and verifier) is in a cookie of
the browser that began, and nowhere else: a code that somebody else got, or that is pushed into another browser, opens
nothing.
"""

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from fastapi import Path, Query
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tidings.domain.errors import NotFound, TidingsError
from tidings.domain.messages import quoted
from tidings.http.access import api_of
from tidings.http.errors import SignInFailed
from tidings.http.id_tokens import TokenRefused, check_claims, verified_email
from tidings.http.oidc_issuer import Issuer, IssuerFailed
from tidings.http.resource import resource_router
from tidings.http.session_cookie import cookie, is_secure, setting_cookie
from tidings.http.sessions import browser_of
from tidings.log import log
from tidings.resources.sessions import Begun

router = resource_router("People")
COOKIE = "tidings_oidc"
BEGUN_SECONDS = 600
"""How long somebody may take at the issuer."""
LONGEST_NEXT = 500
Name = Annotated[str, Path(max_length=64, description="The name of the login, as GET /v1/sign-in tells it.")]
Next = Annotated[str | None, Query(alias="next", max_length=LONGEST_NEXT, description="Where on the page to go then.")]
Text = Annotated[str | None, Query(max_length=4_000)]
AWAY: dict[int | str, dict[str, Any]] = {
    303: {"description": "The browser goes on: to the issuer, to the page, or back to its sign-in with `problem`."}
}


class _Failed(Exception):
    """Why nobody signs in: the word for the page, and the reason for the log."""


class _Flow(Struct, frozen=True):
    """What the browser that began must bring back."""

    name: str
    state: str
    nonce: str
    verifier: str
    next: str


@router.get("/v1/oidc/{name}/start", status_code=303, response_class=RedirectResponse, responses=AWAY)
async def start_oidc(request: Request, name: Name, next_: Next = None) -> Response:
    """Send a browser to the issuer."""
    issuer = _issuer(request, name)
    flow = _Flow(name, *_random_three(), _own_path(next_))
    challenge = urlsafe_b64encode(sha256(flow.verifier.encode()).digest()).rstrip(b"=").decode()
    try:
        where = await issuer.where_to_begin(
            redirect_uri=_redirect_uri(request, name), state=flow.state, nonce=flow.nonce, challenge=challenge
        )
    except IssuerFailed as error:
        return _failed(request, name, "oidc_failed", str(error))
    kept = urlsafe_b64encode(msgspec.json.encode(flow)).decode()
    return _redirect(where, cookie(_cookie_name(request), kept, BEGUN_SECONDS, is_secure=is_secure(request)))


@router.get("/v1/oidc/{name}/callback", status_code=303, response_class=RedirectResponse, responses=AWAY)
async def finish_oidc(
    request: Request, name: Name, code: Text = None, state: Text = None, error: Text = None, iss: Text = None
) -> Response:
    """Take a browser back from the issuer, and begin its session."""
    issuer = _issuer(request, name)
    try:
        flow = _own_flow(request, issuer, state, iss)
        granted = _granted(code, error)
        with api_of(request).sign_in_tries.spending(request.scope):
            begun = await _begin(request, issuer, flow, granted)
    except (IssuerFailed, TokenRefused) as failure:
        return _failed(request, name, "oidc_failed", str(failure))
    except SignInFailed as failure:
        return _failed(request, name, "oidc_unknown_person", str(failure))
    except TidingsError as failure:
        return _failed(request, name, failure.code, str(failure))
    except _Failed as failure:
        return _failed(request, name, *failure.args)
    seconds = api_of(request).people.lasts.total_seconds()
    return _redirect(flow.next, _forgetting(request), *setting_cookie(request, begun.token, seconds).values())


def _granted(code: str | None, error: str | None) -> str:
    if error is not None or not code:
        raise _Failed("oidc_denied", "the issuer refuses")
    return code


def _own_flow(request: Request, issuer: Issuer, state: str | None, iss: str | None) -> _Flow:
    """Return what this browser began, if this is the answer to it."""
    flow = _flow(request)
    if flow is None or flow.name != issuer.login.name:
        raise _Failed("oidc_failed", "it was not begun in this browser, or too long ago")
    if not hmac.compare_digest(flow.state.encode(), (state or "").encode()):
        raise _Failed("oidc_failed", "it is the answer to another sign-in")
    if iss is not None and iss != issuer.login.issuer:
        raise _Failed("oidc_failed", "another issuer answers")
    return flow


async def _begin(request: Request, issuer: Issuer, flow: _Flow, code: str) -> Begun:
    """Begin a session of the person whom the issuer names."""
    engine, login = api_of(request).engine, issuer.login
    uri = _redirect_uri(request, login.name)
    claims = await issuer.claims_of(code, redirect_uri=uri, verifier=flow.verifier)
    now = await engine.kernel.clock.now()
    check_claims(claims, issuer=login.issuer, client_id=login.client_id, nonce=flow.nonce, now=now)
    email, via = verified_email(claims), f"oidc:{login.name}"
    begun = await engine.sessions.vouched(login.tenant, email, via, browser_of(request))
    if begun is None and login.admits(email):
        named = claims.get("name")
        await engine.users.admit(login.tenant, email, named if isinstance(named, str) else "", via, login.roles)
        begun = await engine.sessions.vouched(login.tenant, email, via, browser_of(request))
    if begun is None:
        raise SignInFailed("nobody with this address was invited")
    return begun


def _random_three() -> tuple[str, str, str]:
    return secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(32)


def _issuer(request: Request, name: str) -> Issuer:
    found = api_of(request).people.issuers.get(name)
    if found is None:
        raise NotFound(f"there is no login {quoted(name)}")
    return found


def _flow(request: Request) -> _Flow | None:
    kept = request.cookies.get(_cookie_name(request), "")
    try:
        return msgspec.json.decode(urlsafe_b64decode(kept), type=_Flow)
    except (msgspec.DecodeError, ValueError):
        return None


def _own_path(given: str | None) -> str:
    """Return where on our own page to go: no address of another, however a browser may read it."""
    if not given or not given.startswith("/") or given[1:2] in ("/", "\\") or not given.isprintable():
        return "/"
    return "/" if "\\" in given or not given.isascii() else given


def _redirect_uri(request: Request, name: str) -> str:
    return f"{api_of(request).people.url_of(request)}/v1/oidc/{name}/callback"


def _failed(request: Request, name: str, problem: str, reason: str) -> Response:
    log.warning("oidc_sign_in_failed", login=name, problem=problem, reason=reason)
    return _redirect(f"/sign-in?problem={problem}", _forgetting(request))


def _redirect(where: str, *cookies: str) -> Response:
    answer = Response(status_code=303, headers={"Location": where})
    for one in cookies:
        answer.headers.append("Set-Cookie", one)
    return answer


def _forgetting(request: Request) -> str:
    return cookie(_cookie_name(request), "", 0, is_secure=is_secure(request))


def _cookie_name(request: Request) -> str:
    return f"__Host-{COOKIE}" if is_secure(request) else COOKIE
