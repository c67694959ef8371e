"""One tenant takes all it can of what a server has, with many keys: another finds room, and is never refused."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest

from tests.http.conftest import ADA, HOME, OTHER_TENANT, OTHER_WORKSPACE, WELCOME, caller, listening, start
from tidings.config import Config
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http import body_memory, streams
from tidings.http.fair_pool import FairPool

TENANT_ROLES = Role.TRIGGER_OPERATOR


@dataclass
class Raw:
    """A connection without a library that would help."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, head: str, secret: str, body: bytes = b"") -> None:
        lines = [head, "Host: tidings", f"Authorization: Bearer {secret}", "", ""]
        self.writer.write("\r\n".join(lines).encode() + body)
        await self.writer.drain()

    async def answer(self) -> tuple[int, str]:
        """The status and the head of what comes back."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        return int(head.split()[1]), head.lower()

    async def body(self, head: str) -> str:
        [length] = [int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length")]
        return (await self.reader.readexactly(length)).decode()


class Crowd:
    """Connections that stay open until the test ends."""

    def __init__(self, url: str, held: AsyncExitStack) -> None:
        self._host, port = url.removeprefix("http://").split(":")
        self._port, self._held = int(port), held

    async def connect(self) -> Raw:
        made = Raw(*await asyncio.open_connection(self._host, self._port))
        self._held.callback(made.writer.close)
        return made

    async def ask(self, head: str, secret: str, body: bytes = b"") -> tuple[int, str, Raw]:
        raw = await self.connect()
        await raw.send(head, secret, body)
        return *await raw.answer(), raw


@asynccontextmanager
async def crowd(engine: Engine, rate_limit: float = 0) -> AsyncIterator[Crowd]:
    async with (
        listening(engine, Config(rate_limit=rate_limit)) as url,
        asyncio.timeout(30),
        AsyncExitStack() as held,
    ):
        yield Crowd(url, held)


async def keys(engine: Engine, workspace: Workspace, count: int) -> list[str]:
    return [
        (await engine.access.create_key(caller(workspace), f"k{number}", TENANT_ROLES)).secret
        for number in range(count)
    ]


async def executions(engine: Engine, *homes: Workspace) -> list[str]:
    for home in homes:
        await engine.workflows.create(caller(home), "welcome", WELCOME)
    return [f"GET /v1/executions/{await start(engine, home)}/events HTTP/1.1" for home in homes]


async def test_ten_keys_of_one_tenant_do_not_take_all_streams(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST", 20)
    theirs, ours = await executions(engine, HOME, OTHER_TENANT)
    flood, [quiet] = await keys(engine, HOME, 10), await keys(engine, OTHER_TENANT, 1)

    async with crowd(engine) as at:
        taken = [(await at.ask(theirs, key))[:2] for key in flood for _ in range(3)]
        answered = [(await at.ask(ours, quiet))[0] for _ in range(3)]

    assert [status for status, _ in taken] == [200] * 10 + [429] * 20
    assert "retry-after: 15" in taken[-1][1]
    assert answered == [200] * 3


async def test_streams_that_are_asked_for_at_once_are_counted_before_they_begin(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST", 8)
    theirs, ours = await executions(engine, HOME, OTHER_TENANT)
    [flood], [quiet] = await keys(engine, HOME, 1), await keys(engine, OTHER_TENANT, 1)

    async with crowd(engine) as at:
        taken = await asyncio.gather(*(at.ask(theirs, flood) for _ in range(30)))
        answered = (await at.ask(ours, quiet))[0]

    assert sorted(status for status, *_ in taken) == [200] * 4 + [429] * 26
    assert answered == 200


TRIGGER = "POST /v1/triggers HTTP/1.1\r\nContent-Length: {}"
BULK = "POST /v1/triggers/bulk HTTP/1.1\r\n{}"
IMPORT = "POST /v1/contacts/import HTTP/1.1\r\nContent-Type: text/csv\r\nTransfer-Encoding: chunked"
ENQUEUE = "POST /functions/v1/workflow-enqueue HTTP/1.1\r\nContent-Length: 900000"


CHUNK = b"%x\r\n" % 900_000 + b" " * 900_000 + b"\r\n"
UNFINISHED = {
    "declared": (TRIGGER.format(900_000), b"{"),
    "bulk": (BULK.format("Content-Length: 900000"), b"{"),
    "chunked": (BULK.format("Transfer-Encoding: chunked"), CHUNK),
    "import": (IMPORT, b""),
    "enqueue": (ENQUEUE, b"{"),
}


async def test_unfinished_bodies_of_one_tenant_leave_room_for_another_s(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_memory, "MOST_BYTES", 10_000_000)
    await executions(engine, OTHER_TENANT)
    flood, [quiet] = await keys(engine, HOME, 4), await keys(engine, OTHER_TENANT, 1)
    ours = json.dumps({"workflow": "welcome", "data": {**ADA, "padding": "x" * 900_000}}).encode()

    for name, (head, body) in UNFINISHED.items():
        engine.kernel.draining.clear()  # another server, which holds nothing yet
        async with crowd(engine) as at:
            waiting = [await at.connect() for _ in range(12)]
            for number, raw in enumerate(waiting):
                await raw.send(head, flood[number % 4], body)
            refused, answer = await first_answer(waiting)
            text = await refused.body(answer)
            answered = [(await at.ask(TRIGGER.format(len(ours)), quiet, ours))[0] for _ in range(3)]

        assert answer.startswith("http/1.1 429"), name
        assert "retry-after: 2" in answer, name
        assert "under way leave it no room" in text, name
        assert answered == [201] * 3, name


async def first_answer(waiting: list[Raw]) -> tuple[Raw, str]:
    """The first that is answered although its body has not ended."""
    tasks = {asyncio.create_task(raw.answer()): raw for raw in waiting}
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    first = next(iter(done))
    return tasks[first], first.result()[1]


async def test_the_room_of_a_body_comes_back_when_its_request_ends(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_memory, "MOST_BYTES", 2_500_000)
    await executions(engine, HOME)
    [key] = await keys(engine, HOME, 1)
    good = json.dumps({"workflow": "welcome", "data": {**ADA, "padding": "x" * 900_000}}).encode()
    bad = b"{" + b" " * 900_000

    async with crowd(engine) as at:
        answers = [(await at.ask(TRIGGER.format(len(body)), key, body))[0] for body in (good, bad) * 5]
        hung = await at.connect()
        await hung.send(TRIGGER.format(900_000), key, b"{")
        second = await at.connect()
        await second.send(TRIGGER.format(900_000), key, b"{")
        refused = (await second.answer())[0]
        hung.writer.close()
        while (status := (await at.ask(TRIGGER.format(len(good)), key, good))[0]) == 429:
            await asyncio.sleep(0.01)  # the server hears a moment later that the other has gone

    assert answers == [201, 400] * 5
    assert (refused, status) == (429, 201)


async def test_a_flood_of_requests_makes_no_other_tenant_and_no_sibling_wait(engine: Engine) -> None:
    await executions(engine, HOME, OTHER_WORKSPACE, OTHER_TENANT)
    flood = await keys(engine, HOME, 5)
    [sibling], [quiet] = await keys(engine, OTHER_WORKSPACE, 1), await keys(engine, OTHER_TENANT, 1)
    asked = "GET /v1/workflows HTTP/1.1"

    async with crowd(engine, rate_limit=10) as at:
        flooded = [(await at.ask(asked, key))[0] for key in flood * 8]
        answered = [(await at.ask(asked, key))[0] for key in (sibling, quiet)]

    assert flooded.count(429) >= 10  # before, each of the five keys had a limit of its own
    assert answered == [200, 200]


def test_each_may_hold_as_much_as_is_left() -> None:
    pool = FairPool(1_000)
    alone = sum(pool.take("a") for _ in range(2_000))
    second = sum(pool.take("b") for _ in range(2_000))
    while pool.take("a") or pool.take("b"):
        pass
    newcomers = [pool.take(f"n{number}") for number in range(50)]

    assert (alone, second) == (500, 250)
    assert all(newcomers)
    assert not pool.take("a")


def test_what_is_given_back_can_be_taken_again() -> None:
    pool = FairPool(10)
    assert pool.take("a", 5)
    assert not pool.take("a")
    pool.give_back("a", 5)

    assert pool.free == 10
    assert pool.take("b", 5)
