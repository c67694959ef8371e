"""`client.keys`: the keys of the API."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to, read
from tidings.views.keys import ApiKey, CreatedKey

PATH = "/v1/api-keys"


class NewKey(Struct, frozen=True, kw_only=True):
    """A new key and its secret, which is shown only this once."""

    key: ApiKey
    secret: str


class Keys:
    """Creates, lists and revokes API keys."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self,
        name: str,
        role: str,
        *,
        tenant: str | None = None,
        workspace: str | None = None,
        expires_at: datetime | None = None,
        workflows: Sequence[str] | None = None,
        origins: Sequence[str] | None = None,
    ) -> NewKey:
        """Create a key and return it; its secret is in no other answer. Only an operator names another tenant."""
        given: dict[str, object] = {
            "name": name,
            "role": role,
            "tenant": tenant,
            "workspace": workspace,
            "expiresAt": expires_at,
        }
        given |= {"workflows": workflows, "origins": origins}
        body = {key: value for key, value in given.items() if value is not None}
        answer = await self._transport.send(ApiRequest("POST", PATH, body, repeatable=False))
        return NewKey(key=read(answer, ApiKey), secret=read(answer, CreatedKey).secret)

    def list(
        self, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[ApiKey]:
        """Yield every key, without its secret."""
        return pages(self._transport, PATH, {"limit": page_size}, ApiKey, created_after, created_before)

    async def revoke(self, id: UUID | str) -> None:
        """Revoke a key."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id)))
