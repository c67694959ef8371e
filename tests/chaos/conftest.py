"""An arena for each test, of the patience that the test asks for."""

from collections.abc import AsyncIterator

import pytest

from tests.chaos.arena import Arena, Timing, open_arena
from tests.chaos.proof import SEED


@pytest.fixture
async def arena(request: pytest.FixtureRequest) -> AsyncIterator[Arena]:
    timing: Timing | None = getattr(request, "param", None)
    async with open_arena(SEED, timing) as arena:
        yield arena
