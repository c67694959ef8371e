"""People with browsers, for tests."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx2
from fastapi import FastAPI

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.resources.sessions import Browser, OwnChange
from tidings.views.users import User

PASSWORD = "seven green kettles sing"
ELSEWHERE = Browser(timedelta(hours=24), timedelta(days=14), "another browser")


@dataclass
class InBrowser:
    """A browser with its own cookies, that sends what our page sends."""

    http: httpx2.AsyncClient
    csrf: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, method: str, path: str, json: Any = None, **headers: str) -> httpx2.Response:
        sent = {**self.headers, **({"X-Tidings-CSRF": self.csrf} if self.csrf else {})}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.http.request(method, path, headers=sent, **({} if json is None else {"json": json}))
        if answer.headers.get("content-type") == "application/json" and "csrfToken" in answer.text:
            self.csrf = answer.json()["csrfToken"]
        return answer

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.ask("GET", path, **headers)

    async def post(self, path: str, json: Any = None, **headers: str) -> httpx2.Response:
        return await self.ask("POST", path, json, **headers)

    async def sign_in(self, email: str, password: str = PASSWORD, tenant: str = "acme") -> httpx2.Response:
        return await self.post("/v1/sessions", {"email": email, "password": password, "tenant": tenant})

    @property
    def token(self) -> str | None:
        return self.http.cookies.get("tidings_session")


@asynccontextmanager
async def browser(
    app: FastAPI, base_url: str = "http://tidings", address: str = "192.0.2.1"
) -> AsyncIterator[InBrowser]:
    transport = httpx2.ASGITransport(app=app, client=(address, 1))
    async with httpx2.AsyncClient(transport=transport, base_url=base_url) as http:
        yield InBrowser(http)


async def member(
    engine: Engine, email: str, *roles: Role, home: Workspace | None = None, workspaces: Sequence[str] = ()
) -> User:
    """Somebody with a password, and these roles in each of the workspaces."""
    home = home or Workspace("acme", "main")
    held = dict.fromkeys(workspaces or [home.name], roles) if roles else {}
    made = await engine.users.invite(Caller(home, "test"), email, email.partition("@")[0].title(), held)
    begun = await engine.sessions.redeem(made.token, OwnChange(password=PASSWORD), ELSEWHERE)
    assert begun is not None
    await engine.sessions.end(begun.signed_in, begun.token)
    return made.user
