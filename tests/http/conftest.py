"""The real app on a real PostgreSQL, with a key for each role here, in another workspace and at another tenant."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx2
import pytest
from fastapi import FastAPI

from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http import guesses
from tidings.http.app import create_app
from tidings.http.server import ApiServer
from tidings.resources import passwords
from tidings.simulation import Simulator

HOME = Workspace("acme", "main")
OTHER_WORKSPACE = Workspace("acme", "second")
OTHER_TENANT = Workspace("rival", "main")

WELCOME: Mapping[str, Any] = {
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome, {{ name }}"}],
    "edges": [],
}
ADA = {"email": "ada@example.com", "name": "Ada"}


@dataclass(frozen=True)
class Person:
    """Somebody with a key."""

    http: httpx2.AsyncClient
    secret: str
    workspace: Workspace

    async def ask(self, method: str, path: str, **given: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.secret}", **given.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **given)

    async def get(self, path: str, **given: Any) -> httpx2.Response:
        return await self.ask("GET", path, **given)

    async def post(self, path: str, json: Any = None, **given: Any) -> httpx2.Response:
        return await self.ask("POST", path, **({"json": json} if json is not None else {}), **given)


def caller(workspace: Workspace = HOME) -> Caller:
    return Caller(workspace, "test")


@pytest.fixture
def config() -> Config:
    return Config(rate_limit=0)


@pytest.fixture
def app(engine: Engine, config: Config, server: str) -> FastAPI:
    return create_app(engine, config, Simulator(server=server))


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """The app without a socket and without a key."""
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://tidings") as client:
        yield client


async def person(engine: Engine, http: httpx2.AsyncClient, role: Role, workspace: Workspace = HOME) -> Person:
    workflows = ["welcome"] if role is Role.PUBLISHABLE else []
    made = await engine.access.create_key(caller(workspace), str(role), role, workflows=workflows)
    return Person(http, made.secret, workspace)


@pytest.fixture
async def admin(engine: Engine, http: httpx2.AsyncClient) -> Person:
    return await person(engine, http, Role.SYSTEM_ADMIN)


@pytest.fixture
async def host(engine: Engine, http: httpx2.AsyncClient) -> Person:
    """The operator of the installation."""
    return await person(engine, http, Role.OPERATOR)


@pytest.fixture
async def workflow(engine: Engine) -> UUID:
    return (await engine.workflows.create(caller(), "welcome", WELCOME)).id


@pytest.fixture
def guessing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong keys as often as a test likes; tests/security/test_guessed_keys.py is about the limit."""
    monkeypatch.setattr(guesses, "WRONG_AT_ONCE", 100_000)
    monkeypatch.setattr(guesses, "ALL_WRONG_AT_ONCE", 100_000)


async def start(engine: Engine, workspace: Workspace = HOME, key: str | None = None) -> UUID:
    """An execution of `welcome`."""
    return (await engine.executions.trigger(caller(workspace), "welcome", ADA, key)).id


@asynccontextmanager
async def listening(engine: Engine, config: Config, simulator: Simulator | None = None) -> AsyncIterator[str]:
    """The API on a real socket, for as long as the block; gives its address."""
    server = ApiServer(engine, Config(host="127.0.0.1", port=0, rate_limit=config.rate_limit), simulator)
    running = asyncio.create_task(server.run())
    try:
        async with httpx2.AsyncClient() as client, asyncio.timeout(10):
            while True:
                try:
                    await client.get(f"{server.url}/v1/health")
                    break
                except httpx2.TransportError:
                    await asyncio.sleep(0.01)
        yield server.url
    finally:
        server.drain()
        async with asyncio.timeout(20):
            await running


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords hashed in a millisecond; how they really are is looked at where it matters."""
    monkeypatch.setattr(passwords, "MEMORY_KIB", 8)
    monkeypatch.setattr(passwords, "ITERATIONS", 1)
