"""The whole product as its users meet it: the API, an engine on a real PostgreSQL, and real functions on loopback.

Mail, texts and the rest go to a provider that remembers what it was asked; the time is the test's.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import asyncpg
import httpx2
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person, person
from tests.kernel.scenes import until
from tests.providers.function_server import FunctionServer, function_server
from tidings import App, Channel, Config, Engine, open_engine
from tidings.domain.roles import Role
from tidings.http.app import create_app
from tidings.providers.fake import FakeProvider

Json: TypeAlias = dict[str, Any]
Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
MakeEngine: TypeAlias = Callable[[FakeProvider], Awaitable[Engine]]

ENQUEUE = "/functions/v1/workflow-enqueue"
FUNCTIONS_KEY = "service-role-key"
ADA: Json = {"email": "ada@example.com", "phone": "+442071838750", "name": "Ada"}


# The product


@pytest.fixture
async def functions() -> AsyncIterator[FunctionServer]:
    """The functions of the host, on a real socket; each answers `{success: true, data: {ok: true}}` unless told."""
    async with function_server() as server:
        yield server


@pytest.fixture
async def make_engine(dsn: str, clock: ManualClock, functions: FunctionServer) -> AsyncIterator[MakeEngine]:
    """Engines as separate processes would have them: nothing shared but the database and the time."""
    config = Config(
        database_url=dsn,
        allow_unsafe_storage=True,
        allow_private_addresses=True,
        functions_url=functions.url(""),
        functions_key=FUNCTIONS_KEY,
        functions_for=("*/*",),
        secret_key=b64encode(bytes(range(32))).decode(),
        rate_limit=0,
    )
    made: list[Engine] = []

    async def make(provider: FakeProvider) -> Engine:
        routes: dict[Channel, str] = {channel: provider.name for channel in Channel if channel is not Channel.FUNCTION}
        made.append(await open_engine(config, App(providers=[provider], routes=routes), clock=clock))
        return made[-1]

    yield make
    for engine in made:
        await engine.close()


@pytest.fixture
async def engine(make_engine: MakeEngine, provider: FakeProvider) -> Engine:
    return await make_engine(provider)


@pytest.fixture
async def http(engine: Engine) -> AsyncIterator[httpx2.AsyncClient]:
    """The API without a socket and without a key."""
    transport = httpx2.ASGITransport(app=create_app(engine, Config(rate_limit=0)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://tidings") as client:
        yield client


# Its users


@pytest.fixture
async def manager(engine: Engine, http: httpx2.AsyncClient) -> Person:
    return await person(engine, http, Role.WORKFLOW_MANAGER)


@pytest.fixture
async def operator(engine: Engine, http: httpx2.AsyncClient) -> Person:
    return await person(engine, http, Role.TRIGGER_OPERATOR)


@pytest.fixture
async def admin(engine: Engine, http: httpx2.AsyncClient) -> Person:
    return await person(engine, http, Role.SYSTEM_ADMIN)


@dataclass(frozen=True)
class FrontEnd:
    """A browser with a key, which knows nothing but the endpoint of 004."""

    http: httpx2.AsyncClient
    secret: str

    async def call(self, action: object, payload: object = None) -> httpx2.Response:
        headers = {"apikey": self.secret, "x-client-info": "supabase-js-web/2.0"}
        return await self.http.post(ENQUEUE, json={"action": action, "payload": payload}, headers=headers)

    async def enqueue(self, workflow: str, data: Mapping[str, object], **more: object) -> Json:
        return data_of(await self.call("enqueue", {"workflow": workflow, "data": data, **more}))

    async def refused(self, workflow: str, data: Mapping[str, object]) -> str:
        """The words in which an enqueue is refused."""
        answer = await self.call("enqueue", {"workflow": workflow, "data": data})
        assert (answer.status_code, answer.json()["success"]) == (400, False)
        return str(answer.json()["error"])

    async def status(self, execution_id: str) -> Json:
        return data_of(await self.call("status", {"execution_id": execution_id}))


@pytest.fixture
async def front_end(operator: Person) -> FrontEnd:
    return FrontEnd(operator.http, operator.secret)


# What they do


def data_of(answer: httpx2.Response) -> Json:
    """What stands in 004's envelope."""
    assert (answer.status_code, answer.json()["success"]) == (200, True), answer.text
    data: Json = answer.json()["data"]
    return data


async def define(manager: Person, definition: Mapping[str, object], name: str = "flow") -> Json:
    answer = await manager.post("/v1/workflows", {"name": name, **definition})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def trigger(
    operator: Person, data: Mapping[str, object] = ADA, key: str | None = None, name: str = "flow"
) -> Json:
    body = {"workflow": name, "data": data} | ({} if key is None else {"idempotencyKey": key})
    answer = await operator.post("/v1/triggers", body)
    assert answer.status_code in {200, 201}, answer.text
    started: Json = answer.json()
    return started


async def show(reader: Person, id: str) -> Json:
    answer = await reader.get(f"/v1/executions/{id}")
    assert answer.status_code == 200, answer.text
    shown: Json = answer.json()
    return shown


async def log_of(reader: Person, id: str) -> list[Json]:
    lines: list[Json] = (await reader.get(f"/v1/executions/{id}/log")).json()["data"]
    return lines


async def work_for(engine: Engine, clock: ManualClock, minutes: int) -> None:
    """Let workers look every half minute for so long."""
    for _ in range(2 * minutes):
        await engine.work_everything()
        clock.advance(seconds=30)
    await engine.work_everything()


@asynccontextmanager
async def in_call(engine: Engine, asked: Callable[[], int], calls: int = 1) -> AsyncIterator[None]:
    """A worker that stands in so many calls which nobody answers; with the block it dies, as if killed."""
    before = asked()
    task = asyncio.create_task(engine.work_everything())
    try:
        await until(lambda: asked() >= before + calls or task.done())
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def graph(*nodes: Json, edges: list[tuple[str, str]] | None = None, entry: str | None = None) -> Json:
    """A workflow of these nodes; one after the other unless edges are given."""
    ids = [str(node["id"]) for node in nodes]
    pairs = list(pairwise(ids)) if edges is None else edges
    return {
        "entryNodeId": entry or ids[0],
        "nodes": list(nodes),
        "edges": [{"from": source, "to": target} for source, target in pairs],
    }


def email(id: str = "hello", **more: object) -> Json:
    return {"id": id, "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Good day, {{ name }}"} | more


def sms(id: str = "nudge", **more: object) -> Json:
    return {"id": id, "type": "sms", "to": "{{ phone }}", "body": "Still there, {{ name }}?"} | more


def delay(id: str = "wait", **more: object) -> Json:
    return {"id": id, "type": "delay"} | (more or {"duration": "PT1H"})


def step(name: str, on_failure: object = "retry", /, **payload: object) -> Json:
    """A step that calls the function of the same name."""
    return {"name": name, "function": name, "action": "run", "payload_template": payload, "on_failure": on_failure}


def steps(*given: Json, **more: object) -> Json:
    return {"steps": list(given), **more}


def bodies(functions: FunctionServer) -> list[Json]:
    """What the functions were sent."""
    return [json.loads(request.body) for request in functions.requests]


def payloads(functions: FunctionServer) -> list[Any]:
    return [body["payload"] for body in bodies(functions)]


def called(functions: FunctionServer) -> list[str]:
    """The functions that were called, in this order."""
    return [request.line.split()[1].removeprefix("/functions/v1/") for request in functions.requests]


def recipients(provider: FakeProvider) -> list[str]:
    return [call.recipient for call in provider.calls]


async def statuses(reader: Person, ids: Sequence[str]) -> set[str]:
    return {(await show(reader, id))["status"] for id in ids}
