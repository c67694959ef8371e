"""Triggers one by one: stored together when they come at once, each answered for itself."""

import asyncio

import pytest

from tests.kernel.scenes import email, graph
from tests.stored import stored_execution
from tidings.domain.errors import DataMissing, NotFound, StorageUnavailable
from tidings.engine import Engine
from tidings.kernel.start import trigger_batch as module
from tidings.kernel.start.trigger import Started, store_triggers

GREETING = graph(email(to="{{ email }}"))


@pytest.fixture
async def stored(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many triggers each transaction was for."""
    await engine.define("flow", GREETING)
    sizes: list[int] = []
    store = store_triggers

    async def counted(*arguments: object, **more: object) -> list[Started]:
        sizes.append(len(arguments[2].fresh))  # type: ignore[attr-defined]
        return await store(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "store_triggers", counted)
    return sizes


async def trigger(engine: Engine, key: str, **data: object) -> Started:
    return await engine.trigger("flow", {"email": "ada@example.com"} | data, key)


async def test_what_comes_at_once_is_stored_together(engine: Engine, stored: list[int]) -> None:
    started = await asyncio.gather(*(trigger(engine, f"k{number}") for number in range(50)))

    assert len({one.id for one in started}) == 50
    assert not any(one.duplicate for one in started)
    assert stored == [50]


async def test_a_lone_trigger_waits_for_nobody(engine: Engine, stored: list[int]) -> None:
    await trigger(engine, "k1")
    await trigger(engine, "k2")

    assert stored == [1, 1]


async def test_the_same_key_at_once_is_one_execution_and_one_of_them_started_it(
    engine: Engine, stored: list[int]
) -> None:
    started = await asyncio.gather(*(trigger(engine, "same") for _ in range(20)))

    assert len({one.id for one in started}) == 1
    assert [one.duplicate for one in started].count(False) == 1


async def test_a_trigger_that_is_wrong_costs_the_others_nothing(engine: Engine, stored: list[int]) -> None:
    good, bad, other = await asyncio.gather(
        trigger(engine, "k1"),
        engine.trigger("flow", {}, "k2"),
        trigger(engine, "k3"),
        return_exceptions=True,
    )

    assert isinstance(bad, DataMissing)
    assert isinstance(good, Started)
    assert isinstance(other, Started)


async def test_wrong_data_does_not_take_the_key_from_right_data(engine: Engine, stored: list[int]) -> None:
    bad, good = await asyncio.gather(engine.trigger("flow", {}, "k1"), trigger(engine, "k1"), return_exceptions=True)

    assert isinstance(bad, DataMissing)
    assert isinstance(good, Started)
    assert not good.duplicate
    assert (await stored_execution(engine, good.id)).input == {"email": "ada@example.com"}


async def test_whoever_waits_hears_of_trouble(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(*_: object) -> None:
        raise StorageUnavailable("no database")

    monkeypatch.setattr(module, "find_workflow", down)
    first, second = await asyncio.gather(trigger(engine, "k1"), trigger(engine, "k2"), return_exceptions=True)

    assert isinstance(first, StorageUnavailable)
    assert isinstance(second, StorageUnavailable)
    monkeypatch.undo()
    with pytest.raises(NotFound):
        await trigger(engine, "k1")


async def test_somebody_who_leaves_holds_up_nobody(engine: Engine, stored: list[int]) -> None:
    leaving = asyncio.create_task(trigger(engine, "k1"))
    staying = asyncio.create_task(trigger(engine, "k2"))
    await asyncio.sleep(0)
    leaving.cancel()

    assert not (await staying).duplicate
    assert (await trigger(engine, "k1")).duplicate, "it was stored all the same, and its key answers for it"


async def test_more_than_fit_into_one_transaction_go_into_the_next(
    engine: Engine, stored: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 4)

    await asyncio.gather(*(trigger(engine, f"k{number}") for number in range(10)))

    assert stored == [4, 4, 2]
