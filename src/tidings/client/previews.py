"""`client.previews` and `client.audiences`: look at what is being written, before it is stored."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from tidings.client.transport import ApiRequest, Transport
from tidings.views.campaigns import CountedAudience
from tidings.views.pages import Everything
from tidings.views.previews import Preview

Fields = Mapping[str, Any]


class Previews:
    """Shows what messages would say that are stored nowhere."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def content(
        self,
        channel: str,
        content: Fields,
        data: Fields | None = None,
        *,
        to: str | Sequence[str] | None = None,
        contact_id: UUID | str | None = None,
    ) -> Preview:
        """Return what one message over a channel would say."""
        [shown] = await self._ask({"channel": channel, "content": content, "to": to}, data, contact_id)
        return shown

    async def definition(
        self,
        definition: Fields,
        data: Fields | None = None,
        *,
        part: str | None = None,
        contact_id: UUID | str | None = None,
    ) -> Sequence[Preview]:
        """Return what the nodes of a definition, or one of them, would say."""
        return await self._ask({"definition": definition, "part": part}, data, contact_id)

    async def _ask(self, given: Fields, data: Fields | None, contact_id: UUID | str | None) -> Sequence[Preview]:
        body = {**given, "data": data, "contactId": str(contact_id) if contact_id else None}
        return (await self._transport.ask(ApiRequest("POST", "/v1/previews", body), Everything[Preview])).items


class Audiences:
    """Counts audiences that are stored nowhere."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def count(
        self, audience: Fields, *, channel: str | None = None, content: Fields | None = None, sample: int = 5
    ) -> CountedAudience:
        """Count an audience at this moment, and return some of its contacts and the filter in words."""
        body = {"audience": audience, "channel": channel, "content": content, "sample": sample}
        return await self._transport.ask(ApiRequest("POST", "/v1/audiences/count", body), CountedAudience)
