"""`client.simulate`: what would happen, before it does."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.simulations import Simulation

LONGEST_SECONDS = 120.0
"""The server stops a simulation after a minute, and also starts and removes a database for it."""


class Simulations:
    """Runs the next days of something with the real engine on a scratch database of the server; nothing is sent.

    The arguments are those of the API: `days`, `contacts`, `sample`, `seed`, `messages_of`, `start`, `time_zone`.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def workflow(self, id: UUID | str, **asked: Any) -> Simulation:
        """Return what a workflow would do; also takes `data` (a list), `results` and `definition`."""
        return await self._simulate("/v1/workflows", id, asked)

    async def sequence(self, id: UUID | str, **asked: Any) -> Simulation:
        """Return what a sequence would do for contacts enrolled now: its draft, or with `published` that version."""
        return await self._simulate("/v1/sequences", id, asked)

    async def campaign(self, id: UUID | str, **asked: Any) -> Simulation:
        """Return what a campaign would do if it were deployed now, or with `scheduled_for` for then."""
        return await self._simulate("/v1/campaigns", id, asked)

    async def _simulate(self, path: str, id: UUID | str, asked: Mapping[str, Any]) -> Simulation:
        request = ApiRequest("POST", path_to(path, id, "simulate"), asked, timeout=LONGEST_SECONDS)
        return await self._transport.ask(request, Simulation)
