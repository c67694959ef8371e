"""Seals secrets before they are stored: AES-256-GCM under a key that is not in the database.

A sealed secret is bound to its place (tenant, workspace, name), so it opens nowhere else.
"""

import binascii
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.ids import length_prefixed

KEY_BYTES = 32
KEY_FILE = "secret.key"
_FORM = b"\x01"
_NONCE_BYTES = 12
_HOW = "32 random bytes in base64, such as `openssl rand -base64 32` prints"


class Vault:
    """Seals with the first key and opens with any, so that a new key can be put in front of an old one.

    `reread` returns the keys as they are now, where they may change while a process runs: it is asked before sealing,
    and when nothing opens a secret.
    """

    def __init__(self, keys: Sequence[bytes] = (), reread: Callable[[], Sequence[bytes]] | None = None) -> None:
        self._keys = tuple(keys)
        self._reread = reread

    def __repr__(self) -> str:
        return f"Vault({len(self._keys)} keys)"

    @property
    def has_key(self) -> bool:
        """Whether anything can be sealed or opened."""
        return bool(self._keys)

    @property
    def fingerprints(self) -> list[str]:
        """What tells our keys apart, the newest first; it opens nothing."""
        return [fingerprint(key) for key in self._keys]

    def refresh(self) -> None:
        """Take the keys as they are now; keep ours where they cannot be read."""
        if self._reread:
            with suppress(ConfigInvalid):
                self._keys = tuple(self._reread())

    def opens(self, sealed: bytes, place: tuple[str, ...]) -> bool:
        """Whether one of our keys sealed this secret for this place."""
        return self.which_opens(sealed, place) is not None

    def which_opens(self, sealed: bytes, place: tuple[str, ...]) -> int | None:
        """Return the number of the key that sealed this secret for this place, from 0; None if it is none of ours."""
        found = self._try(sealed, place)
        return found[0] if found else None

    def seal(self, secret: str, place: tuple[str, ...]) -> bytes:
        """Make a secret fit to be stored at its place; refuse when there is no key."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 – few use secrets

        self.refresh()
        if not self._keys:
            raise ConfigInvalid(f"no secret can be stored without a key: set TIDINGS_SECRET_KEY to {_HOW}")
        nonce = os.urandom(_NONCE_BYTES)
        return _FORM + nonce + AESGCM(self._keys[0]).encrypt(nonce, secret.encode(), length_prefixed(place))

    def open(self, sealed: bytes, place: tuple[str, ...]) -> str:
        """Read a sealed secret; refuse when no key of ours sealed it, or not for this place."""
        if found := self._try(sealed, place):
            return found[1]
        raise ConfigInvalid("the stored secret cannot be opened: set TIDINGS_SECRET_KEY to the key it was stored with")

    def _try(self, sealed: bytes, place: tuple[str, ...]) -> tuple[int, str] | None:
        """Return what a secret says and the number of its key, with the keys as they are now if ours do not do."""
        found = self._opened(sealed, place)
        if found is None and self._reread:
            self.refresh()
            found = self._opened(sealed, place)
        return found

    def _opened(self, sealed: bytes, place: tuple[str, ...]) -> tuple[int, str] | None:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        nonce, text = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        for number, key in enumerate(self._keys if sealed.startswith(_FORM) else ()):
            try:
                return number, AESGCM(key).decrypt(nonce, text, length_prefixed(place)).decode()
            except (InvalidTag, ValueError):
                continue
        return None


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


def keys_kept_in(directory: Path) -> list[bytes]:
    """Return the keys in a directory's own file, made the first time; a second process takes the first one's."""
    path = directory / KEY_FILE
    try:
        if not path.exists():
            _make_key(path)
        keys = read_keys(path.read_text())
    except OSError as error:
        raise ConfigInvalid(f"the key in {path} cannot be used: {error}; set TIDINGS_SECRET_KEY instead") from error
    except (ValueError, ConfigInvalid) as error:
        raise ConfigInvalid(f"{path} holds no key: restore it, or set TIDINGS_SECRET_KEY") from error
    return keys


def add_key(directory: Path) -> None:
    """Put a new key in front of those in a directory's own file."""
    with _alone_in(directory):
        _write_keys(directory / KEY_FILE, [os.urandom(KEY_BYTES), *keys_kept_in(directory)])


def drop_keys(directory: Path, is_used: Callable[[bytes], bool]) -> int:
    """Drop the keys of a directory's own file that are not used, never the newest; return how many."""
    with _alone_in(directory):
        newest, *old = keys_kept_in(directory)
        kept = [key for key in old if is_used(key)]
        if len(kept) < len(old):
            _write_keys(directory / KEY_FILE, [newest, *kept])
        return len(old) - len(kept)


def fingerprint(key: bytes) -> str:
    """Return what tells a key apart from others: the start of its hash, which opens nothing."""
    return sha256(key).hexdigest()[:8]


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Change a key file alone: of two rotations at once, one would lose the other's key."""
    import fcntl  # noqa: PLC0415 – the embedded server, whose file it is, needs a POSIX system

    descriptor = os.open(directory / f"{KEY_FILE}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write_keys(path: Path, keys: Sequence[bytes]) -> None:
    draft = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b",".join(map(b64encode, keys)) + b"\n")
        file.flush()
        os.fsync(descriptor)
    draft.rename(path)  # whole or not at all: a process may read it at any moment


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
