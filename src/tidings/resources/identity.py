"""Who is behind a request: a key or a person, in one form for whatever is decided about either."""

from dataclasses import dataclass
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role


@dataclass(frozen=True, slots=True)
class Identity:
    """A key, or a person in one of their workspaces: the roles there, and the name that the audit log has."""

    workspace: Workspace
    roles: frozenset[Role]
    id: UUID
    """Of the key or the person, whose requests and streams are counted together."""
    actor: str
    workflows: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()

    @property
    def is_publishable(self) -> bool:
        """Return whether everybody may have this key, so that it opens only what it started itself."""
        return Role.PUBLISHABLE in self.roles

    @property
    def named_roles(self) -> str:
        """Return the roles as a message says them."""
        return ", ".join(sorted(self.roles)) or "none"

    @property
    def caller(self) -> Caller:
        """Return the caller as the audit log records it."""
        return Caller(self.workspace, self.actor)
