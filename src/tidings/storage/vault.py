"""Seals secrets before they are stored: AES-256-GCM under a key that is not in the database.

A sealed secret is bound to its place (tenant, workspace, name), so it opens nowhere else.
"""

import binascii
import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path

from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.ids import length_prefixed

KEY_BYTES = 32
KEY_FILE = "secret.key"
_FORM = b"\x01"
_NONCE_BYTES = 12
_HOW = "32 random bytes in base64, such as `openssl rand -base64 32` prints"


class Vault:
    """Seals with the first key and opens with any, so that a new key can be put in front of an old one."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._keys = tuple(keys)

    def __repr__(self) -> str:
        return f"Vault({len(self._keys)} keys)"

    @property
    def has_key(self) -> bool:
        """Whether anything can be sealed or opened."""
        return bool(self._keys)

    def opens(self, sealed: bytes, place: tuple[str, ...]) -> bool:
        """Whether one of our keys sealed this secret for this place."""
        try:
            self.open(sealed, place)
        except ConfigInvalid:
            return False
        return True

    def seal(self, secret: str, place: tuple[str, ...]) -> bytes:
        """Make a secret fit to be stored at its place; refuse when there is no key."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 – few use secrets

        if not self._keys:
            raise ConfigInvalid(f"no secret can be stored without a key: set TIDINGS_SECRET_KEY to {_HOW}")
        nonce = os.urandom(_NONCE_BYTES)
        return _FORM + nonce + AESGCM(self._keys[0]).encrypt(nonce, secret.encode(), length_prefixed(place))

    def open(self, sealed: bytes, place: tuple[str, ...]) -> str:
        """Read a sealed secret; refuse when no key of ours sealed it, or not for this place."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        nonce, text = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        for key in self._keys if sealed.startswith(_FORM) else ():
            try:
                return AESGCM(key).decrypt(nonce, text, length_prefixed(place)).decode()
            except (InvalidTag, ValueError):
                continue
        raise ConfigInvalid("the stored secret cannot be opened: set TIDINGS_SECRET_KEY to the key it was stored with")


def read_keys(given: str) -> list[bytes]:
    """Read TIDINGS_SECRET_KEY: one key, or several with commas between, the newest first."""
    keys = []
    for text in given.split(","):
        try:
            key = b64decode(text.strip(), altchars=b"-_" if set(text) & set("-_") else None, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise ConfigInvalid(f"TIDINGS_SECRET_KEY is no key: write {_HOW}")
        keys.append(key)
    return keys


def key_kept_in(directory: Path) -> bytes:
    """Return the key in a directory's own file, made the first time; a second process takes the first one's."""
    path = directory / KEY_FILE
    try:
        if not path.exists():
            _make_key(path)
        [key] = read_keys(path.read_text())
    except OSError as error:
        raise ConfigInvalid(f"the key in {path} cannot be used: {error}; set TIDINGS_SECRET_KEY instead") from error
    except (ValueError, ConfigInvalid) as error:
        raise ConfigInvalid(f"{path} holds no key: restore it, or set TIDINGS_SECRET_KEY") from error
    return key


def _make_key(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(b64encode(os.urandom(KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(descriptor)
        path.hardlink_to(draft)  # unlike a rename it leaves alone what another process has put there meanwhile
    except FileExistsError:
        pass
    finally:
        draft.unlink()
