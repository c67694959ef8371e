"""`client.events`: something happened."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from msgspec.structs import replace

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.events import Decision, Event, Explained

PATH = "/v1/events"
Given = Mapping[str, Any]


class Events:
    """Sends, explains, looks up and cancels events."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(
        self,
        trigger: str,
        *,
        lead: Given | None = None,
        partner: Given | None = None,
        agent: Given | None = None,
        variables: Given | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Send an event; the same key returns the first one.

        Without a key each call sends its own, and still only once, however often the connection breaks.
        """
        # Made before the first attempt, so that a second attempt cannot send another.
        key = str(uuid4()) if idempotency_key is None else idempotency_key
        body = _body(trigger, lead, partner, agent, variables) | {"idempotencyKey": key}
        sent = await self._transport.ask(ApiRequest("POST", PATH, body), Event)
        # Our own new key was never used before: "duplicate" would only mean that our second attempt arrived as well.
        return sent if idempotency_key is not None else replace(sent, duplicate=False)

    async def explain(
        self,
        trigger: str,
        *,
        lead: Given | None = None,
        partner: Given | None = None,
        agent: Given | None = None,
        variables: Given | None = None,
    ) -> Sequence[Decision]:
        """Explain what an event would do, decision by decision; nothing is sent."""
        request = ApiRequest("POST", f"{PATH}/explain", _body(trigger, lead, partner, agent, variables))
        return (await self._transport.ask(request, Explained)).decisions

    async def get(self, id: UUID | str) -> Event:
        """Return one event, and what has become of its items."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), Event)

    def list(
        self,
        *,
        trigger: str | None = None,
        contact_id: UUID | str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Event]:
        """Yield events of a trigger or about a contact, newest first; each page is fetched as the iterator needs it."""
        query = {"trigger": trigger, "contactId": str(contact_id) if contact_id else None, "limit": page_size}
        return pages(self._transport, PATH, query, Event, created_after, created_before)

    async def cancel(self, id: UUID | str) -> Event:
        """Skip what an event has not sent yet; raise Conflict when nothing is left."""
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "cancel"), repeatable=False), Event)

    async def cancel_by_key(self, trigger: str, idempotency_key: str) -> Event:
        """Skip what the event of this key has not sent yet; raise Conflict when nothing is left."""
        body = {"trigger": trigger, "idempotencyKey": idempotency_key}
        return await self._transport.ask(ApiRequest("POST", f"{PATH}/cancel", body, repeatable=False), Event)


def _body(
    trigger: str, lead: Given | None, partner: Given | None, agent: Given | None, variables: Given | None
) -> dict[str, Any]:
    given = {"lead": lead, "partner": partner, "agent": agent, "variables": variables}
    return {"trigger": trigger} | {name: value for name, value in given.items() if value is not None}
