"""A real HTTP server on loopback that answers what a test has written down, in that order."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tidings.client import Client, Retrying

KEY = "tid_key"
EXECUTION = "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f"
WORKFLOW = "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e30"


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def bytes(self) -> bytes:
        body = b"" if self.body is None else json.dumps(self.body).encode()
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "content-type: application/json", "", ""]).encode() + body


@dataclass(frozen=True)
class Cut:
    """The connection ends after the request was read, without an answer."""


@dataclass(frozen=True)
class Events:
    """A stream of server-sent events, which then breaks off."""

    text: str

    def bytes(self) -> bytes:
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        return head.encode() + self.text.encode()


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass
class Script:
    """What to answer, and what was asked; the last answer is given again and again."""

    url: str = ""
    replies: list[Reply | Cut | Events] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    connections: set["asyncio.Task[None]"] = field(default_factory=set)

    def answers(self, *replies: Reply | Cut | Events) -> None:
        self.replies = list(replies)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(asyncio.create_task(self.serve(reader, writer)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self.serve_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            await asyncio.wait([asyncio.ensure_future(writer.wait_closed())])

    async def serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, target, _ = head[0].split(" ")
        parts = urlsplit(target)
        given = json.loads(body) if body else None
        self.asked.append(Asked(method, parts.path, dict(parse_qsl(parts.query)), headers, given))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Cut):
            return False
        writer.write(reply.bytes())
        await writer.drain()
        return isinstance(reply, Reply)


@pytest.fixture
async def script() -> AsyncIterator[Script]:
    script = Script()
    server = await asyncio.start_server(script.accept, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield script
    server.close()
    await server.wait_closed()
    await asyncio.gather(*script.connections)


@pytest.fixture
async def client(script: Script) -> AsyncIterator[Client]:
    """A client that does not make a test wait for its patience."""
    retrying = Retrying(attempts=4, base_seconds=0.001, cap_seconds=0.002)
    async with Client(script.url, KEY, timeout=2.0, retrying=retrying) as client:
        yield client


def execution(status: str = "enqueued", **more: object) -> dict[str, object]:
    """An execution as the API answers it."""
    return {
        "id": EXECUTION,
        "status": status,
        "workflowId": WORKFLOW,
        "workflowName": "welcome",
        "workflowVersion": 1,
        "currentStep": 0,
        "totalSteps": 2,
        "inputPayload": {"name": "Ada", "camelCase": 1},
        "vars": {"hello": {"messageId": "m-1"}},
        "createdAt": "2026-03-02T09:00:00Z",
    } | more


def workflow(version: int = 1, **more: object) -> dict[str, object]:
    """A workflow as the API answers it."""
    definition = {"steps": [{"name": "a", "function": "f"}]}
    return {
        "id": WORKFLOW,
        "name": "welcome",
        "active": True,
        "version": version,
        "definition": definition,
        "createdAt": "2026-03-02T09:00:00Z",
        "updatedAt": "2026-03-02T09:00:00Z",
    } | more


def problem(status: int, code: str, detail: str, *errors: Mapping[str, str]) -> Reply:
    """An error as the API answers it."""
    body = {"type": f"urn:tidings:problem:{code}", "title": "…", "status": status, "code": code, "detail": detail}
    return Reply(status, body | {"errors": list(errors)})
