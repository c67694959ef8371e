"""Which workspaces a setting names: `acme/eu` is one, `acme/*` all of a tenant, `*/*` all there are."""

from collections.abc import Iterable
from dataclasses import dataclass

from tidings.domain.flow.ids import Workspace

EVERY = "*"


@dataclass(frozen=True, slots=True)
class WorkspacePatterns:
    """Pairs of a tenant and a workspace, each a name or `*`."""

    pairs: frozenset[tuple[str, str]] = frozenset()

    def include(self, workspace: Workspace) -> bool:
        """Whether a workspace is named, by itself or with all of its tenant."""
        tenants, names = (workspace.tenant, EVERY), (workspace.name, EVERY)
        return any((tenant, name) in self.pairs for tenant in tenants for name in names)


def workspace_patterns(given: Iterable[str]) -> WorkspacePatterns:
    """Read patterns; raise ValueError with the one that is none."""
    pairs = set()
    for one in given:
        tenant, slash, name = one.strip().partition("/")
        if not (slash and tenant and name) or (tenant == EVERY and name != EVERY):
            raise ValueError(one)
        pairs.add((tenant, name))
    return WorkspacePatterns(frozenset(pairs))
