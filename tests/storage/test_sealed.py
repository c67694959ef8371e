"""Keys that do not open what is stored are found at a start, at a cost that does not grow with what is stored."""

from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.ids import Workspace
from tidings.storage.database import Database
from tidings.storage.directory import place_of
from tidings.storage.functions import upsert_function
from tidings.storage.sealed import require_opened, unopened
from tidings.storage.vault import Vault

OLD, NEW, WRONG = bytes(range(32)), bytes(range(32, 64)), bytes(32)
HERE, ELSEWHERE = Workspace(), Workspace("acme", "eu")


async def put(db: Database, clock: ManualClock, name: str, key: bytes | None, workspace: Workspace = HERE) -> None:
    """Store a function, a minute after the one before; without a key it has no secret."""
    clock.advance(minutes=1)
    sealed = Vault([key]).seal("secret", place_of(workspace, name)) if key else None
    async with db.autocommit() as tx:
        await upsert_function(
            tx,
            workspace=workspace,
            name=name,
            url="https://a.example/",
            sealed=sealed,
            now=clock.time,
        )


async def test_any_key_will_do_while_nothing_is_sealed(db: Database, clock: ManualClock) -> None:
    await put(db, clock, "open", None)

    for keys in ([], [WRONG]):
        await require_opened(db, Vault(keys), "TIDINGS_SECRET_KEY")


async def test_a_wrong_key_is_refused_with_what_it_does_not_open_and_what_to_do(
    db: Database, clock: ManualClock
) -> None:
    await put(db, clock, "f", OLD, ELSEWHERE)

    with pytest.raises(ConfigInvalid) as refused:
        await require_opened(db, Vault([WRONG]), "TIDINGS_SECRET_KEY")

    assert str(refused.value) == (
        "TIDINGS_SECRET_KEY does not open the stored secret of function 'f' in workspace 'eu' of tenant 'acme'; "
        "set TIDINGS_SECRET_KEY to the key that sealed it (several with commas between, the newest first); "
        "if that key is lost, run 'tidings db forget-secrets'"
    )


async def test_keys_are_exchanged_by_putting_the_new_one_in_front_of_the_old(db: Database, clock: ManualClock) -> None:
    await put(db, clock, "f", OLD)
    await put(db, clock, "g", NEW)

    await require_opened(db, Vault([NEW, OLD]), "TIDINGS_SECRET_KEY")
    with pytest.raises(ConfigInvalid, match="function 'f'"):
        await require_opened(db, Vault([NEW]), "TIDINGS_SECRET_KEY")
    await put(db, clock, "f", NEW)
    await require_opened(db, Vault([NEW]), "TIDINGS_SECRET_KEY")


async def test_no_key_at_all_is_said_to_be_missing(db: Database, clock: ManualClock) -> None:
    for name in ("f", "g", "h"):
        await put(db, clock, name, OLD)

    with pytest.raises(ConfigInvalid, match=r"^TIDINGS_SECRET_KEY is not set, so nothing opens .* and of 2 more; set "):
        await require_opened(db, Vault(), "TIDINGS_SECRET_KEY")


@pytest.mark.parametrize("place", ["oldest", "newest"])
async def test_a_few_of_the_oldest_and_of_the_newest_are_tried_however_many_there_are(
    db: Database, clock: ManualClock, place: str
) -> None:
    if place == "oldest":
        await put(db, clock, "odd", OLD)
    for number in range(20):
        await put(db, clock, f"f{number}", NEW)
    if place == "newest":
        await put(db, clock, "odd", OLD)
    tried: list[bytes] = []

    class Counting(Vault):
        def opens(self, sealed: bytes, place: tuple[str, ...]) -> bool:
            tried.append(sealed)
            return super().opens(sealed, place)

    [found] = await unopened(db, Counting([NEW]), most=3)

    assert found.function == "odd"
    assert len(tried) == 6


async def test_what_lies_in_the_middle_is_found_when_all_are_asked_for(db: Database, clock: ManualClock) -> None:
    clock.advance(seconds=timedelta(days=1).total_seconds())
    for name, key in (("a", NEW), ("b", OLD), ("c", NEW)):
        await put(db, clock, name, key)

    assert await unopened(db, Vault([NEW]), most=1) == []
    assert [one.function for one in await unopened(db, Vault([NEW]), most=3)] == ["b"]
