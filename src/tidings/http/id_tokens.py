"""Check ID tokens of OpenID Connect: signed by a key of the issuer with RS256 or ES256, for us, and not past.

A token names its own algorithm; only these two are taken, each with keys of its own kind, so that none can be passed
off as the other, and none as unsigned.
"""

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

CLOCK_SECONDS = 60
"""How far the issuer's clock may be from ours."""
FEWEST_BITS = 2_048
LONGEST_TOKEN = 20_000
Key = Mapping[str, Any]
Claims = Mapping[str, Any]


class TokenRefused(Exception):
    """An ID token that says nothing we may rely on."""


class KeyUnknown(TokenRefused):
    """No key of the issuer's has the name that the token gives: it may have new ones."""


def read_id_token(token: str, keys: Iterable[Key]) -> Claims:
    """Return the claims of a token whose signature is the issuer's; the caller checks what they say."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > LONGEST_TOKEN:
        raise TokenRefused("it is no signed token")
    header = _object(parts[0])
    algorithm = header.get("alg")
    if algorithm not in _VERIFIERS or "crit" in header:
        raise TokenRefused("it is not signed with RS256 or ES256")
    kind, verify = _VERIFIERS[algorithm]
    fitting = [one for one in keys if _fits(one, kind, algorithm, header.get("kid"))]
    if not fitting:
        raise KeyUnknown("the issuer has no such key")
    signed, signature = f"{parts[0]}.{parts[1]}".encode(), _bytes(parts[2])
    if not any(_is_signed(verify, one, signed, signature) for one in fitting):
        raise TokenRefused("its signature is not the issuer's")
    return _object(parts[1])


def check_claims(claims: Claims, *, issuer: str, client_id: str, nonce: str, now: datetime) -> None:
    """Refuse claims of another issuer, for another client or another sign-in, or that hold no longer or not yet."""
    audience = claims.get("aud")
    clients = audience if isinstance(audience, list) else [audience]
    at = now.timestamp()
    ends, made = claims.get("exp"), claims.get("iat")
    wrong = {
        "iss": claims.get("iss") != issuer,
        "aud": client_id not in clients,
        "azp": (len(clients) > 1 or "azp" in claims) and claims.get("azp") != client_id,
        "exp": not isinstance(ends, int | float) or ends + CLOCK_SECONDS <= at,
        "iat": not isinstance(made, int | float) or made - CLOCK_SECONDS > at,
        "nonce": claims.get("nonce") != nonce,
    }
    if found := [name for name, is_wrong in wrong.items() if is_wrong]:
        raise TokenRefused(f"not for this sign-in: {', '.join(found)}")


def verified_email(claims: Claims) -> str:
    """Return the address that the issuer says it has verified."""
    email = claims.get("email")
    if not isinstance(email, str) or not email or claims.get("email_verified") is not True:
        raise TokenRefused("it has no verified address")
    return email


def _fits(key: Key, kind: str, algorithm: str, named: object) -> bool:
    return (
        key.get("kty") == kind
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (named is None or key.get("kid") == named)
    )


def _is_signed(verify: Any, key: Key, signed: bytes, signature: bytes) -> bool:
    try:
        verify(key, signed, signature)
    except (InvalidSignature, ValueError, KeyError, TypeError, TokenRefused):
        return False
    return True


def _verify_rs256(key: Key, signed: bytes, signature: bytes) -> None:
    public = rsa.RSAPublicNumbers(_number(key["e"]), _number(key["n"])).public_key()
    if public.key_size < FEWEST_BITS:
        raise TokenRefused("the key is short")
    public.verify(signature, signed, padding.PKCS1v15(), SHA256())


def _verify_es256(key: Key, signed: bytes, signature: bytes) -> None:
    if key.get("crv") != "P-256" or len(signature) != 64:
        raise TokenRefused("the key is of another curve")
    public = ec.EllipticCurvePublicNumbers(_number(key["x"]), _number(key["y"]), ec.SECP256R1()).public_key()
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(SHA256()))


_VERIFIERS = {"RS256": ("RSA", _verify_rs256), "ES256": ("EC", _verify_es256)}


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text), "big")


def _bytes(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (binascii.Error, UnicodeEncodeError) as error:
        raise TokenRefused("it is not base64url") from error


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(_bytes(text), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TokenRefused("it holds no object") from error
