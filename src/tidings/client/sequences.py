"""`client.sequences`: a series of messages to a contact, written step by step and published."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.pages import Everything
from tidings.views.previews import Preview
from tidings.views.sequences import Funnel, PublishedVersion, Step
from tidings.views.sequences import Sequence as ShownSequence
from tidings.views.workflows import Validated

PATH = "/v1/sequences"
Fields = Mapping[str, Any]
Choice = Literal["leave", "move"]


class Sequences:
    """Writes, publishes, pauses and looks up sequences."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, name: str, steps: Sequence[Fields] = (), **settings: Any) -> ShownSequence:
        """Create a draft and return it; raise Conflict if the name is taken."""
        body = {"name": name, "steps": list(steps), **settings}
        return await self._transport.ask(ApiRequest("POST", PATH, body, repeatable=False), ShownSequence)

    async def check(self, steps: Sequence[Fields] = (), **settings: Any) -> Validated:
        """Return every problem that publishing these settings and steps would meet; nothing is stored."""
        body = {"steps": list(steps), **settings}
        return await self._transport.ask(ApiRequest("POST", f"{PATH}/validate", body), Validated)

    async def preview(
        self,
        id: UUID | str,
        data: Mapping[str, Any] | None = None,
        *,
        part: str | None = None,
        contact_id: UUID | str | None = None,
    ) -> Sequence[Preview]:
        """Return what its messages would say, or one of them: a step by its order."""
        given = {"data": data, "part": part, "contactId": str(contact_id) if contact_id else None}
        body = {name: value for name, value in given.items() if value is not None}
        found = await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "preview"), body), Everything[Preview])
        return found.items

    async def funnel(self, id: UUID | str, *, since: datetime | None = None) -> Funnel:
        """Return how many wait before each step, what became of its messages, and how many ended there."""
        query = {"since": since.isoformat() if since else None}
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id, "funnel"), query=query), Funnel)

    async def get(self, id: UUID | str) -> ShownSequence:
        """Return one sequence, with the contacts on their way."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), ShownSequence)

    async def find(self, name: str) -> ShownSequence | None:
        """Return the sequence of this name, or None."""
        async for sequence in self.list(name=name):
            return sequence
        return None

    def list(
        self,
        *,
        name: str | None = None,
        status: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[ShownSequence]:
        """Yield every sequence; each page is fetched as the iterator needs it."""
        return pages(
            self._transport,
            PATH,
            {"name": name, "status": status, "limit": page_size},
            ShownSequence,
            created_after,
            created_before,
        )

    async def update(self, id: UUID | str, **fields: Any) -> ShownSequence:
        """Change the name or the settings of the draft, and return the sequence."""
        return await self._transport.ask(ApiRequest("PATCH", path_to(PATH, id), fields), ShownSequence)

    async def publish(self, id: UUID | str, in_flight: Choice | None = None) -> ShownSequence:
        """Publish the draft; `in_flight` says what becomes of contacts on their way, and Conflict asks for it."""
        return await self.update(id, status="active", **({"in_flight": in_flight} if in_flight else {}))

    async def pause(self, id: UUID | str) -> ShownSequence:
        """Stop sending for a sequence until it is resumed."""
        return await self.update(id, status="paused")

    async def resume(self, id: UUID | str) -> ShownSequence:
        """Let a paused sequence go on."""
        return await self.update(id, status="active")

    async def delete(self, id: UUID | str) -> None:
        """Remove a sequence; raise Conflict while a contact is on the way through it."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id), repeatable=False))

    async def versions(self, id: UUID | str) -> Sequence[PublishedVersion]:
        """Return everything that was ever published, newest first."""
        request = ApiRequest("GET", path_to(PATH, id, "versions"))
        return (await self._transport.ask(request, Everything[PublishedVersion])).items

    async def add_step(self, id: UUID | str, **fields: Any) -> Step:
        """Add a step to the draft and return it; it is the last one unless `step_order` is given."""
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "steps"), fields, repeatable=False), Step)

    async def update_step(self, id: UUID | str, step_id: UUID | str, **fields: Any) -> Step:
        """Change the given fields and return the step; None clears an optional field."""
        return await self._transport.ask(
            ApiRequest("PATCH", path_to(path_to(PATH, id, "steps"), step_id), fields), Step
        )

    async def delete_step(self, id: UUID | str, step_id: UUID | str) -> None:
        """Remove a step from the draft."""
        await self._transport.send(ApiRequest("DELETE", path_to(path_to(PATH, id, "steps"), step_id), repeatable=False))
