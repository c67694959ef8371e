"""`client.providers`: what may be called, by whom, and what rests; `client.workers`: who is there to call."""

from collections.abc import AsyncIterator

from tidings.client.pages import pages
from tidings.client.transport import Transport
from tidings.views.providers import LiveWorker, ProviderStatus

PATH = "/v1/providers"
WORKERS = "/v1/workers"


class Providers:
    """Who holds how many of a provider's slots."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncIterator[ProviderStatus]:
        """Every provider, the same for all workspaces; only for an administrator of the system."""
        return pages(self._transport, PATH, {}, ProviderStatus)


class Workers:
    """The workers that live."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncIterator[LiveWorker]:
        """All of them, the longest at work first; only for an administrator of the system."""
        return pages(self._transport, WORKERS, {}, LiveWorker)
