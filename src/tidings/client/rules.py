"""`client.rules`: what is sent when something happens."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from tidings.client.pages import Time, pages
from tidings.client.transport import Request, Transport, path_to
from tidings.views.rules import Rule

PATH = "/v1/rules"
Steps = Sequence[Mapping[str, Any]]


class Rules:
    """Create, change and look up rules."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, trigger: str, channel: str, audience: str, steps: Steps, *, enabled: bool = True) -> Rule:
        """A new rule; Conflict when there is one for this trigger, channel and audience."""
        body = {"trigger": trigger, "channel": channel, "audience": audience, "enabled": enabled, "steps": steps}
        return await self._transport.ask(Request("POST", PATH, body, repeatable=False), Rule)

    async def get(self, id: UUID | str) -> Rule:
        """One rule."""
        return await self._transport.ask(Request("GET", path_to(PATH, id)), Rule)

    def list(
        self,
        *,
        trigger: str | None = None,
        channel: str | None = None,
        audience: str | None = None,
        enabled: bool | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Rule]:
        """Rules, newest first, page by page as the iterator is used."""
        query = {"trigger": trigger, "channel": channel, "audience": audience, "enabled": enabled, "limit": page_size}
        return pages(self._transport, PATH, query, Rule, created_after, created_before)

    async def update(self, id: UUID | str, rule: Mapping[str, Any]) -> Rule:
        """The rule with all of it as given; what was read may be changed and given back."""
        return await self._transport.ask(Request("PUT", path_to(PATH, id), rule), Rule)

    async def enable(self, id: UUID | str) -> Rule:
        """Let it send."""
        return await self._transport.ask(Request("POST", path_to(PATH, id, "enable")), Rule)

    async def disable(self, id: UUID | str) -> Rule:
        """Suppress its channel for its audience."""
        return await self._transport.ask(Request("POST", path_to(PATH, id, "disable")), Rule)

    async def delete(self, id: UUID | str) -> None:
        """Remove a rule; where a fallback is registered, that is called from now on."""
        await self._transport.send(Request("DELETE", path_to(PATH, id), repeatable=False))
