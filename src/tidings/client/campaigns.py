"""`client.campaigns` and `client.segments`: create, try out and deploy campaigns; name audiences."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to, read
from tidings.views.campaigns import AudienceCount, Campaign
from tidings.views.pages import Everything
from tidings.views.previews import Preview
from tidings.views.runs import Run, StartedRun
from tidings.views.segments import Segment
from tidings.views.workflows import Validated

PATH = "/v1/campaigns"
SEGMENTS = "/v1/segments"
Fields = Mapping[str, Any]


class Deployed(Struct, frozen=True, kw_only=True):
    """A run that was started now, or earlier under the same key."""

    run: Run
    duplicate: bool
    note: str | None = None
    """What the caller should know besides: that this run existed before and was cancelled."""


class Campaigns:
    """Creates, tries out and deploys campaigns."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, **fields: Any) -> Campaign:
        """Create a campaign and return it; nothing is sent before it is deployed."""
        return await self._transport.ask(ApiRequest("POST", PATH, fields, repeatable=False), Campaign)

    async def check(self, **fields: Any) -> Validated:
        """Return every problem of a campaign and the names that it may use; nothing is stored."""
        return await self._transport.ask(ApiRequest("POST", f"{PATH}/validate", fields), Validated)

    async def get(self, id: UUID | str) -> Campaign:
        """Return one campaign."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), Campaign)

    def list(
        self,
        *,
        name: str | None = None,
        channel: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Campaign]:
        """Yield campaigns, newest first; each page is fetched as the iterator needs it."""
        return pages(
            self._transport,
            PATH,
            {"name": name, "channel": channel, "limit": page_size},
            Campaign,
            created_after,
            created_before,
        )

    async def update(self, id: UUID | str, **fields: Any) -> Campaign:
        """Change the given fields and return the campaign; runs under way keep what they have."""
        return await self._transport.ask(ApiRequest("PATCH", path_to(PATH, id), fields), Campaign)

    async def delete(self, id: UUID | str) -> None:
        """Remove a campaign; its runs go on and stay."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id), repeatable=False))

    async def count(self, id: UUID | str) -> AudienceCount:
        """Return how many contacts a deploy would reach at this moment, and how many it would not."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id, "audience")), AudienceCount)

    async def preview(self, id: UUID | str, contact_id: UUID | str | None = None) -> Preview:
        """Return what a contact would receive; without one, the first of the audience."""
        body = {"contactId": str(contact_id)} if contact_id else {}
        found = await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "preview"), body), Everything[Preview])
        return found.items[0]

    async def test(self, id: UUID | str, to: str, contact_id: UUID | str | None = None) -> Run:
        """Send a test to an address of your own and return its run; each call sends one."""
        body = {"to": to, **({"contactId": str(contact_id)} if contact_id else {})}
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "test"), body, repeatable=False), Run)

    async def deploy(
        self, id: UUID | str, *, scheduled_for: datetime | None = None, idempotency_key: str | None = None
    ) -> Deployed:
        """Deploy the campaign and return its run; the same key returns the same run.

        Without a key, an unchanged campaign is deployed once for the same time, so this may be repeated as well.
        """
        body: dict[str, Any] = {}
        if scheduled_for is not None:
            body["scheduledFor"] = scheduled_for
        if idempotency_key is not None:
            body["idempotencyKey"] = idempotency_key
        answer = await self._transport.send(ApiRequest("POST", path_to(PATH, id, "deploy"), body))
        started = read(answer, StartedRun)
        return Deployed(run=read(answer, Run), duplicate=started.duplicate, note=started.note)


class Segments:
    """Creates and changes named audiences."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, name: str, audience: Fields) -> Segment:
        """Create a segment and return it."""
        body = {"name": name, "audience": audience}
        return await self._transport.ask(ApiRequest("POST", SEGMENTS, body, repeatable=False), Segment)

    async def get(self, id: UUID | str) -> Segment:
        """Return one segment."""
        return await self._transport.ask(ApiRequest("GET", path_to(SEGMENTS, id)), Segment)

    def list(
        self, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[Segment]:
        """Yield segments, newest first."""
        return pages(self._transport, SEGMENTS, {"limit": page_size}, Segment, created_after, created_before)

    async def update(self, id: UUID | str, **fields: Any) -> Segment:
        """Change a segment's name or audience and return it."""
        return await self._transport.ask(ApiRequest("PATCH", path_to(SEGMENTS, id), fields), Segment)

    async def count(self, id: UUID | str) -> AudienceCount:
        """Return how many contacts are in a segment at this moment."""
        return await self._transport.ask(ApiRequest("GET", path_to(SEGMENTS, id, "audience")), AudienceCount)

    async def delete(self, id: UUID | str) -> None:
        """Remove a segment that no campaign names."""
        await self._transport.send(ApiRequest("DELETE", path_to(SEGMENTS, id), repeatable=False))
