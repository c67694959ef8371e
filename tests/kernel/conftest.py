"""More workers on the same database."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

import pytest

from tests.conftest import ManualClock, make_engine
from tidings.engine import Engine
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database

MakeWorker: TypeAlias = Callable[[Limits], Awaitable[Engine]]


@pytest.fixture
async def make_worker(db: Database, clock: ManualClock, provider: FakeProvider) -> AsyncIterator[MakeWorker]:
    """Workers with limits of their own."""
    made: list[Engine] = []

    async def make(limits: Limits) -> Engine:
        made.append(await make_engine(db, clock, provider, limits))
        return made[-1]

    yield make
    for engine in made:
        await engine.kernel.notifier.close()
        await engine.kernel.renderer.close()


@pytest.fixture
async def other(make_worker: MakeWorker) -> Engine:
    """A second worker."""
    return await make_worker(Limits())
