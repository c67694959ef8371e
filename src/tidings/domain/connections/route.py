"""The ways out for a channel of a workspace: its connections in the order in which they are tried, or one provider."""

from collections.abc import Sequence
from dataclasses import dataclass

from tidings.domain.connections.connection import WorkspaceConnection, in_order
from tidings.domain.connections.vendors import Vendors


@dataclass(frozen=True, slots=True)
class SendingRoute:
    """Where a workspace has connections, these; else the provider that serves the channel in every workspace."""

    only: str | None
    connections: Sequence[WorkspaceConnection] = ()
    vendors: Vendors | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether recipients differ in what they are tried through first: by weights, or by what can reach them."""
        if len(self.connections) < 2:
            return False
        first = min(one.position for one in self.connections)
        kinds = self.vendors.kinds if self.vendors else {}
        choosy = any((kind := kinds.get(one.kind)) and kind.accepts for one in self.connections)
        return choosy or sum(one.position == first for one in self.connections) > 1

    def first(self, recipient: str) -> str:
        """Return the provider that a recipient is tried through first."""
        return self.only or self.order(recipient)[0]

    def order(self, recipient: str) -> list[str]:
        """Return the providers that a recipient may be tried through, in their order; never none."""
        if self.only:
            return [self.only]
        ordered = in_order(self.connections, recipient)
        vendors = self.vendors or Vendors()
        # Where none can reach it, the first says why.
        fitting = [one for one in ordered if vendors.accepts(one, recipient)] or ordered[:1]
        return [one.provider for one in fitting]
