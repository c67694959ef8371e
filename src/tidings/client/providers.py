"""`client.providers`: what may be called, by whom, and what rests."""

from collections.abc import AsyncIterator

from tidings.client.answers import Provider
from tidings.client.pages import pages
from tidings.client.transport import Transport

PATH = "/v1/providers"


class Providers:
    """Who holds how many of a provider's slots."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncIterator[Provider]:
        """Every provider, the same for all workspaces; only for an administrator of the system."""
        return pages(self._transport, PATH, {}, Provider)
