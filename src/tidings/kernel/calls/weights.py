"""How much of what is scarce each tenant and workspace gets beside others, as this process knows.

The tables `tenants` and `workspaces` hold what the operator has set; everybody else has the weight 1.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

STALE_AFTER = timedelta(seconds=2)


class Weights:
    """The weights that are not 1, by the halves and the whole of workspaces' hashes."""

    def __init__(self) -> None:
        self._tenants: Mapping[int, int] = {}
        self._workspaces: Mapping[int, int] = {}
        self._read_at: datetime | None = None

    def is_stale(self, now: datetime) -> bool:
        """Whether it is time to read them again; a clock that was set back must not stop that."""
        return self._read_at is None or not timedelta() <= now - self._read_at < STALE_AFTER

    def update(self, tenants: Mapping[int, int], workspaces: Mapping[int, int], now: datetime) -> None:
        """Take over what was read."""
        self._tenants, self._workspaces, self._read_at = tenants, workspaces, now

    def of_tenant(self, tenant: int) -> int:
        """The weight of a tenant beside other tenants."""
        return self._tenants.get(tenant, 1)

    def of_workspace(self, workspace: int) -> int:
        """The weight of a workspace beside others of its tenant."""
        return self._workspaces.get(workspace, 1)
