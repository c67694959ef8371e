"""`client.rules`: what is sent when something happens."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.pages import Everything
from tidings.views.previews import Preview
from tidings.views.rules import Rule, RuleMatrix
from tidings.views.workflows import Validated

PATH = "/v1/rules"
Steps = Sequence[Mapping[str, Any]]


class Rules:
    """Creates, changes and looks up rules."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, trigger: str, channel: str, audience: str, steps: Steps, *, enabled: bool = True) -> Rule:
        """Create a rule and return it; raise Conflict if one exists for this trigger, channel and audience."""
        body = {"trigger": trigger, "channel": channel, "audience": audience, "enabled": enabled, "steps": steps}
        return await self._transport.ask(ApiRequest("POST", PATH, body, repeatable=False), Rule)

    async def matrix(self, *, cursor: str | None = None, limit: int = 50) -> RuleMatrix:
        """Return what becomes of each trigger over each channel for each audience; the next page by `next_cursor`."""
        request = ApiRequest("GET", f"{PATH}/matrix", query={"cursor": cursor, "limit": limit})
        return await self._transport.ask(request, RuleMatrix)

    async def check(self, given: Mapping[str, Any]) -> Validated:
        """Return every problem of a rule and the names that it may use; nothing is stored."""
        return await self._transport.ask(ApiRequest("POST", f"{PATH}/validate", given), Validated)

    async def preview(
        self, id: UUID | str, data: Mapping[str, Any] | None = None, *, part: str | None = None
    ) -> Sequence[Preview]:
        """Return what its messages would say, or one of them: a step by its order."""
        given = {"data": data, "part": part}
        body = {name: value for name, value in given.items() if value is not None}
        found = await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "preview"), body), Everything[Preview])
        return found.items

    async def get(self, id: UUID | str) -> Rule:
        """Return one rule."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), Rule)

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
        """Yield rules, newest first; each page is fetched as the iterator needs it."""
        query = {"trigger": trigger, "channel": channel, "audience": audience, "enabled": enabled, "limit": page_size}
        return pages(self._transport, PATH, query, Rule, created_after, created_before)

    async def update(self, id: UUID | str, rule: Mapping[str, Any]) -> Rule:
        """Replace a rule and return it; a rule that was read can be changed and sent back."""
        return await self._transport.ask(ApiRequest("PUT", path_to(PATH, id), rule), Rule)

    async def enable(self, id: UUID | str) -> Rule:
        """Let a rule send."""
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "enable")), Rule)

    async def disable(self, id: UUID | str) -> Rule:
        """Suppress a rule's channel for its audience."""
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "disable")), Rule)

    async def delete(self, id: UUID | str) -> None:
        """Remove a rule; where a fallback is registered, that is called from now on."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id), repeatable=False))
