"""`client.simulate`: what would happen, before it does."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tidings.client.transport import Request, Transport, path_to
from tidings.views.lacks import Lack

LONGEST_SECONDS = 120.0
"""The server stops a simulation after a minute, and starts and removes a database beside."""


class SimulatedStep(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a step comes to over the whole time."""

    step: str
    label: str
    channel: str
    sent: int
    skipped: int
    failed: int
    waiting: int
    first_at: datetime | None = None
    last_at: datetime | None = None


class SimulatedHour(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many messages of a step leave within one hour of one day."""

    day: date
    hour: int
    step: str
    channel: str
    count: int


class SimulatedReason(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why messages of a step do not leave, and how many."""

    step: str
    reason: str
    count: int


class SimulatedMessage(Struct, frozen=True, kw_only=True, rename="camel"):
    """One message as it would be."""

    step: str
    channel: str
    recipient: str
    payload: Mapping[str, str]
    status: str
    at: datetime
    contact_id: UUID | None = None
    reason: str | None = None


class Simulation(Struct, frozen=True, kw_only=True, rename="camel"):
    """What would happen."""

    kind: str
    name: str
    start: datetime
    end: datetime
    reached: datetime
    complete: bool
    contacts: int
    started: int
    ended: Mapping[str, int]
    sent: int
    skipped: int
    failed: int
    waiting: int
    steps: list[SimulatedStep]
    calendar: list[SimulatedHour]
    skipped_because: list[SimulatedReason]
    failed_because: list[SimulatedReason]
    messages: list[SimulatedMessage]
    missing: list[Lack] = []
    version: int | None = None
    audience: int | None = None
    time_zone: str = "UTC"
    seconds: float = 0.0


class Simulations:
    """Run the next days of something with the real engine on a scratch database of the server's; nothing leaves.

    What is asked is as the API has it: `days`, `contacts`, `sample`, `seed`, `messages_of`, `start`, `time_zone`.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def workflow(self, id: UUID | str, **asked: Any) -> Simulation:
        """What a workflow would do; also takes `data` (a list), `results` and `definition`."""
        return await self._simulate("/v1/workflows", id, asked)

    async def sequence(self, id: UUID | str, **asked: Any) -> Simulation:
        """What a sequence would do for contacts enrolled now: its draft, or with `published` what is published."""
        return await self._simulate("/v1/sequences", id, asked)

    async def campaign(self, id: UUID | str, **asked: Any) -> Simulation:
        """What a campaign would do if it were deployed now, or with `scheduled_for` for then."""
        return await self._simulate("/v1/campaigns", id, asked)

    async def _simulate(self, path: str, id: UUID | str, asked: Mapping[str, Any]) -> Simulation:
        request = Request("POST", path_to(path, id, "simulate"), asked, timeout=LONGEST_SECONDS)
        return await self._transport.ask(request, Simulation)
