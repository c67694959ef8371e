"""What only a subscribed browser can read: RFC 8291 over aes128gcm of RFC 8188, in one record."""

import os
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

RECORD_BYTES = 4096
_SALT_BYTES, _AUTH_BYTES, _POINT_BYTES = 16, 16, 65
LARGEST_MESSAGE = RECORD_BYTES - (_SALT_BYTES + 4 + 1 + _POINT_BYTES) - 17
"""In bytes: what is left of the 4,096 that every push service takes, without head, delimiter and tag."""
_LAST_RECORD = b"\x02"


@dataclass(frozen=True, slots=True)
class BrowserKeys:
    """The keys of a subscription: a point on P-256, and a secret that only the browser and we know."""

    public: bytes
    auth: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.auth) != _AUTH_BYTES:
            raise ValueError("the subscription's auth is not of 16 bytes")
        if len(self.public) != _POINT_BYTES:
            raise ValueError("the subscription's p256dh is not of 65 bytes")


def encrypt(
    message: bytes,
    keys: BrowserKeys,
    *,
    salt: bytes | None = None,
    own_key: ec.EllipticCurvePrivateKey | None = None,
) -> bytes:
    """Encrypt a message for a browser, with a new salt and key each time; raise ValueError for keys that are none."""
    salt = salt or os.urandom(_SALT_BYTES)
    own_key = own_key or ec.generate_private_key(ec.SECP256R1())
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), keys.public)
    own = point_of(own_key)
    shared = own_key.exchange(ec.ECDH(), theirs)
    secret = _hkdf(keys.auth, shared, b"WebPush: info\0" + keys.public + own, 32)
    key = _hkdf(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _hkdf(salt, secret, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(own)]) + own
    return head + AESGCM(key).encrypt(nonce, message + _LAST_RECORD, None)


def point_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The public half of a key, uncompressed."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)
