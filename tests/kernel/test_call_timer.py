"""CallTimer: what `asyncio.timeout` promises, for one call after the other under one timer."""

import asyncio
from collections.abc import Callable
from time import monotonic

import pytest

from tidings.kernel.calls.call_timer import CallTimer

NEVER = 60.0


@pytest.fixture
async def timers(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.TimerHandle]:
    loop, made = asyncio.get_running_loop(), []
    call_at = loop.call_at

    def note(when: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        made.append(timer := call_at(when, callback))
        return timer

    monkeypatch.setattr(loop, "call_at", note)
    return made


async def test_what_takes_too_long_ends_and_the_next_has_all_its_time_again() -> None:
    timer, ends = CallTimer(0.1), []
    for seconds in (0.06, 0.06, NEVER, 0.06, NEVER):
        began = monotonic()
        try:
            with timer:
                await asyncio.sleep(seconds)
            ends.append(True)
        except TimeoutError:
            assert monotonic() - began >= 0.09
            ends.append(False)

    assert ends == [True, True, False, True, False]
    assert _asked_to_end() == 0


async def test_one_call_may_have_less_time_than_the_others() -> None:
    timer, ends = CallTimer(NEVER), []
    with timer:
        pass
    for shorter in (0.02, None, 0.02):
        if shorter:
            timer.at_most(shorter)
        try:
            with timer:
                await asyncio.sleep(0.1)
            ends.append(timer.is_cut)
        except TimeoutError:
            ends.append(timer.is_cut)

    assert ends == [True, False, True]
    assert timer.at_most(2 * NEVER) is timer
    with timer:
        pass
    timer.end()
    assert (timer.is_cut, _asked_to_end()) == (False, 0)


async def test_many_that_end_at_once_need_one_timer(timers: list[asyncio.TimerHandle]) -> None:
    timer = CallTimer(NEVER)

    for _ in range(100):
        with timer:
            pass
    timer.end()

    assert [timer.cancelled() for timer in timers] == [True]


async def test_nobody_is_disturbed_between_two_calls() -> None:
    timer = CallTimer(0.01)
    with timer:
        pass

    await asyncio.sleep(0.05)

    with pytest.raises(TimeoutError), timer:
        await asyncio.sleep(NEVER)


async def test_whoever_cancels_the_task_ends_it_even_if_the_time_is_over_too() -> None:
    begun = asyncio.Event()

    async def call() -> None:
        with CallTimer(0):
            begun.set()
            await asyncio.sleep(NEVER)

    task = asyncio.create_task(call())
    await begun.wait()
    while not task.cancelling():  # until the time is over, but before the task has heard of it
        await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_task_that_was_cancelled_in_time_is_cancelled() -> None:
    async def call() -> None:
        with CallTimer(NEVER):
            await asyncio.sleep(NEVER)

    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_answer_given_in_spite_of_the_end_counts_and_cancels_nothing_later() -> None:
    timer = CallTimer(0)
    with timer:
        try:
            await asyncio.sleep(NEVER)
        except asyncio.CancelledError:
            answer = "all the same"

    await asyncio.sleep(0)

    assert answer == "all the same"
    assert _asked_to_end() == 0


async def test_another_error_is_not_taken_for_the_end_of_the_time() -> None:
    with pytest.raises(ZeroDivisionError), CallTimer(NEVER):
        raise ZeroDivisionError


def _asked_to_end() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()
