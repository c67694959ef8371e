"""Servers for a while: kept between simulations, and never left behind. Each test starts a real one, and only one."""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from tidings.domain.errors import EmbeddedServerFailed
from tidings.embedded import placement
from tidings.testing.server import KeptServer

DEADLINE_SECONDS = 30
HOLDER = """
import asyncio
from tests.testing.conftest import ADA, WELCOME
from tidings.testing import scratch_engine

async def hold():
    async with scratch_engine() as scratch:
        await scratch.engine.define("welcome", WELCOME)
        await scratch.engine.trigger("welcome", ADA, "k")
        await scratch.run_for(days=3)
        print(len(scratch.messages), scratch.url, flush=True)
        await asyncio.Event().wait()

asyncio.run(hold())
"""


async def find_place(address: str) -> Path | None:
    """Where the server of an address has its data; None if nobody answers."""
    try:
        connection = await asyncpg.connect(address)
    except (OSError, asyncpg.PostgresError):
        return None
    await connection.close()
    homes = [*Path(tempfile.gettempdir()).glob("tidings-*"), *placement.SHARED_ROOT.glob("*")]
    ports = {(home / "port").read_text(): home / "postgres" for home in homes if (home / "port").exists()}
    return ports[str(urlsplit(address).port)]


async def until_gone(place: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while place.exists():
            await asyncio.sleep(0.01)


async def test_without_a_server_an_engine_starts_one_which_goes_when_its_process_is_killed() -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    messages, address = (await asyncio.to_thread(holder.stdout.readline)).split()
    place = await find_place(address)
    assert (messages, place is not None) == ("2", True)

    holder.kill()
    holder.communicate()

    await until_gone(place or Path())
    assert await find_place(address) is None


async def test_a_kept_server_is_started_once_and_stopped_when_nobody_asks_for_it() -> None:
    kept = KeptServer(idle_seconds=600)
    async with kept.in_use() as first:
        place = await find_place(first)
    async with kept.in_use() as again, kept.in_use() as both:
        assert {first, again, both} == {first}
        kept._idle_seconds = 0.01

    await until_gone(place or Path())
    assert await find_place(first) is None
    await kept.close()  # nothing is left to close


async def test_a_kept_server_that_cannot_be_started_is_tried_again_the_next_time(tmp_path: Path) -> None:
    kept = KeptServer(tmp_path)

    for _ in range(2):
        with pytest.raises(EmbeddedServerFailed, match="holds no PostgreSQL"):
            async with kept.in_use():
                pass
    await kept.close()
