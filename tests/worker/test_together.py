"""Parts of one process: what one is told, and how often."""

import asyncio
import gc
from collections.abc import Callable, Iterator

import pytest

from tidings.engine import Engine
from tidings.worker import main
from tidings.worker.main import run_together


class Told:
    """A part that ends so many steps of the loop after it was told to."""

    def __init__(self, steps: int, failure: Exception | None = None) -> None:
        self.times = 0
        self._steps = steps
        self._failure = failure
        self._asked = asyncio.Event()

    async def run(self) -> None:
        if self._failure:
            raise self._failure
        await self._asked.wait()
        for _ in range(self._steps):
            await asyncio.sleep(0)

    def drain(self) -> None:
        self.times += 1
        self._asked.set()


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], None]]]:
    """What a signal would do, without one; the tests' own process is not to ignore them afterwards."""
    handlers: list[Callable[[], None]] = []
    before = gc.get_threshold()
    monkeypatch.setattr(main, "_on_signals", handlers.append)
    monkeypatch.setattr(main, "_ignore_signals", lambda: None)
    yield handlers
    gc.set_threshold(*before)
    gc.unfreeze()


async def test_a_part_that_ends_first_does_not_ask_the_others_again(
    engine: Engine, asking: list[Callable[[], None]]
) -> None:
    """Processes that are asked twice leave at once, and what was in the air is in doubt."""
    api, workers = Told(1), Told(20)
    running = asyncio.create_task(run_together(engine, api, workers))
    while not asking:
        await asyncio.sleep(0)

    asking[0]()

    assert await running == 0
    assert (api.times, workers.times) == (1, 1)


async def test_a_part_that_fails_ends_the_others(engine: Engine, asking: list[Callable[[], None]]) -> None:
    workers = Told(20)

    with pytest.raises(OSError, match="no port"):
        await run_together(engine, Told(0, OSError("no port")), workers)

    assert workers.times == 1
