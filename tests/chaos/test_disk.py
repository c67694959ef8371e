"""The database's disk is full for a while: nothing is sent that was not written first, and nothing is lost."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena, open_arena, until
from tests.chaos.proof import SEED, prove
from tests.chaos.troubles import take_all_room
from tests.conftest import ManualClock, make_engine
from tidings.config import Config
from tidings.embedded.temporary import TemporaryServer
from tidings.http import pulse
from tidings.http.app import create_app
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.storage.migrate import migrate

pytestmark = pytest.mark.chaos

VOLUME_MEGABYTES = 96
SETTINGS = {"max_wal_size": "48MB", "min_wal_size": "32MB"}


@asynccontextmanager
async def volume(place: Path) -> AsyncIterator[Path]:
    """A small file system of the test's own; skips where none may be mounted."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip(f"mounting a small tmpfs needs root on Linux; this is user {os.geteuid()} on {sys.platform}")
    options = f"size={VOLUME_MEGABYTES}m,mode=0755"
    refusal = await _run("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place))
    if refusal:
        pytest.skip(f"this machine lets nobody mount a small tmpfs: {refusal}")
    try:
        yield place
    finally:
        await until("the volume is free", lambda: _is_unmounted(place))


async def _is_unmounted(place: Path) -> bool:
    return not await _run("umount", str(place))


async def _run(*command: str) -> str:
    """What a command said if it failed."""
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    return said.decode().strip() or f"{command[0]} ended with {process.returncode}" if process.returncode else ""


@pytest.fixture
async def disk() -> AsyncIterator[Path]:
    # Not below pytest's own directory, which the server's account cannot enter.
    place = Path(f"/run/tidings-chaos-{os.getpid()}")
    if os.geteuid() == 0:
        place.mkdir(mode=0o755)
    try:
        async with volume(place) as disk:
            yield disk
    finally:
        if place.exists():
            place.rmdir()


@pytest.fixture
async def arena(disk: Path) -> AsyncIterator[Arena]:
    async with open_arena(SEED, server=TemporaryServer(settings=SETTINGS, parent=disk)) as arena:
        yield arena


async def feed(arena: Arena) -> None:
    for _ in range(3):
        for provider in CLASSES:
            await arena.workload.start_run(provider, 150)
            await arena.workload.start_executions(provider, 50)


async def test_a_full_disk_of_the_database_stops_the_sending_and_loses_nothing(arena: Arena) -> None:
    workers = await arena.start_workers(2)
    feeding = asyncio.create_task(feed(arena))
    await arena.until_calls(10)

    ballast = arena.fill_disk(arena.server.data_dir.parent)
    await until(
        "workers cannot write", lambda: any("No space left" in "".join(one.events("storage_retry")) for one in workers)
    )
    await until("calls have ended", arena.is_silent)
    ballast.unlink()
    await arena.revive_postgres()
    await feeding
    findings = await prove(arena)

    assert findings.tallies["keyed"].in_doubt == findings.tallies["resolvable"].in_doubt == 0


async def test_health_tells_of_a_full_disk_and_of_the_room_that_is_made(
    disk: Path, clock: ManualClock, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "FRESH_SECONDS", 0)
    async with TemporaryServer(settings=SETTINGS, parent=disk) as server:
        db = await Database.open(server.dsn)
        await migrate(db)
        app = create_app(await make_engine(db, clock, provider), Config(rate_limit=0))
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://tidings") as http:
            before = await http.get("/v1/health")

            ballast = take_all_room(disk)
            full = await http.get("/v1/health")

            ballast.unlink()
            await server.start()
            after = await http.get("/v1/health")
        await db.close()

    assert [one.status_code for one in (before, full, after)] == [200, 503, 200]
