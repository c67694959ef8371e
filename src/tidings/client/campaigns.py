"""`client.campaigns` and `client.segments`: what is said, to whom and when."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tidings.client.pages import Time, pages
from tidings.client.transport import Request, Transport, path_to, read
from tidings.views.campaigns import AudienceCount, Campaign, Preview
from tidings.views.pages import Everything
from tidings.views.runs import Run, StartedRun
from tidings.views.segments import Segment

PATH = "/v1/campaigns"
SEGMENTS = "/v1/segments"
Fields = Mapping[str, Any]


class Deployed(Struct, frozen=True, kw_only=True):
    """A run that was started, or had been under the same key."""

    run: Run
    duplicate: bool
    note: str | None = None
    """What else is to be known: that the answer is a run that was cancelled."""


class Campaigns:
    """Make, try out and deploy campaigns."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, **fields: Any) -> Campaign:
        """A new campaign; nothing is sent before it is deployed."""
        return await self._transport.ask(Request("POST", PATH, fields, repeatable=False), Campaign)

    async def get(self, id: UUID | str) -> Campaign:
        """One campaign."""
        return await self._transport.ask(Request("GET", path_to(PATH, id)), Campaign)

    def list(
        self,
        *,
        name: str | None = None,
        channel: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Campaign]:
        """Campaigns, newest first, page by page as the iterator is used."""
        return pages(
            self._transport,
            PATH,
            {"name": name, "channel": channel, "limit": page_size},
            Campaign,
            created_after,
            created_before,
        )

    async def update(self, id: UUID | str, **fields: Any) -> Campaign:
        """The campaign with what is given changed; runs under way keep what they have."""
        return await self._transport.ask(Request("PATCH", path_to(PATH, id), fields), Campaign)

    async def delete(self, id: UUID | str) -> None:
        """Remove a campaign; its runs go on and stay."""
        await self._transport.send(Request("DELETE", path_to(PATH, id), repeatable=False))

    async def count(self, id: UUID | str) -> AudienceCount:
        """How many a deploy would reach at this moment, and how many not."""
        return await self._transport.ask(Request("GET", path_to(PATH, id, "audience")), AudienceCount)

    async def preview(self, id: UUID | str, contact_id: UUID | str | None = None) -> Preview:
        """What a contact would get; without one, the first of the audience."""
        body = {"contactId": str(contact_id)} if contact_id else {}
        found = await self._transport.ask(Request("POST", path_to(PATH, id, "preview"), body), Everything[Preview])
        return found.items[0]

    async def test(self, id: UUID | str, to: str, contact_id: UUID | str | None = None) -> Run:
        """The run of a test to an address of your own; each call sends one."""
        body = {"to": to, **({"contactId": str(contact_id)} if contact_id else {})}
        return await self._transport.ask(Request("POST", path_to(PATH, id, "test"), body, repeatable=False), Run)

    async def deploy(
        self, id: UUID | str, *, scheduled_for: datetime | None = None, idempotency_key: str | None = None
    ) -> Deployed:
        """A run of the campaign; the same key again gives the same run.

        Without a key, a campaign that has not changed since is deployed once for the same time, so this may be
        repeated as well.
        """
        body: dict[str, Any] = {}
        if scheduled_for is not None:
            body["scheduledFor"] = scheduled_for
        if idempotency_key is not None:
            body["idempotencyKey"] = idempotency_key
        answer = await self._transport.send(Request("POST", path_to(PATH, id, "deploy"), body))
        started = read(answer, StartedRun)
        return Deployed(run=read(answer, Run), duplicate=started.duplicate, note=started.note)


class Segments:
    """Keep audiences under names."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, name: str, audience: Fields) -> Segment:
        """A new segment."""
        body = {"name": name, "audience": audience}
        return await self._transport.ask(Request("POST", SEGMENTS, body, repeatable=False), Segment)

    async def get(self, id: UUID | str) -> Segment:
        """One segment."""
        return await self._transport.ask(Request("GET", path_to(SEGMENTS, id)), Segment)

    def list(
        self, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[Segment]:
        """Segments, newest first."""
        return pages(self._transport, SEGMENTS, {"limit": page_size}, Segment, created_after, created_before)

    async def update(self, id: UUID | str, **fields: Any) -> Segment:
        """The segment with another name or audience."""
        return await self._transport.ask(Request("PATCH", path_to(SEGMENTS, id), fields), Segment)

    async def count(self, id: UUID | str) -> AudienceCount:
        """How many are in it at this moment."""
        return await self._transport.ask(Request("GET", path_to(SEGMENTS, id, "audience")), AudienceCount)

    async def delete(self, id: UUID | str) -> None:
        """Remove a segment that no campaign names."""
        await self._transport.send(Request("DELETE", path_to(SEGMENTS, id), repeatable=False))
