"""`client.overview`: what happens in the workspace just now."""

from tidings.client.transport import ApiRequest, Transport
from tidings.views.overview import Overview

PATH = "/v1/overview"


class OverviewClient:
    """Looks at what happens just now."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, *, minutes: int = 60) -> Overview:
        """Return what happens just now, with the calls of the last minutes; at most two seconds old."""
        return await self._transport.ask(ApiRequest("GET", f"{PATH}?minutes={minutes}"), Overview)
