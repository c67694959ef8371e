"""Who is signed in, as one process remembers it for seconds; any change to a person has it ask again."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.resources.identity import Identity
from tidings.views.users import SessionUser

DEFAULT_WORKSPACE = "default"
KNOWN_SECONDS = 5.0
"""How long a process relies on what it has read: a session that was ended in another works here for as long."""
MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person in a browser."""

    session_id: UUID
    tenant: str
    user: SessionUser
    roles: Mapping[str, frozenset[Role]]
    """By workspace."""
    expires_at: datetime

    @property
    def workspace(self) -> str | None:
        """Return the workspace of a request that names none."""
        return DEFAULT_WORKSPACE if DEFAULT_WORKSPACE in self.roles else next(iter(self.roles), None)

    @property
    def actor(self) -> str:
        """Return the person as the audit log records them."""
        return f"user:{self.user.email or self.user.name}"

    def identity(self, workspace: str | None) -> Identity | None:
        """Return the person in one of their workspaces; None in any other."""
        named = workspace or self.workspace
        if named is None or named not in self.roles:
            return None
        return Identity(Workspace(self.tenant, named), self.roles[named], self.user.id, self.actor)


class SessionMemory:
    """The sessions that this process has read a moment ago, by the hash of their token."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[float, SignedIn]] = {}
        self.changes = 0
        """How often people or sessions were changed: what was read before the last time is not remembered."""

    def recall(self, digest: bytes) -> SignedIn | None:
        """Return who was signed in a moment ago."""
        until, found = self._known.get(digest, (0.0, None))
        return found if until > time.monotonic() else None

    def remember(self, digest: bytes, signed_in: SignedIn, *, seconds: float, read_at: int) -> None:
        """Rely on this for a moment, unless something has changed since it was read."""
        if read_at != self.changes:
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[digest] = (time.monotonic() + min(seconds, KNOWN_SECONDS), signed_in)

    def forget(self) -> None:
        """Ask again for everybody."""
        self._known.clear()
        self.changes += 1


def digest_of(token: str) -> bytes:
    """Return what is stored of a session's token or a link."""
    return sha256(token.encode(errors="replace")).digest()
