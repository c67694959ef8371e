"""`tidings serve` and `tidings up` as processes of their own."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from tests.cli.conftest import Command
from tests.warm import Program, Warm

DEADLINE_SECONDS = 40
KEY = "uR2vX0s9Qe7LbN4yTgKd6wZa1PjHc8Mf"
WELCOME = {
    "name": "welcome",
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}


@dataclass
class Running:
    """A command at work, and where it answers."""

    program: Program
    url: str = ""

    async def read(self) -> None:
        """Read until it answers."""
        while True:
            line = (await self.program.stdout.readline()).decode()
            assert line, "it ended without saying where it answers"
            if found := re.search(r"answers at (http://\S+)", line):
                self.url = found[1]
                return

    async def read_key(self) -> str:
        line = (await self.program.stdout.readline()).decode()
        return line.strip().rsplit(" ", 1)[-1]

    def client(self, key: str) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self.url, headers={"Authorization": f"Bearer {key}"})

    async def drain(self) -> bytes:
        """Ask it to leave; give what it printed last."""
        self.program.send_signal(signal.SIGTERM)
        assert await self.program.wait() == 0
        return await self.program.stdout.read()


@asynccontextmanager
async def running(tidings: Command, forked: Warm, *arguments: str, **settings: str) -> AsyncIterator[Running]:
    call = tidings.call(*arguments, "--port", "0", **settings)
    async with asyncio.timeout(DEADLINE_SECONDS), forked.running(call) as program:
        shown = Running(program)
        await shown.read()
        yield shown


async def trigger_and_wait(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/v1/triggers", json={"workflow": "welcome", "data": {"email": "a@b.c"}})
    while (await http.get(f"/v1/executions/{answer.json()['id']}")).json()["status"] != "completed":
        await asyncio.sleep(0.05)


async def test_up_answers_prints_a_key_once_works_and_drains(tidings: Command, forked: Warm) -> None:
    async with running(tidings, forked, "up", "--processes", "2") as up:
        key = await up.read_key()
        async with up.client(key) as http:
            assert (await http.post("/v1/workflows", json=WELCOME)).status_code == 201
            await trigger_and_wait(http)
        await up.drain()

    async with running(tidings, forked, "up") as again:
        async with again.client(key) as http:
            await trigger_and_wait(http)
        rest = await again.drain()

    assert key.startswith("tid_")
    assert b"tid_" not in rest


async def test_serve_takes_the_administrator_s_key_from_the_settings(tidings: Command, forked: Warm) -> None:
    async with running(tidings, forked, "serve", TIDINGS_ADMIN_KEY=KEY) as serve:
        async with serve.client(KEY) as http:
            assert (await http.get("/v1/api-keys")).status_code == 200
        assert KEY.encode() not in await serve.drain()


async def test_a_port_in_use_is_told_in_one_line(tidings: Command, forked: Warm) -> None:
    async with running(tidings, forked, "serve") as serve:
        port = serve.url.rsplit(":", 1)[-1]
        ended = await asyncio.to_thread(tidings, "serve", "--port", port)

    assert f"cannot listen on 127.0.0.1:{port}" in ended.complaint


def test_a_key_that_can_be_guessed_is_refused(tidings: Command) -> None:
    said = tidings("serve", "--port", "0", TIDINGS_ADMIN_KEY="password").complaint

    assert "TIDINGS_ADMIN_KEY can be guessed" in said
    assert "openssl rand -base64 32" in said
