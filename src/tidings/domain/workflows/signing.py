"""How a function knows who calls: Standard Webhooks, under a key that is made for the tenant and the workspace.

The signing key is HMAC-SHA256 of `tenant/workspace`, as the two headers have them, under the secret. So the signature
holds for one workspace only, the body stays as it is, and what verifies Standard Webhooks verifies these calls.
"""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote

from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace

PREFIX = "whsec_"
SECRET_BYTES = 32
_FEWEST_BYTES, _MOST_BYTES = 24, 64
"""What Standard Webhooks asks of a secret."""


def signing_secret(random_bytes: bytes) -> str:
    """Return the secret that these random bytes make."""
    return PREFIX + b64encode(random_bytes).decode()


def secret_bytes(secret: str) -> bytes:
    """Return what a secret stands for; refuse what is none, without repeating it."""
    try:
        found = b64decode(secret.removeprefix(PREFIX), validate=True) if secret.startswith(PREFIX) else b""
    except (binascii.Error, ValueError):
        found = b""
    if not _FEWEST_BYTES <= len(found) <= _MOST_BYTES:
        raise InputInvalid(
            f"a signing secret is {PREFIX} and {_FEWEST_BYTES} to {_MOST_BYTES} random bytes in base64: write "
            f"{PREFIX}$(openssl rand -base64 {SECRET_BYTES})"
        )
    return found


def caller_headers(workspace: Workspace) -> list[tuple[str, str]]:
    """Return the headers that say who calls, percent-encoded: names may hold what no header can."""
    return [("Tidings-Tenant", _encoded(workspace.tenant)), ("Tidings-Workspace", _encoded(workspace.name))]


def signing_key(secret: str, workspace: Workspace) -> bytes:
    """Return the key that signs the calls of one workspace."""
    named = f"{_encoded(workspace.tenant)}/{_encoded(workspace.name)}"
    return hmac.digest(secret_bytes(secret), named.encode(), sha256)


def signature_headers(
    signing: Sequence[str], workspace: Workspace, key: str, timestamp: int, body: bytes
) -> list[tuple[str, str]]:
    """Return the headers of Standard Webhooks, with a signature for each secret that is valid now."""
    return standard_headers([signing_key(secret, workspace) for secret in signing], key, timestamp, body)


def standard_headers(keys: Sequence[bytes], id: str, timestamp: int, body: bytes) -> list[tuple[str, str]]:
    """Return the headers of Standard Webhooks, with a signature under each key; none without a key."""
    if not keys:
        return []
    content = f"{id}.{timestamp}.".encode() + body
    signatures = ["v1," + b64encode(hmac.digest(key, content, sha256)).decode() for key in keys]
    return [("webhook-id", id), ("webhook-timestamp", str(timestamp)), ("webhook-signature", " ".join(signatures))]


@lru_cache(maxsize=1_000)
def _encoded(name: str) -> str:
    return quote(name, safe="")
