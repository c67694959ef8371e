"""`client.drafts`: workflows as they are being changed, before they are published."""

from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.drafts import Drafted, ListedDraft, Publication

PATH = "/v1/workflows"
Definition = Mapping[str, Any]


class Drafts:
    """Saves, reads and publishes the drafts of workflows."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self, name: str, definition: Definition | None = None, *, description: str | None = None
    ) -> Drafted:
        """Begin a workflow as a draft and return it; raise Conflict if the name is taken."""
        body = {"name": name, "definition": definition or {}, "description": description}
        return await self._transport.ask(ApiRequest("POST", f"{PATH}/drafts", body, repeatable=False), Drafted)

    async def save(
        self, id: UUID | str, definition: Definition, *, base: int | None = None, revision: int | None = None
    ) -> Drafted:
        """Save a draft, valid or not; raise Conflict if it is not at `revision` any more."""
        body = {"definition": definition, "base": base, "revision": revision}
        request = ApiRequest("PUT", path_to(PATH, id, "draft"), body, repeatable=revision is None)
        return await self._transport.ask(request, Drafted)

    async def get(self, id: UUID | str) -> Drafted:
        """Return a workflow's draft with its problems."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id, "draft")), Drafted)

    def list(
        self, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[ListedDraft]:
        """Yield every draft, without its definition; each page is fetched as the iterator needs it."""
        where = {"limit": page_size}
        return pages(self._transport, f"{PATH}/drafts", where, ListedDraft, created_after, created_before)

    async def publish(self, id: UUID | str, *, revision: int | None = None) -> Publication:
        """Make a draft the newest version; raise Conflict if another was published since it was begun."""
        request = ApiRequest("POST", path_to(PATH, id, "draft", "publish"), {"revision": revision}, repeatable=False)
        return await self._transport.ask(request, Publication)

    async def delete(self, id: UUID | str) -> None:
        """Throw a draft away, and a workflow that was never published with it."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id, "draft"), repeatable=False))
