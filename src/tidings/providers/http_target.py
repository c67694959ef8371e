"""The address of a call taken apart, for HTTP/1.1 and HTTP/2 alike."""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """Where a call goes."""

    is_tls: bool
    host: str
    port: int
    netloc: str
    path: str


@lru_cache(maxsize=1_000)
def target_of(url: str) -> HttpTarget:
    """Take an address apart; raise ValueError for what is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("the address is no http:// or https:// address")
    is_tls = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return HttpTarget(is_tls, parts.hostname, parts.port or (443 if is_tls else 80), parts.netloc, path)
