"""`client.users`: the people of a tenant."""

from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import UUID

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.users import User, UserLink

PATH = "/v1/users"
Roles = Mapping[str, Sequence[str]]
"""By workspace, the roles of a person there."""


class UsersClient:
    """Invites, lists, changes and removes the people of a tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def invite(self, email: str, name: str, workspaces: Roles) -> UserLink:
        """Invite somebody; the answer holds a one-time link for you to hand over."""
        body = {"email": email, "name": name, "workspaces": _listed(workspaces)}
        return await self._transport.ask(ApiRequest("POST", PATH, body, repeatable=False), UserLink)

    def list(
        self, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[User]:
        """Yield every person of the tenant."""
        return pages(self._transport, PATH, {"limit": page_size}, User, created_after, created_before)

    async def get(self, id: UUID | str) -> User:
        """Return one person."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), User)

    async def update(
        self,
        id: UUID | str,
        *,
        email: str | None = None,
        name: str | None = None,
        workspaces: Roles | None = None,
        disabled: bool | None = None,
    ) -> User:
        """Change what is given; `workspaces` is the whole list."""
        given: dict[str, object] = {"email": email, "name": name, "disabled": disabled}
        given |= {} if workspaces is None else {"workspaces": _listed(workspaces)}
        body = {key: one for key, one in given.items() if one is not None}
        return await self._transport.ask(ApiRequest("PATCH", path_to(PATH, id), body), User)

    async def link(self, id: UUID | str) -> UserLink:
        """Make a one-time link in place of the one before."""
        path = f"{path_to(PATH, id)}/link"
        return await self._transport.ask(ApiRequest("POST", path, repeatable=False), UserLink)

    async def sign_out(self, id: UUID | str) -> None:
        """End every session of a person."""
        await self._transport.send(ApiRequest("POST", f"{path_to(PATH, id)}/sign-out"))

    async def remove(self, id: UUID | str) -> None:
        """Remove a person, with every session."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id)))


def _listed(workspaces: Roles) -> list[Mapping[str, object]]:
    return [{"workspace": name, "roles": [*roles]} for name, roles in workspaces.items()]
