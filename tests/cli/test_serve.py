"""`tidings serve` and `tidings up` as processes of their own."""

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from tests.cli.conftest import Command

DEADLINE_SECONDS = 40
WELCOME = {
    "name": "welcome",
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}


class Running:
    """A command at work, and the lines it has printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.url = ""
        self.key: str | None = None

    async def read(self) -> None:
        """Read until it answers."""
        if self.process.stdout is None:
            raise AssertionError("it was started with a pipe")
        while True:
            line = (await self.process.stdout.readline()).decode()
            assert line, "it ended without saying where it answers"
            if found := re.search(r"answers at (http://\S+)", line):
                self.url = found[1]
                return

    async def read_key(self) -> str:
        if self.process.stdout is None:
            raise AssertionError("it was started with a pipe")
        line = (await self.process.stdout.readline()).decode()
        return line.strip().rsplit(" ", 1)[-1]


@asynccontextmanager
async def running(tidings: Command, *arguments: str, **settings: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tidings", *arguments, "--port", "0"),
        cwd=tidings.directory,
        env=tidings.environment(settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    shown = Running(process)
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await shown.read()
        yield shown
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("arguments", [["up"], ["up", "--processes", "2"]])
async def test_up_answers_prints_a_key_once_works_and_drains(tidings: Command, arguments: list[str]) -> None:
    async with running(tidings, *arguments) as up, asyncio.timeout(DEADLINE_SECONDS):
        key = await up.read_key()
        async with httpx2.AsyncClient(base_url=up.url, headers={"Authorization": f"Bearer {key}"}) as http:
            assert (await http.post("/v1/workflows", json=WELCOME)).status_code == 201
            started = (await http.post("/v1/triggers", json={"workflow": "welcome", "data": {"email": "a@b.c"}})).json()
            while (await http.get(f"/v1/executions/{started['id']}")).json()["status"] != "completed":
                await asyncio.sleep(0.05)
        up.process.send_signal(signal.SIGTERM)
        assert await up.process.wait() == 0

    assert key.startswith("tid_")
    async with running(tidings, "up") as again, asyncio.timeout(DEADLINE_SECONDS):
        async with httpx2.AsyncClient(base_url=again.url, headers={"Authorization": f"Bearer {key}"}) as http:
            assert (await http.get("/v1/workflows")).status_code == 200
        again.process.send_signal(signal.SIGTERM)
        rest = await again.process.stdout.read() if again.process.stdout else b""
        assert b"tid_" not in rest


async def test_serve_takes_the_administrator_s_key_from_the_settings(tidings: Command) -> None:
    async with running(tidings, "serve", TIDINGS_ADMIN_KEY="from-the-settings") as serve:
        headers = {"Authorization": "Bearer from-the-settings"}
        async with httpx2.AsyncClient(base_url=serve.url, headers=headers) as http:
            assert (await http.get("/v1/api-keys")).status_code == 200
        serve.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_SECONDS):
            assert await serve.process.wait() == 0
        rest = await serve.process.stdout.read() if serve.process.stdout else b""
        assert b"from-the-settings" not in rest


async def test_a_port_in_use_is_told_in_one_line(tidings: Command) -> None:
    async with running(tidings, "serve") as serve:
        port = serve.url.rsplit(":", 1)[-1]
        ended = await asyncio.to_thread(tidings, "serve", "--port", port)

    assert f"cannot listen on 127.0.0.1:{port}" in ended.complaint


def test_a_short_administrator_s_key_is_refused(tidings: Command) -> None:
    assert "TIDINGS_ADMIN_KEY is too short" in tidings("serve", "--port", "0", TIDINGS_ADMIN_KEY="short").complaint
