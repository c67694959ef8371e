"""`client.senders`: whom messages are from."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.senders import NamedSender

PATH = "/v1/senders"


class SendersClient:
    """Adds and changes senders; each is named by its id or its name."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, name: str, **fields: Any) -> NamedSender:
        """Add a sender and return it."""
        return await self._transport.ask(
            ApiRequest("POST", PATH, {"name": name, **fields}, repeatable=False), NamedSender
        )

    async def get(self, sender: UUID | str) -> NamedSender:
        """Return one sender."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, sender)), NamedSender)

    def list(
        self, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[NamedSender]:
        """Yield senders, newest first."""
        return pages(self._transport, PATH, {"limit": page_size}, NamedSender, created_after, created_before)

    async def update(self, sender: UUID | str, **fields: Any) -> NamedSender:
        """Change the given fields of a sender and return it; null removes one."""
        return await self._transport.ask(ApiRequest("PUT", path_to(PATH, sender), fields), NamedSender)

    async def delete(self, sender: UUID | str) -> None:
        """Remove a sender that nothing names."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, sender), repeatable=False))
