"""Stored secrets are sealed with a new key while everything runs, and the old key is needed no more."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import asyncpg
import pytest

from tests.cli.conftest import Command
from tidings import Config, Engine, Workspace, open_engine
from tidings.administration import add_own_key, drop_old_keys
from tidings.domain.caller import Caller
from tidings.resources import secrets
from tidings.storage.reseal import KINDS
from tidings.storage.vault import KEY_FILE, Vault, add_key, drop_keys, fingerprint, keys_kept_in

OLD_KEY, NEW_KEY, WRONG_KEY = (bytes([number] * 32) for number in (1, 2, 3))
OLD, NEW, WRONG = (b64encode(key).decode() for key in (OLD_KEY, NEW_KEY, WRONG_KEY))
PLACE = ("function", "default", "default", "f")
ACME = Workspace("acme", "eu")
Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@asynccontextmanager
async def opened(dsn: str, keys: str) -> AsyncIterator[Engine]:
    engine = await open_engine(Config(database_url=dsn, allow_unsafe_storage=True, secret_key=keys))
    try:
        yield engine
    finally:
        await engine.close()


async def put(engine: Engine, count: int, workspace: Workspace = ACME) -> None:
    for number in range(count):
        await engine.functions.set(Caller(workspace, "ann"), f"f{number}", "https://a.example/", f"secret-{number}")


async def counts(engine: Engine) -> list[tuple[str, int]]:
    return [(one.key, one.secrets) for one in (await engine.secrets.status()).keys]


async def test_every_secret_is_sealed_with_the_first_key_and_then_the_old_one_is_needed_no_more(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "PAGE", 2)  # several pages
    progress: list[int] = []
    async with opened(dsn, OLD) as engine:
        await put(engine, 5)
    async with opened(dsn, f"{NEW},{OLD}") as engine:
        before = await counts(engine)
        first = await engine.secrets.rotate(progress.append)
        again = await engine.secrets.rotate()
        after = await counts(engine)
    async with opened(dsn, NEW) as engine:  # refused if it opened only some
        [found] = (await engine.secrets.status()).keys

    assert before == [(fingerprint(NEW_KEY), 0), (fingerprint(OLD_KEY), 5)]
    assert (first.resealed, first.already, first.unopened) == (5, 0, 0)
    assert (again.resealed, again.already) == (0, 5)
    assert after == [(fingerprint(NEW_KEY), 5), (fingerprint(OLD_KEY), 0)]
    assert found.secrets == 5
    assert progress == [2, 4]


async def test_what_signs_calls_is_sealed_anew_and_so_is_what_it_replaces(dsn: str) -> None:
    async with opened(dsn, OLD) as engine:
        for _ in range(2):
            await engine.functions.rotate_signing_secret(Caller(ACME, "ann"))
    async with opened(dsn, f"{NEW},{OLD}") as engine:
        resealed = (await engine.secrets.rotate()).resealed
    async with opened(dsn, NEW) as engine:
        found = await counts(engine)

    assert resealed == 2
    assert found == [(fingerprint(NEW_KEY), 2)]


async def test_a_rotation_that_is_interrupted_goes_on_and_loses_nothing(dsn: str) -> None:
    class Interrupted(Exception):
        """As Ctrl-C would."""

    def interrupt(count: int) -> None:
        if count >= 2:
            raise Interrupted

    async with opened(dsn, OLD) as engine:
        await put(engine, 4)
    async with opened(dsn, f"{NEW},{OLD}") as engine:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(secrets, "PAGE", 1)
            with pytest.raises(Interrupted):
                await engine.secrets.rotate(interrupt)
        half = await counts(engine)
        rest = await engine.secrets.rotate()

    assert half == [(fingerprint(NEW_KEY), 2), (fingerprint(OLD_KEY), 2)]
    assert (rest.resealed, rest.already) == (2, 2)


async def test_what_is_set_meanwhile_stays_and_what_no_key_opens_is_left_alone(dsn: str, sql: Sql) -> None:
    async with opened(dsn, OLD) as engine:
        await put(engine, 2)
    foreign = Vault([WRONG_KEY]).seal("secret", PLACE)
    async with opened(dsn, f"{NEW},{OLD}") as engine:
        await sql.execute("insert into functions values ('acme', 'eu', 'lost', 'https://x', $1, now(), now())", foreign)
        values = [value async for value in engine.secrets._every()]
        await engine.functions.set(Caller(ACME, "bob"), "f0", "https://a.example/", "another")
        outcomes = [await engine.secrets._reseal(value) for value in values]
        status = await engine.secrets.status()
        endpoint = await _secret_of(engine, "f0")

    assert outcomes == ["already", "resealed", "unopened"]
    assert endpoint == "another"
    assert (status.unopened, "'lost'" in status.unopened_places[0]) == (1, True)


async def _secret_of(engine: Engine, name: str) -> str:
    async for value in engine.secrets._every():
        if value.name == name:
            return engine.kernel.vault.open(value.sealed, value.place)
    raise AssertionError(name)


async def test_every_column_that_is_sealed_is_walked(sql: Sql) -> None:
    """One more kind of sealed value is one more line of KINDS."""
    rows = await sql.fetch(
        "select table_name, column_name from information_schema.columns"
        " where table_schema = 'tidings' and data_type = 'bytea'"
        " and (column_name like '%secret%' or column_name in ('before', 'credentials'))"
    )

    assert {tuple(row) for row in rows} == {(kind.table, kind.column) for kind in KINDS}


# The embedded server's own key file


def test_a_running_process_follows_its_key_file(tmp_path: Path) -> None:
    vault = Vault(keys_kept_in(tmp_path), lambda: keys_kept_in(tmp_path))
    before = vault.seal("s", PLACE)
    add_key(tmp_path)
    newest, old = keys_kept_in(tmp_path)
    elsewhere = Vault([newest]).seal("t", PLACE)

    assert vault.open(elsewhere, PLACE) == "t"  # sealed by another process with the new key
    assert vault.open(before, PLACE) == "s"
    assert Vault([newest]).open(vault.seal("u", PLACE), PLACE) == "u"
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert drop_keys(tmp_path, lambda key: key == old) == 0
    assert drop_keys(tmp_path, lambda key: False) == 1
    assert keys_kept_in(tmp_path) == [newest]


async def test_two_that_add_a_key_at_once_lose_none(tmp_path: Path) -> None:
    keys_kept_in(tmp_path)

    await asyncio.gather(*(asyncio.to_thread(add_key, tmp_path) for _ in range(5)))

    assert len(set(keys_kept_in(tmp_path))) == 6


async def test_the_embedded_server_s_key_is_followed_by_a_new_one_and_kept_while_it_is_needed(
    engine: Engine, tmp_path: Path
) -> None:
    config = Config(data_dir=tmp_path)
    vault = Vault(keys_kept_in(tmp_path), lambda: keys_kept_in(tmp_path))
    own = Engine(replace(engine.kernel, vault=vault))
    await put(own, 2)
    [old] = keys_kept_in(tmp_path)

    await add_own_key(config, own)
    await add_own_key(config, own)  # the first rotation is not finished: no third key
    newest, *others = keys_kept_in(tmp_path)
    kept = await drop_old_keys(config, own)
    rotated = await own.secrets.rotate()
    dropped = await drop_old_keys(config, own)

    assert others == [old]
    assert (kept, rotated.resealed, dropped) == (0, 2, 1)
    assert keys_kept_in(tmp_path) == [newest]


def test_with_keys_of_one_s_own_the_setting_is_named(tidings: Command) -> None:
    refused = tidings("secrets", "prune", TIDINGS_SECRET_KEY=NEW).complaint

    assert "TIDINGS_SECRET_KEY" in refused
    assert tidings("secrets", "rotate", TIDINGS_SECRET_KEY=f"{NEW},{OLD}").out.startswith("0 secrets are sealed")
