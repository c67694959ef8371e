"""The model keeps its rules: in every state of small sizes, and on ten thousand random ways through large ones."""

import pytest

from tests.model.checker import explore, first_violation
from tests.model.settings import EVERY, WIDE

SEEDS = 10_000
LENGTH = 16


@pytest.mark.parametrize("name", EVERY)
def test_every_state_that_can_be_reached_keeps_the_rules(name: str) -> None:
    explored = explore(EVERY[name])

    assert explored.violation is None, str(explored.violation)
    assert len(explored.states) > 100


@pytest.mark.parametrize("name", WIDE)
def test_ten_thousand_random_ways_keep_the_rules(name: str) -> None:
    violation = first_violation(WIDE[name], range(-(-SEEDS // len(WIDE))), LENGTH)

    assert violation is None, str(violation)
