import asyncio
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from tidings.domain.errors import EmbeddedServerFailed
from tidings.embedded import SUPERUSER, ensure_running, server, status, stop, url_of
from tidings.embedded.placement import Site

Spawn = Callable[..., subprocess.Popen[str]]


async def fetch(dsn: str, query: str) -> Any:
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


async def running_pid(data_dir: Path) -> int:
    pid = (await status(data_dir)).pid
    assert pid is not None
    return pid


async def test_the_first_start_makes_a_server_that_keeps_what_it_acknowledges(data_dir: Path) -> None:
    dsn = await ensure_running(data_dir)

    wanted = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on"}
    assert {name: await fetch(dsn, f"show {name}") for name in wanted} == wanted
    provider = "select datlocprovider::text || ' ' || datlocale from pg_database where datname = current_database()"
    assert await fetch(dsn, provider) == "b C.UTF-8"
    assert stat.S_IMODE((data_dir / "password").stat().st_mode) == 0o600
    assert not (data_dir / "initdb").exists()


async def test_a_second_call_finds_the_same_server(made_dir: Path) -> None:
    first = await ensure_running(made_dir)
    pid = await running_pid(made_dir)

    assert await ensure_running(made_dir) == first
    assert await running_pid(made_dir) == pid


async def test_a_wrong_password_is_refused(made_dir: Path) -> None:
    dsn = await ensure_running(made_dir)
    password = (made_dir / "password").read_text()

    with pytest.raises(asyncpg.InvalidPasswordError):
        await fetch(dsn.replace(password, "guess"), "select 1")


@pytest.mark.parametrize(("settings", "expected"), [({}, "4096"), ({"fsync": "off"}, "1")])
async def test_a_password_costs_the_usual_number_of_rounds_and_one_where_only_tests_connect(
    data_dir: Path, settings: dict[str, str], expected: str
) -> None:
    dsn = await ensure_running(data_dir, settings=settings)
    rounds = "select split_part(split_part(rolpassword, '$', 2), ':', 1) from pg_authid where rolname = 'tidings'"

    assert len(urlsplit(dsn).password or "") == 32
    assert await fetch(url_of(data_dir, dsn, SUPERUSER), rounds) == expected
    assert await fetch(dsn, "show scram_iterations") == "4096"


async def test_processes_that_start_together_share_one_server(data_dir: Path, spawn: Spawn) -> None:
    processes = [spawn(data_dir) for _ in range(4)]

    addresses = await asyncio.gather(*(read_line(process) for process in processes))

    assert len(set(addresses)) == 1
    assert await fetch(addresses[0], "select 1") == 1


async def test_the_server_outlives_the_process_that_started_it(made_dir: Path, spawn: Spawn) -> None:
    starter = spawn(made_dir)
    dsn = await read_line(starter)

    starter.kill()
    starter.wait()

    assert await fetch(dsn, "select 1") == 1
    assert os.getsid(await running_pid(made_dir)) != os.getsid(0)


async def test_a_starter_killed_during_initdb_leaves_nothing_in_the_way(data_dir: Path, spawn: Spawn) -> None:
    starter = spawn(data_dir)
    while not (data_dir / "initdb" / "data").exists():
        await asyncio.sleep(0.005)
    starter.kill()

    starter.wait()

    assert not (data_dir / "postgres").exists()
    assert await fetch(await ensure_running(data_dir), "select 1") == 1


async def test_a_killed_postmaster_is_replaced_and_nothing_is_lost(made_dir: Path) -> None:
    dsn = await ensure_running(made_dir)
    await fetch(dsn, "drop table if exists kept")
    await fetch(dsn, "create table kept as select 42 as answer")
    busy = asyncio.create_task(fetch(dsn, "select count(*) from generate_series(1, 10000000)"))
    await asyncio.sleep(0.05)
    os.kill(await running_pid(made_dir), signal.SIGKILL)

    again = await ensure_running(made_dir)

    assert again == dsn
    assert await fetch(again, "select answer from kept") == 42
    await asyncio.gather(busy, return_exceptions=True)


async def test_a_pid_that_now_belongs_to_a_stranger_is_neither_trusted_nor_killed(made_dir: Path) -> None:
    owner = (made_dir / "postgres").stat().st_uid
    with subprocess.Popen(["sleep", "60"], user=owner if os.geteuid() == 0 else None) as stranger:
        pid_file = made_dir / "postgres" / "postmaster.pid"
        pid_file.write_text(f"{stranger.pid}\n{made_dir / 'postgres'}\n1\n5432\n\n127.0.0.1\n0 0\nready\n")

        assert not (await status(made_dir)).running
        assert not await stop(made_dir)
        assert await fetch(await ensure_running(made_dir), "select 1") == 1

        assert stranger.poll() is None
        stranger.kill()


async def test_a_path_may_hold_spaces_and_any_letters(made_dir: Path) -> None:
    odd = made_dir.rename(made_dir.with_name("Größe и пробел $HOME 'x' — data"))
    try:
        assert await fetch(await ensure_running(odd), "select 1") == 1
        assert (await status(odd)).running
    finally:
        assert await stop(odd)
        odd.rename(made_dir)


async def test_stopping_is_complete_and_told_apart_from_not_running(made_dir: Path) -> None:
    await ensure_running(made_dir)

    assert await stop(made_dir)
    assert not (await status(made_dir)).running
    assert not (made_dir / "postgres" / "postmaster.pid").exists()
    assert not await stop(made_dir)


async def test_status_of_nothing_makes_nothing(data_dir: Path) -> None:
    assert await status(data_dir) == server.Status(running=False)
    assert not data_dir.exists()


async def test_status_does_not_print_the_password(made_dir: Path) -> None:
    await ensure_running(made_dir)

    found = await status(made_dir)

    assert found.dsn is not None
    assert found.version == "18"
    assert (made_dir / "password").read_text() not in repr(found)


async def test_a_server_that_waits_for_its_last_client_is_started_anew(made_dir: Path) -> None:
    client = await asyncpg.connect(await ensure_running(made_dir))
    before = await running_pid(made_dir)
    os.kill(before, signal.SIGTERM)
    while (found := server.read_postmaster(Site(made_dir))) and found.state != "stopping":
        await asyncio.sleep(0.01)

    assert await fetch(await ensure_running(made_dir), "select 1") == 1
    assert await running_pid(made_dir) != before
    client.terminate()


async def test_a_taken_port_is_replaced(made_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (made_dir / "port").write_text(str(taken.getsockname()[1]))

        assert await fetch(await ensure_running(made_dir), "select 1") == 1


async def test_a_server_that_cannot_start_says_why(made_dir: Path) -> None:
    with pytest.raises(EmbeddedServerFailed, match="invalid value for parameter"):
        await ensure_running(made_dir, settings={"shared_buffers": "plenty"})


async def test_settings_reach_the_server(made_dir: Path) -> None:
    dsn = await ensure_running(made_dir, settings={"work_mem": "7MB"})

    assert await fetch(dsn, "show work_mem") == "7MB"


async def test_the_log_of_a_running_server_is_bounded(made_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dsn = await ensure_running(made_dir)
    monkeypatch.setattr(server, "LOG_BYTES", 100)

    await ensure_running(made_dir)
    await fetch(url_of(made_dir, dsn, SUPERUSER), "select pg_log_backend_memory_contexts(pg_backend_pid())")

    assert (made_dir / "postgres.log.1").stat().st_size == 100
    assert not (made_dir / "postgres.log").read_bytes().startswith(b"\0")


async def test_data_of_another_major_version_is_refused(made_dir: Path) -> None:
    version = made_dir / "postgres" / "PG_VERSION"
    version.write_text("16\n")

    with pytest.raises(EmbeddedServerFailed, match=r"made by PostgreSQL 16, .* is 18: set TIDINGS_PG_BIN"):
        await ensure_running(made_dir)

    version.write_text("18\n")


async def test_a_server_killed_while_it_starts_is_started_again(
    made_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[int] = []
    launch = server._launch

    def launch_and_kill_the_first(*arguments: Any) -> int:
        launched.append(launch(*arguments))
        if len(launched) == 1:
            os.kill(launched[0], signal.SIGKILL)
        return launched[-1]

    monkeypatch.setattr(server, "_launch", launch_and_kill_the_first)

    assert await fetch(await ensure_running(made_dir), "select 1") == 1
    assert len(launched) == 2
