"""Where functions are kept: whose they are, which address wins, and that secrets are sealed."""

from datetime import timedelta
from typing import TypeAlias

import asyncpg
import pytest

from tests.conftest import ManualClock
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.workflows.function import BASE, Endpoint
from tidings.domain.workspace_patterns import workspace_patterns
from tidings.storage.database import Database
from tidings.storage.directory import KEPT_SECONDS, MOST_KEPT, FunctionDirectory, OperatorsFunctions, place_of
from tidings.storage.functions import delete_function, find_function, list_functions, upsert_function
from tidings.storage.vault import Vault

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
HERE, ELSEWHERE, OTHER_TENANT = Workspace(), Workspace("default", "eu"), Workspace("acme", "default")
SECRET = "the-secret-of-a-function"
VAULT = Vault([bytes(range(32))])


class Seconds:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def put(
    db: Database,
    clock: ManualClock,
    name: str,
    url: str,
    secret: str | None = None,
    workspace: Workspace = HERE,
) -> None:
    sealed = None if secret is None else VAULT.seal(secret, place_of(workspace, name))
    async with db.autocommit() as tx:
        await upsert_function(
            tx,
            workspace=workspace,
            name=name,
            url=url,
            sealed=sealed,
            now=clock.time,
        )


def directory_on(db: Database, base: Endpoint | None = None, seconds: Seconds | None = None) -> FunctionDirectory:
    operators = OperatorsFunctions(base, workspace_patterns(["*/*"]))
    directory = FunctionDirectory(operators, monotonic=seconds or Seconds())
    directory.connect(db, VAULT, ManualClock())
    return directory


# The table


async def test_functions_are_listed_by_name_without_their_secrets(db: Database, clock: ManualClock) -> None:
    await put(db, clock, "b", "https://b.example/")
    await put(db, clock, "a", "https://a.example/", SECRET)

    async with db.autocommit() as tx:
        listed = await list_functions(tx, workspace=Workspace())

    assert [(one.name, one.url, one.has_secret) for one in listed] == [
        ("a", "https://a.example/", True),
        ("b", "https://b.example/", False),
    ]
    assert SECRET not in repr(listed)


async def test_setting_a_function_again_keeps_its_secret_only_for_the_same_address(
    db: Database, clock: ManualClock
) -> None:
    await put(db, clock, "f", "https://a.example/", SECRET)
    created = clock.time
    clock.advance(hours=1)
    await put(db, clock, "f", "https://a.example/")
    same = await directory_on(db).find(HERE, "f")
    await put(db, clock, "f", "https://b.example/")
    moved = await directory_on(db).find(HERE, "f")

    async with db.autocommit() as tx:
        [listed] = await list_functions(tx, workspace=Workspace())

    assert same == Endpoint("https://a.example/", SECRET)
    assert moved == Endpoint("https://b.example/", None)
    assert (listed.created_at, listed.updated_at) == (created, created + timedelta(hours=1))


async def test_a_function_can_be_forgotten_once(db: Database, clock: ManualClock) -> None:
    await put(db, clock, "f", "https://a.example/")

    async with db.autocommit() as tx:
        first = await delete_function(tx, workspace=Workspace(), name="f")
        second = await delete_function(tx, workspace=Workspace(), name="f")
        found = await find_function(tx, workspace=Workspace(), name="f", now=clock.time)

    assert (first, second, found.url) == ("f", None, None)


async def test_a_function_belongs_to_one_workspace_of_one_tenant(db: Database, clock: ManualClock) -> None:
    await put(db, clock, "f", "https://a.example/")

    assert await directory_on(db).find(HERE, "f") is not None
    assert await directory_on(db).find(ELSEWHERE, "f") is None
    assert await directory_on(db).find(OTHER_TENANT, "f") is None


async def test_the_database_holds_no_secret_in_the_clear(db: Database, clock: ManualClock, sql: Sql) -> None:
    await put(db, clock, "f", "https://a.example/", SECRET)

    row = await sql.fetchval("select functions::text || encode(secret, 'escape') from functions")

    assert SECRET not in row
    assert SECRET.encode().hex() not in row


async def test_only_the_owner_of_the_tables_sees_functions(sql: Sql) -> None:
    assert await sql.fetchval("select relrowsecurity from pg_class where oid = 'functions'::regclass")


# The directory


async def test_an_own_address_comes_before_the_workspace_s_base_and_that_before_the_settings(
    db: Database, clock: ManualClock
) -> None:
    settings = Endpoint("https://settings.example", "of-the-settings")

    first = await directory_on(db, settings).find(HERE, "f")
    await put(db, clock, BASE, "https://base.example", "of-the-base")
    second = await directory_on(db, settings).find(HERE, "f")
    await put(db, clock, "f", "https://own.example/call", "of-its-own")
    third = await directory_on(db, settings).find(HERE, "f")

    assert [(one.url, one.secret) for one in (first, second, third) if one] == [
        ("https://settings.example/functions/v1/f", "of-the-settings"),
        ("https://base.example/functions/v1/f", "of-the-base"),
        ("https://own.example/call", "of-its-own"),
    ]


async def test_no_secret_goes_to_another_address(db: Database, clock: ManualClock) -> None:
    settings = Endpoint("https://settings.example", "of-the-settings")
    await put(db, clock, BASE, "https://base.example")
    await put(db, clock, "f", "https://own.example/")

    own = await directory_on(db, settings).find(HERE, "f")
    other = await directory_on(db, settings).find(HERE, "g")

    assert own is not None
    assert other is not None
    assert (own.secret, other.secret) == (None, None)


async def test_without_any_address_there_is_no_endpoint(db: Database) -> None:
    assert await directory_on(db).find(HERE, "f") is None


async def test_an_address_is_remembered_for_a_few_seconds(db: Database, clock: ManualClock) -> None:
    seconds = Seconds()
    directory = directory_on(db, seconds=seconds)
    await put(db, clock, "f", "https://a.example/")
    await directory.find(HERE, "f")
    await put(db, clock, "f", "https://b.example/")

    seconds.now += KEPT_SECONDS - 0.1
    kept = await directory.find(HERE, "f")
    seconds.now += 0.2
    fresh = await directory.find(HERE, "f")

    assert kept == Endpoint("https://a.example/")
    assert fresh == Endpoint("https://b.example/")


async def test_the_memory_of_addresses_is_bounded() -> None:
    directory = FunctionDirectory(monotonic=Seconds())

    for number in range(MOST_KEPT + 5):
        await directory.find(HERE, f"f{number}")

    assert len(directory._kept) <= MOST_KEPT


async def test_a_secret_that_cannot_be_opened_is_an_error_and_not_a_call_without_one(
    db: Database, clock: ManualClock
) -> None:
    await put(db, clock, "f", "https://a.example/", SECRET)
    directory = FunctionDirectory()
    directory.connect(db, Vault([bytes(32)]), clock)

    with pytest.raises(ConfigInvalid, match="TIDINGS_SECRET_KEY"):
        await directory.find(HERE, "f")


async def test_a_secret_copied_to_another_row_opens_nothing(db: Database, clock: ManualClock, sql: Sql) -> None:
    await put(db, clock, "f", "https://a.example/", SECRET)
    await sql.execute(
        "insert into functions select 'acme', workspace_id, name, 'https://evil.example/', secret, created_at,"
        " updated_at from functions"
    )

    with pytest.raises(ConfigInvalid):
        await directory_on(db).find(OTHER_TENANT, "f")
