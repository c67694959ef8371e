"""A connection: a provider that a workspace set up under a name of its own, and where it stands among others.

Items, rests, shares and doubt know a connection by one name, KIND/ID, which stays when it is renamed. Connections of a
channel are tried by position; those with the same position share the recipients by weight, and a recipient keeps the
one that it got.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import log
from uuid import UUID

import msgspec

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import Value
from tidings.domain.connections.limits import SendingLimits
from tidings.domain.flow.ids import Workspace

_ID_LENGTH = 36


class WorkspaceConnection(msgspec.Struct, frozen=True):
    """A connection as it is stored; a removed one is kept, without its credentials, for the items that name it."""

    id: UUID
    workspace: Workspace
    name: str
    channel: Channel
    kind: str
    settings: Mapping[str, Value]
    credential_names: Sequence[str]
    limits: SendingLimits
    position: int
    weight: int
    is_sticky: bool
    is_enabled: bool
    is_removed: bool
    version: int

    @property
    def provider(self) -> str:
        """The name of its provider, as items store it."""
        return provider_name(self.kind, self.id)

    @property
    def is_usable(self) -> bool:
        """Whether anything may leave through it."""
        return self.is_enabled and not self.is_removed


def provider_name(kind: str, id: UUID) -> str:
    """Return the name under which items, rests and shares know a connection."""
    return f"{kind}/{id}"


def connection_id(provider: str) -> UUID | None:
    """Return the id of the connection that a provider's name stands for; None for a provider that is none."""
    kind, slash, id = provider.partition("/")
    if not slash or not kind or len(id) != _ID_LENGTH:
        return None
    try:
        return UUID(id)
    except ValueError:
        return None


def in_order(connections: Iterable[WorkspaceConnection], recipient: str) -> list[WorkspaceConnection]:
    """Return connections in the order in which a recipient is tried through them."""
    return sorted(connections, key=lambda one: (one.position, _lot(one, recipient), one.id))


def _lot(connection: WorkspaceConnection, recipient: str) -> float:
    """Draw a recipient's lot for a connection: the smallest wins, and each wins as often as its weight says.

    The draw depends on these two alone, so that adding or removing another connection moves nobody between the rest.
    """
    digest = sha256(f"{connection.id}\n{recipient}".encode()).digest()
    chance = (int.from_bytes(digest[:7], "big") + 1) / (2**56 + 1)
    return -log(chance) / connection.weight
