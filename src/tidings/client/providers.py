"""`client.providers`: which providers there are, who calls them, and which rest; `client.workers`: the live workers."""

from collections.abc import AsyncIterator

from tidings.client.pages import pages
from tidings.client.transport import Transport
from tidings.views.providers import LiveWorker, ProviderStatus

PATH = "/v1/providers"
WORKERS = "/v1/workers"


class Providers:
    """Lists providers and how many of their slots each worker holds."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncIterator[ProviderStatus]:
        """Yield the providers of the workspace's channels and whether each is ready; for an operator every provider."""
        return pages(self._transport, PATH, {}, ProviderStatus)


class Workers:
    """Lists the live workers."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncIterator[LiveWorker]:
        """Yield the live workers, the longest at work first; where they run only for an operator."""
        return pages(self._transport, WORKERS, {}, LiveWorker)
