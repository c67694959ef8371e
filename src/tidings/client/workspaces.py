"""`client.workspaces` and `client.tenants`: weights, and the private addresses that may be called."""

from collections.abc import AsyncIterator, Sequence

from tidings.client.pages import pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.workspaces import TenantSettings, WorkspaceSettings

PATH = "/v1/workspaces"
TENANTS = "/v1/tenants"


class Workspaces:
    """Lists workspaces and sets what an operator decides for each."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, tenant: str | None = None) -> AsyncIterator[WorkspaceSettings]:
        """Yield the workspaces of the key's tenant; an operator's key sees those of all, or of the tenant it names."""
        return pages(self._transport, PATH, {"tenant": tenant}, WorkspaceSettings)

    async def get(self, tenant: str, workspace: str) -> WorkspaceSettings:
        """Return the settings of a workspace."""
        return await self._transport.ask(
            ApiRequest("GET", path_to(path_to(PATH, tenant), workspace)), WorkspaceSettings
        )

    async def set(
        self,
        tenant: str,
        workspace: str,
        *,
        weight: int | None = None,
        private_addresses: Sequence[str] | None = None,
        phone_region: str | None = None,
    ) -> WorkspaceSettings:
        """Set what is given, and leave the rest; only with an operator's key. An empty region is none of its own."""
        given = {"weight": weight, "privateAddresses": private_addresses, "phoneRegion": phone_region}
        body = {key: value for key, value in given.items() if value is not None}
        return await self._transport.ask(
            ApiRequest("PATCH", path_to(path_to(PATH, tenant), workspace), body), WorkspaceSettings
        )


class Tenants:
    """Lists tenants and sets their weights; only with an operator's key."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncIterator[TenantSettings]:
        """Yield every tenant."""
        return pages(self._transport, TENANTS, {}, TenantSettings)

    async def set(self, tenant: str, *, weight: int) -> TenantSettings:
        """Set a tenant's weight."""
        return await self._transport.ask(
            ApiRequest("PATCH", path_to(TENANTS, tenant), {"weight": weight}), TenantSettings
        )
