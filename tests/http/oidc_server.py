"""An OpenID Connect issuer on a real socket, which a test can have lie in one thing at a time."""

import asyncio
import json
import secrets
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

NOW = 1_772_442_000  # 2026-03-02T09:00:00Z, where the tests' clock stands
CLIENT, SECRET = "tidings", "client: secret/+"
RSA_KEY = rsa.generate_private_key(65537, 2048)
OTHER_RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int, length: int | None = None) -> str:
    return text(value.to_bytes(length or (value.bit_length() + 7) // 8, "big"))


def public_rsa(kid: str, key: rsa.RSAPrivateKey = RSA_KEY) -> dict[str, str]:
    public = key.public_key().public_numbers()
    return {"kty": "RSA", "kid": kid, "use": "sig", "n": number(public.n), "e": number(public.e)}


def public_ec(kid: str) -> dict[str, str]:
    public = EC_KEY.public_key().public_numbers()
    return {"kty": "EC", "crv": "P-256", "kid": kid, "x": number(public.x, 32), "y": number(public.y, 32)}


def signed(claims: object, header: dict[str, Any], key: Any = None) -> str:
    head = f"{text(json.dumps(header).encode())}.{text(json.dumps(claims).encode())}"
    if header["alg"] == "ES256":
        r, s = decode_dss_signature(EC_KEY.sign(head.encode(), ec.ECDSA(SHA256())))
        return f"{head}.{text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
    if header["alg"] == "none":
        return f"{head}."
    return f"{head}.{text((key or RSA_KEY).sign(head.encode(), padding.PKCS1v15(), SHA256()))}"


@dataclass
class OidcServer:
    """The issuer, the person who is signed in there, and in what it lies."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=lambda: {"email": "ada@example.com", "email_verified": True})
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256", "kid": "r1"})
    keys: list[dict[str, str]] = field(default_factory=lambda: [public_rsa("r1"), public_ec("e1")])
    discovery: dict[str, Any] = field(default_factory=dict)
    forge: Callable[[str], str] = str
    key: Any = None
    denies: bool = False
    asked: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    async def configuration(self, request: Request) -> Response:
        self.asked.append("configuration")
        found = {name: f"{self.url}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        return JSONResponse({"issuer": self.url, **found, **self.discovery})

    async def authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        assert (query["response_type"], query["client_id"], query["code_challenge_method"]) == ("code", CLIENT, "S256")
        if self.denies:
            return RedirectResponse(
                f"{query['redirect_uri']}?{urlencode({'error': 'denied', 'state': query['state']})}"
            )
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}")

    async def token(self, request: Request) -> Response:
        self.asked.append("token")
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = self.codes.pop(form["code"], None)
        challenge = text(sha256(form["code_verifier"].encode()).digest())
        login = b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        is_right = login == f"{CLIENT}:client%3A%20secret%2F%2B" and asked is not None
        if (
            asked is None
            or not is_right
            or (challenge, form["redirect_uri"])
            != (
                asked["code_challenge"],
                asked["redirect_uri"],
            )
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        standard = {"iss": self.url, "aud": CLIENT, "exp": NOW + 300, "iat": NOW, "nonce": asked["nonce"], "sub": "1"}
        claims = {name: value for name, value in (standard | self.claims).items() if value is not None}
        return JSONResponse({"id_token": self.forge(signed(claims, self.header, self.key))})

    async def jwks(self, request: Request) -> Response:
        self.asked.append("keys")
        return JSONResponse({"keys": self.keys})


@asynccontextmanager
async def oidc_server() -> AsyncIterator[OidcServer]:
    made = OidcServer()
    routes = [
        Route("/.well-known/openid-configuration", made.configuration),
        Route("/authorization_endpoint", made.authorize),
        Route("/token_endpoint", made.token, methods=["POST"]),
        Route("/jwks_uri", made.jwks),
    ]
    server = uvicorn.Server(
        uvicorn.Config(Starlette(routes=routes), port=0, log_config=None, lifespan="off", ws="none")
    )
    running = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:
            await asyncio.sleep(0.01)
    made.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.should_exit = True
        await running
