"""Signature Version 4, with which a request to Amazon proves who made it (AWS General Reference, SigV4)."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from hmac import digest
from urllib.parse import parse_qsl, quote, urlsplit

from tidings.providers.http_request import HttpRequest

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """Who asks: the pair of an access key, and the token of a session that is only for a while."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)


def signed(request: HttpRequest, who: AwsCredentials, region: str, service: str, at: datetime) -> HttpRequest:
    """Return the request with the headers that sign it: its method, address, headers and body, for some minutes."""
    time = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    added = [("X-Amz-Date", time)] + ([("X-Amz-Security-Token", who.session_token)] if who.session_token else [])
    scope = f"{time[:8]}/{region}/{service}/aws4_request"
    names, canonical = _canonical(request, added)
    to_sign = f"{_ALGORITHM}\n{time}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    signature = digest(_signing_key(who.secret_access_key, scope), to_sign.encode(), "sha256").hex()
    said = f"{_ALGORITHM} Credential={who.access_key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    headers = [*request.headers, *added, ("Authorization", said)]
    return HttpRequest(request.method, request.url, headers, request.body)


def _canonical(request: HttpRequest, added: list[tuple[str, str]]) -> tuple[str, str]:
    """The names of the signed headers, and the request in the one form that both sides sign."""
    parts = urlsplit(request.url)
    pairs = [("host", parts.netloc), *((name.lower(), value) for name, value in [*request.headers, *added])]
    headers = sorted((name, " ".join(value.split())) for name, value in pairs)
    names = ";".join(name for name, _ in headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers)
    path = quote(parts.path or "/", safe="/-_.~")  # once more than it is in the address, as they do it
    body = sha256(request.body).hexdigest()
    return names, f"{request.method}\n{path}\n{_query(parts.query)}\n{lines}\n{names}\n{body}"


def _query(query: str) -> str:
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in parse_qsl(query, True))
    return "&".join(f"{name}={value}" for name, value in pairs)


def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = digest(key, part.encode(), "sha256")
    return key
