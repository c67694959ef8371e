"""Ask an issuer of OpenID Connect: where it is asked, with which keys it signs, and what a code stands for."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2

from tidings.domain.people.oidc import LOOPBACK, OidcLogin
from tidings.http.id_tokens import Claims, KeyUnknown, read_id_token

KNOWN_SECONDS = 3_600.0
LEAST_SECONDS_BETWEEN_KEYS = 30.0
"""How often new keys are asked for at most: whoever sends tokens with made-up keys must not have us ask each time."""
ANSWER_SECONDS = 10.0
LARGEST_ANSWER = 1_000_000
SCOPE = "openid email profile"
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class IssuerFailed(Exception):
    """The issuer does not answer, or not as it should."""


class Issuer:
    """One issuer, as one process knows it."""

    def __init__(self, login: OidcLogin) -> None:
        self.login = login
        self._found: tuple[float, Mapping[str, Any]] = (0.0, {})
        self._keys: tuple[float, list[Mapping[str, Any]]] = (0.0, [])
        self._asking = asyncio.Lock()

    async def where_to_begin(self, *, redirect_uri: str, state: str, nonce: str, challenge: str) -> str:
        """Return where the browser goes to sign in."""
        address: str = (await self._endpoints())["authorization_endpoint"]
        asked = {
            "response_type": "code",
            "client_id": self.login.client_id,
            "redirect_uri": redirect_uri,
            "scope": SCOPE,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(asked)}"

    async def claims_of(self, code: str, *, redirect_uri: str, verifier: str) -> Claims:
        """Exchange a code, and return the claims of its ID token, whose signature is the issuer's."""
        endpoints = await self._endpoints()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        form |= {"code_verifier": verifier, "client_id": self.login.client_id}
        answer = await self._post(endpoints, form)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise IssuerFailed("its answer has no ID token")
        try:
            return read_id_token(token, await self._known_keys(endpoints))
        except KeyUnknown:
            return read_id_token(token, await self._known_keys(endpoints, anew=True))

    async def _post(self, endpoints: Mapping[str, Any], form: dict[str, str]) -> Mapping[str, Any]:
        secret, ways = self.login.client_secret, endpoints.get("token_endpoint_auth_methods_supported")
        auth = None
        if secret and isinstance(ways, list) and "client_secret_basic" not in ways and "client_secret_post" in ways:
            form |= {"client_secret": secret}
        elif secret:
            auth = (quote(self.login.client_id, safe=""), quote(secret, safe=""))
        return await self._ask("POST", endpoints["token_endpoint"], data=form, auth=auth)

    async def _endpoints(self) -> Mapping[str, Any]:
        async with self._asking:
            until, found = self._found
            if until <= time.monotonic():
                found = await self._discover()
                self._found = (time.monotonic() + KNOWN_SECONDS, found)
            return found

    async def _discover(self) -> Mapping[str, Any]:
        issuer = self.login.issuer
        found = await self._ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != issuer:
            raise IssuerFailed("it names itself otherwise than the settings do")
        for name in _NEEDED:
            _check_address(name, found.get(name))
        return found

    async def _known_keys(self, endpoints: Mapping[str, Any], *, anew: bool = False) -> list[Mapping[str, Any]]:
        async with self._asking:
            read_at, keys = self._keys
            age = time.monotonic() - read_at if keys else KNOWN_SECONDS
            if age >= (LEAST_SECONDS_BETWEEN_KEYS if anew else KNOWN_SECONDS):
                listed = (await self._ask("GET", endpoints["jwks_uri"])).get("keys")
                keys = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
                self._keys = (time.monotonic(), keys)
            return keys

    async def _ask(self, method: str, url: str, **given: Any) -> Mapping[str, Any]:
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS),
                httpx2.AsyncClient(timeout=ANSWER_SECONDS, follow_redirects=False) as http,
                http.stream(method, url, **given) as answer,
            ):
                body = bytearray()
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > LARGEST_ANSWER:
                        raise IssuerFailed("its answer is too large")
        except (httpx2.HTTPError, TimeoutError) as error:
            raise IssuerFailed(f"it cannot be asked: {type(error).__name__}") from error
        return _read_object(answer.status_code, bytes(body))


def _read_object(status: int, body: bytes) -> Mapping[str, Any]:
    if status != 200:
        raise IssuerFailed(f"it answers {status}")
    try:
        found: object = httpx2.Response(200, content=body).json()
    except ValueError as error:
        raise IssuerFailed("its answer is not JSON") from error
    if not isinstance(found, dict):
        raise IssuerFailed("its answer is no object")
    return found


def _check_address(name: str, address: object) -> None:
    parts = urlsplit(address) if isinstance(address, str) else None
    if parts is None or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)):
        raise IssuerFailed(f"its {name} is no address under https")
