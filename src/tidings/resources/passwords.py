"""Passwords as they are stored: argon2id, few at a time and never on the event loop.

Every comparison computes one hash, whether or not there is anything to compare with: how long it takes, and how much
work it is, tells nobody whether a person exists.
"""

import asyncio
import secrets
from base64 import b64encode
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argon2 import PasswordHasher

ITERATIONS = 3
MEMORY_KIB = 65_536
LANES = 1
AT_ONCE = 2
"""How many are hashed at once in one process: each takes a processor and 64 MiB for about a tenth of a second."""


class Passwords:
    """Hashes and compares passwords."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def hash(self, password: str) -> str:
        """Return what to store of a password."""
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def is_right(self, stored: str | None, password: str) -> bool:
        """Whether a password is the stored one; without one it never is, after as much work."""
        async with self._turns:
            found = await asyncio.to_thread(self._verify, stored or self._nobodys, password)
        return found and stored is not None

    def is_outdated(self, stored: str) -> bool:
        """Whether passwords are hashed in another way by now."""
        return self._hasher.check_needs_rehash(stored)

    def _verify(self, stored: str, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415 – of the extra `server`

        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    @cached_property
    def _hasher(self) -> "PasswordHasher":
        from argon2 import PasswordHasher  # noqa: PLC0415 – likewise

        return PasswordHasher(time_cost=ITERATIONS, memory_cost=MEMORY_KIB, parallelism=LANES)

    @cached_property
    def _nobodys(self) -> str:
        """In the form of a stored password, and of none: comparing with it costs as much."""
        salt, digest = (b64encode(secrets.token_bytes(length)).decode().rstrip("=") for length in (16, 32))
        return f"$argon2id$v=19$m={MEMORY_KIB},t={ITERATIONS},p={LANES}${salt}${digest}"
