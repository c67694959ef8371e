"""Who uses a server, and what becomes of it after the last."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from tidings.domain.errors import EmbeddedServerFailed
from tidings.embedded import ensure_running, find_running, status
from tidings.embedded.placement import find_site
from tidings.embedded.processes import is_held
from tidings.embedded.supervision import HeldServer
from tidings.embedded.users import depart

USER = """
import asyncio, sys
from pathlib import Path
from tidings.embedded import ensure_running, find_running

data_dir = Path(sys.argv[1])
if sys.argv[2] == "start":
    asyncio.run(ensure_running(data_dir, stop_when_unused=True))
else:
    asyncio.run(find_running(data_dir))
print("uses it", flush=True)
sys.stdin.read()
"""


@asynccontextmanager
async def user(data_dir: Path, how: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that uses the server until it is killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", USER, str(data_dir), how),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"uses it\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def until_left_alone(data_dir: Path) -> None:
    site = find_site(data_dir)
    while (await status(data_dir)).running or is_held(site.keeper):
        await asyncio.sleep(0.02)


async def test_a_server_ends_with_the_last_of_its_users_however_they_end(made_dir: Path) -> None:
    async with user(made_dir, "start") as first, user(made_dir, "find"):
        pid = (await status(made_dir)).pid
        first.kill()
        await first.wait()
        assert (await status(made_dir)).pid == pid

    await until_left_alone(made_dir)


async def test_a_server_started_for_nobody_in_particular_outlives_its_users(made_dir: Path) -> None:
    await ensure_running(made_dir)
    site = find_site(made_dir)
    depart(site)

    async with user(made_dir, "start"):
        pass

    assert (await status(made_dir)).running
    assert not is_held(site.keeper)


async def test_users_that_come_while_the_last_one_leaves_find_a_server_each_time(made_dir: Path) -> None:
    """The keeper stops it under the same lock under which the next one starts it."""
    for _ in range(3):
        async with user(made_dir, "start"):
            assert (await status(made_dir)).running
        held = HeldServer(made_dir, None)
        await held.start()
        assert await find_running(made_dir)
        assert is_held(find_site(made_dir).keeper)
        await held.leave()

    await until_left_alone(made_dir)


async def test_a_user_leaves_a_server_that_others_use_and_stops_one_that_nobody_does(made_dir: Path) -> None:
    held = HeldServer(made_dir, None)
    async with user(made_dir, "start"):
        await held.start()
        await held.leave()
        assert (await status(made_dir)).running
        await held.start()

    await held.leave()

    assert not (await status(made_dir)).running


async def test_a_port_that_users_know_is_not_replaced_when_another_program_takes_it(made_dir: Path) -> None:
    port = urlsplit(await ensure_running(made_dir)).port
    pid = (await status(made_dir)).pid
    assert port is not None
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while is_held(find_site(made_dir).life):
        await asyncio.sleep(0.02)

    taken = pytest.raises(EmbeddedServerFailed, match=f"port {port}, .* is taken by another program: end that one")
    with socket.create_server(("127.0.0.1", port)), taken:
        await ensure_running(made_dir)

    assert urlsplit(await ensure_running(made_dir)).port == port


async def test_a_server_whose_files_are_gone_is_not_made_anew_behind_its_users(made_dir: Path) -> None:
    held = HeldServer(made_dir, None)
    site = find_site(made_dir)
    away = site.home / "away"
    site.data.rename(away)
    try:
        with capture_logs() as logs:
            keeping = asyncio.create_task(held.keep_running())
            while not (failures := [line for line in logs if line["event"] == "postgres_keeps_failing"]):
                await asyncio.sleep(0.02)
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        assert not site.data.exists()
    finally:
        away.rename(site.data)

    assert failures[0]["reason"].startswith(f"{site.data} is gone: bring it back")
