"""Somebody to ask, and somebody of another workspace."""

import pytest

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace


@pytest.fixture
def caller() -> Caller:
    return Caller(Workspace(), "ann")


@pytest.fixture
def stranger() -> Caller:
    return Caller(Workspace("default", "elsewhere"), "eve")
