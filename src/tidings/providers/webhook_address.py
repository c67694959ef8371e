"""The address of a vendor's webhook, which is its own password: what of it must never be seen in a reason."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

_SHORTEST = 8


def secrets_in(url: str) -> Sequence[str]:
    """Return the address, and every part of it that may be repeated without the rest."""
    parts = urlsplit(url)
    pieces = [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    whole = [url, parts.path, f"{parts.path}?{parts.query}", parts.query]
    return [one for one in (*whole, *pieces) if len(one) >= _SHORTEST]
