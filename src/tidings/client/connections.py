"""`client.connections`: what a workspace sends through."""

from collections.abc import AsyncIterator, Mapping
from uuid import UUID

from tidings.client.pages import pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.connections import ConnectionTest, ProviderConnection, ProviderKindView

PATH = "/v1/connections"
KINDS = "/v1/provider-kinds"


class WorkspaceConnections:
    """Adds, changes and removes connections; credentials are written and never read."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def kinds(self) -> AsyncIterator[ProviderKindView]:
        """Yield what can be connected."""
        return pages(self._transport, KINDS, {}, ProviderKindView)

    def list(self) -> AsyncIterator[ProviderConnection]:
        """Yield the connections by channel, in the order in which they are tried."""
        return pages(self._transport, PATH, {}, ProviderConnection)

    async def get(self, id: UUID | str) -> ProviderConnection:
        """Return one connection."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), ProviderConnection)

    async def create(self, connection: Mapping[str, object]) -> ProviderConnection:
        """Add a connection."""
        request = ApiRequest("POST", PATH, dict(connection), repeatable=False)
        return await self._transport.ask(request, ProviderConnection)

    async def update(self, id: UUID | str, changes: Mapping[str, object]) -> ProviderConnection:
        """Change what is given."""
        return await self._transport.ask(ApiRequest("PATCH", path_to(PATH, id), dict(changes)), ProviderConnection)

    async def delete(self, id: UUID | str) -> None:
        """Take a connection out of use for good."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id)))

    async def enable(self, id: UUID | str) -> ProviderConnection:
        """Use a connection again."""
        return await self._act(id, "enable")

    async def disable(self, id: UUID | str) -> ProviderConnection:
        """Let nothing more leave through a connection."""
        return await self._act(id, "disable")

    async def reset(self, id: UUID | str) -> ProviderConnection:
        """Let a connection that is left alone be called again at once."""
        return await self._act(id, "reset")

    async def test(
        self, id: UUID | str, to: str, content: Mapping[str, object] | None = None, *, wait_seconds: float = 10
    ) -> ConnectionTest:
        """Send one real message; return what became of it and what was said."""
        body = {"to": to, "waitSeconds": wait_seconds} | ({} if content is None else {"content": dict(content)})
        request = ApiRequest("POST", path_to(PATH, id, "test"), body, repeatable=False)
        return await self._transport.ask(request, ConnectionTest)

    async def _act(self, id: UUID | str, verb: str) -> ProviderConnection:
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, verb)), ProviderConnection)
