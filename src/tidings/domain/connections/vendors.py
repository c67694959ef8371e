"""The kinds of providers that workspaces can connect to, and what holds for all that are made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from tidings.domain.connections.connection import WorkspaceConnection
from tidings.domain.connections.kind import ConnectionSettings, ProviderKind
from tidings.domain.flow.provider import Provider
from tidings.domain.private_addresses import FindPrivateAddresses, no_private_addresses

CALLS_AT_ONCE = 10
"""Of one process through a connection whose limits say nothing else."""


@dataclass(frozen=True, slots=True)
class Vendors:
    """The kinds by name; none in a process that only looks."""

    kinds: Mapping[str, ProviderKind] = field(default_factory=dict)
    call_deadline: timedelta = timedelta(seconds=30)
    private_addresses: FindPrivateAddresses = no_private_addresses

    def make(self, connection: WorkspaceConnection, credentials: Mapping[str, str]) -> Provider:
        """Make the provider of a connection; raise what its kind raises for values that it cannot use."""
        kind = self.kinds[connection.kind]
        return kind.build(
            ConnectionSettings(
                connection.provider,
                connection.channel,
                kind.filled({**connection.settings, **credentials}),
                call_deadline=self.call_deadline,
                concurrency=connection.limits.concurrency or CALLS_AT_ONCE,
                private_addresses=self.private_addresses,
            )
        )

    def accepts(self, connection: WorkspaceConnection, recipient: str) -> bool:
        """Whether a recipient can be reached through a connection at all."""
        kind = self.kinds.get(connection.kind)
        return kind is None or kind.accepts is None or kind.accepts(recipient)
