"""The virtual clock: it stands still until it is moved, and never goes back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tidings.domain.errors import InputInvalid
from tidings.testing import VirtualClock

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


async def test_it_stands_still_until_it_is_moved() -> None:
    clock = VirtualClock(NOON)

    assert (clock.time, await clock.now(), clock.carried()) == (NOON, NOON, NOON)

    clock.advance(timedelta(days=1), hours=2)

    assert clock.time == datetime(2026, 3, 3, 14, tzinfo=UTC)


def test_it_does_not_go_back() -> None:
    clock = VirtualClock(NOON)

    with pytest.raises(InputInvalid, match="does not go back"):
        clock.set(NOON - timedelta(microseconds=1))
    with pytest.raises(InputInvalid, match="does not go back"):
        clock.advance(days=-1)

    assert clock.time == NOON


def test_a_moment_without_a_zone_is_refused_and_any_zone_is_taken() -> None:
    with pytest.raises(InputInvalid, match="no time zone"):
        VirtualClock(datetime(2026, 3, 2, 12))
    clock = VirtualClock(NOON)

    clock.set(datetime(2026, 3, 2, 15, tzinfo=timezone(timedelta(hours=2))))

    assert clock.time == NOON + timedelta(hours=1)
