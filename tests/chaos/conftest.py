"""An arena for each test, of the patience that the test asks for."""

from collections.abc import AsyncIterator

import pytest

from tests.chaos import processes
from tests.chaos.arena import Arena, Timing, open_arena
from tests.chaos.proof import SEED
from tests.warm import Warm


@pytest.fixture(autouse=True)
def fork_processes(forked: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of workers are started here, and the start is none of what is proved."""
    monkeypatch.setattr(processes, "warm", forked)


@pytest.fixture
async def arena(request: pytest.FixtureRequest) -> AsyncIterator[Arena]:
    timing: Timing | None = getattr(request, "param", None)
    async with open_arena(SEED, timing) as arena:
        yield arena
