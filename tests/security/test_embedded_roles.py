"""The embedded server's roles: nothing that runs is a superuser, and a data directory from before is brought along."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tidings import embedded
from tidings.embedded.binaries import find_binaries
from tidings.embedded.placement import make_site, run_as, write_private

FAST = {"fsync": "off"}
ATTRIBUTES = """
    select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcanlogin from pg_roles
     where rolname like 'tidings%' or oid = 10 order by rolname
"""
MADE_BEFORE = """
create schema tidings;
create table tidings.migrations (number integer);
insert into tidings.migrations values (7);
create view tidings.shown as select * from tidings.migrations;
create function tidings.shard_count() returns integer language sql return 4;
"""


@pytest.fixture
async def data_dir() -> AsyncIterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="tidings-test-"))
    parent.chmod(0o755)
    yield parent / "data"
    await embedded.remove(parent / "data")
    shutil.rmtree(parent)


async def fetch(url: str, query: str) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(query)]
    finally:
        await connection.close()


async def is_refused(url: str, statement: str) -> bool:
    try:
        await fetch(url, statement)
    except asyncpg.InsufficientPrivilegeError:
        return True
    return False


async def test_only_the_servers_own_role_is_a_superuser_and_the_owner_cannot_make_roles(data_dir: Path) -> None:
    url = await embedded.ensure_running(data_dir, settings=FAST)

    assert await fetch(url, ATTRIBUTES) == [
        ("tidings", False, False, False, True),
        ("tidings_app", False, False, False, True),
        ("tidings_reader", False, False, False, False),
        ("tidings_superuser", True, True, True, True),
    ]
    assert await fetch(url, "select current_user::text") == [("tidings",)]
    assert await fetch(embedded.app_url(data_dir, url), "select current_user::text") == [("tidings_app",)]
    app = embedded.app_url(data_dir, url)
    assert await is_refused(app, "create schema mine")
    assert await is_refused(app, "create table public.mine (id integer)")
    assert await is_refused(url, "create role another")
    assert not await is_refused(url, "create schema mine")


async def make_as_before(data_dir: Path) -> None:
    """A data directory as it was made when its only role, `tidings`, was the superuser of the cluster."""
    site, account = make_site(data_dir)
    binaries = await find_binaries(None, account)
    write_private(site.home / "password", "as-before")
    draft = site.home / "draft"
    draft.mkdir()
    draft.chmod(0o777)
    (draft / "password").write_text("as-before")
    (draft / "password").chmod(0o644)
    command = ["initdb", f"--pgdata={draft / 'data'}", "--username=tidings", f"--pwfile={draft / 'password'}"]
    command += ["--auth=scram-sha-256", "--no-sync", "--locale=C", "--encoding=UTF8"]
    made = run_as(account, [str(binaries.directory / command[0]), *command[1:]])
    assert made.returncode == 0, made.stdout
    (draft / "data").rename(site.data)
    shutil.rmtree(draft)
    single = [str(binaries.directory / "postgres"), "--single", "-D", str(site.data), "-c", "fsync=off", "postgres"]
    said = run_as(account, single, text_in=" ".join(MADE_BEFORE.split()) + "\n")
    assert "ERROR" not in said.stdout, said.stdout


async def test_a_data_directory_whose_role_was_a_superuser_starts_and_its_role_is_plain(data_dir: Path) -> None:
    await make_as_before(data_dir)

    url = await embedded.ensure_running(data_dir, settings=FAST)

    assert ":as-before@" in url
    assert [row[:2] for row in await fetch(url, ATTRIBUTES)][:2] == [("tidings", False), ("tidings_app", False)]
    assert await fetch(url, "select number from tidings.shown") == [(7,)]
    owners = await fetch(
        url,
        "select distinct pg_get_userbyid(relowner)::text from pg_class where relnamespace = 'tidings'::regnamespace"
        " union all select pg_get_userbyid(proowner)::text from pg_proc where pronamespace = 'tidings'::regnamespace"
        " union all select pg_get_userbyid(nspowner)::text from pg_namespace where nspname = 'tidings'",
    )
    assert {one for (one,) in owners} == {"tidings"}
    await fetch(url, "drop schema tidings cascade")


async def test_roles_that_were_only_half_made_are_made_at_the_next_start(data_dir: Path) -> None:
    url = await embedded.ensure_running(data_dir, settings=FAST)
    superuser = embedded.url_of(data_dir, url, embedded.SUPERUSER)
    await fetch(superuser, "drop role tidings_app")
    await fetch(superuser, "alter role tidings superuser")
    await embedded.stop(data_dir)
    (data_dir / "roles").unlink()

    url = await embedded.ensure_running(data_dir, settings=FAST)

    assert [row[:2] for row in await fetch(url, ATTRIBUTES)][:2] == [("tidings", False), ("tidings_app", False)]
    assert await fetch(embedded.app_url(data_dir, url), "select 1") == [(1,)]
