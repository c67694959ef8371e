import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tidings.embedded import TemporaryServer, ensure_running, remove, server, status, temporary

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's files are ever moved out of the way")
FAST = {"fsync": "off"}
KILLED_WHILE_STARTING = """
import asyncio, os, signal, sys
from pathlib import Path
from tidings.embedded import TemporaryServer, server

server._launch = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(TemporaryServer(parent=Path(sys.argv[1]), settings={"fsync": "off"}).__aenter__())
"""


async def count(dsn: str) -> int:
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        value: int = await connection.fetchval("select count(*) from facts")
        return value
    finally:
        await connection.close()


async def test_a_temporary_server_survives_kills_and_is_gone_at_the_end() -> None:
    async with TemporaryServer() as server:
        first = server.dsn
        connection = await asyncpg.connect(first)
        await connection.execute("create table facts (id int primary key)")
        await connection.execute("insert into facts values (1)")

        await server.kill()
        with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            await connection.execute("insert into facts values (2)")
        with pytest.raises(OSError, match="onnect"):
            await count(first)
        await server.start()

        assert server.dsn == first
        assert await count(server.dsn) == 1
        await server.restart_immediate()
        assert await count(server.dsn) == 1

    assert not server.data_dir.exists()
    assert not (await status(server.data_dir)).running


async def test_a_process_that_is_killed_while_its_server_starts_leaves_nothing(open_dir: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_STARTING, str(open_dir)], check=False)
    assert killed.returncode == -9

    while list(open_dir.iterdir()):
        await asyncio.sleep(0.01)


async def test_a_server_that_is_cancelled_while_its_files_are_made_leaves_nothing(open_dir: Path) -> None:
    starting = asyncio.create_task(TemporaryServer(parent=open_dir, settings=FAST).__aenter__())
    while not list(open_dir.glob("*/initdb/data/base")):
        await asyncio.sleep(0.001)
    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not list(open_dir.iterdir())


async def test_a_server_that_is_cancelled_before_it_is_ready_leaves_nothing(
    open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = server._launch

    def launch_and_cancel(*arguments: Any) -> int:
        starting.cancel()
        return launch(*arguments)

    monkeypatch.setattr(server, "_launch", launch_and_cancel)
    starting = asyncio.create_task(TemporaryServer(parent=open_dir, settings=FAST).__aenter__())

    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not list(open_dir.iterdir())


@as_root
async def test_data_that_was_moved_is_removed_with_its_directory(private_dir: Path, shared_root: Path) -> None:
    await ensure_running(private_dir / "data", settings=FAST)
    assert list(shared_root.iterdir())

    await remove(private_dir / "data")
    await remove(private_dir / "data")  # there is nothing, and that is no mistake

    assert not list(private_dir.iterdir())
    assert not list(shared_root.iterdir())


@as_root
async def test_a_temporary_server_removes_its_files_and_what_earlier_ones_left_but_nobodys_data(
    private_dir: Path, shared_root: Path
) -> None:
    homes = {name: shared_root / name for name in ("left", "alive", "kept")}
    for name, home in homes.items():
        home.mkdir(parents=True)
        (home / "owner").write_text(f"{private_dir / name}\n")
    (private_dir / "alive").mkdir()
    for name in ("left", "alive"):
        (homes[name] / temporary.TEMPORARY).touch()

    async with TemporaryServer(parent=private_dir, settings=FAST) as server:
        assert Path((server.data_dir / "location").read_text().strip()).parent == shared_root

    assert not server.data_dir.exists()
    assert {home.name for home in shared_root.iterdir()} == {"alive", "kept"}


@as_root
async def test_a_temporary_server_whose_directory_was_removed_is_left_until_it_has_ended(
    private_dir: Path, shared_root: Path
) -> None:
    async with TemporaryServer(parent=private_dir, settings=FAST) as server:
        [home] = shared_root.iterdir()
        hidden = server.data_dir.rename(private_dir / "hidden")
        temporary._remove_orphans()
        assert home.exists()

        hidden.rename(server.data_dir)
        await server.kill()
        shutil.rmtree(server.data_dir)
        temporary._remove_orphans()
        assert not home.exists()
