"""Signed JSON Web Tokens (RFC 7519) as vendors ask for them: RS256 for Google, ES256 for Apple and for Web Push."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

_P256_BYTES = 32


def base64url(raw: bytes) -> str:
    """Base64 with the alphabet of addresses, without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """The bytes of base64 in either alphabet, with or without padding; raise ValueError for what is none."""
    plain = text.strip().rstrip("=").replace("+", "-").replace("/", "_")
    try:
        raw = urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
    except ValueError:
        raw = b""
    if base64url(raw) != plain:  # what is no letter of the alphabet is passed over silently
        raise ValueError("it is no base64")
    return raw


def rs256(key: rsa.RSAPrivateKey, claims: Mapping[str, object], **header: str) -> str:
    """Return claims signed with RSA."""
    signed = _signed({"alg": "RS256", "typ": "JWT", **header}, claims)
    return f"{signed}.{base64url(key.sign(signed.encode(), padding.PKCS1v15(), SHA256()))}"


def es256(key: ec.EllipticCurvePrivateKey, claims: Mapping[str, object], **header: str) -> str:
    """Return claims signed on P-256; the signature is r and s as they are, not in DER."""
    signed = _signed({"alg": "ES256", "typ": "JWT", **header}, claims)
    r, s = utils.decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(SHA256())))
    return f"{signed}.{base64url(r.to_bytes(_P256_BYTES, 'big') + s.to_bytes(_P256_BYTES, 'big'))}"


def rsa_key(pem: str) -> rsa.RSAPrivateKey:
    """Read a private key; raise ValueError for what is none, without repeating it."""
    key = _key(pem)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("the key is no RSA key")  # noqa: TRY004 – what a text says, not its type
    return key


def p256_key(pem: str) -> ec.EllipticCurvePrivateKey:
    """Read a private key; raise ValueError for what is none, without repeating it."""
    key = _key(pem)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("the key is no key on P-256")  # noqa: TRY004 – as above
    return key


def _signed(header: Mapping[str, str], claims: Mapping[str, object]) -> str:
    return ".".join(base64url(msgspec.json.encode(one)) for one in (header, claims))


def _key(pem: str) -> object:
    try:
        return load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        raise ValueError("the private key is no PEM, or has a password") from None
