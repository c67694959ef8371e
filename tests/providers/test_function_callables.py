"""Functions of the host application: what they are given, what they may return, and what raising means."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests.providers.items import marked, no, yes
from tests.providers.test_functions import function_item
from tidings import FunctionRejected, FunctionRetryLater
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.workflows.function import Endpoint
from tidings.providers.functions import IDEMPOTENT, ONCE, FunctionProvider

BOTH = pytest.mark.parametrize("once", [False, True], ids=["idempotent", "once"])


async def nowhere(_: Workspace, __: str) -> Endpoint | None:
    return None


def provider_with(function: Callable[..., object], *, once: bool = False) -> FunctionProvider:
    return FunctionProvider(
        provider_class=ONCE if once else IDEMPOTENT, directory=nowhere, callables={"send-email": function}
    )


async def outcome_of(function: Callable[..., object], *, once: bool = False, timeout: str = "5") -> Outcome:
    return await provider_with(function, once=once).send(function_item(timeout=timeout), yes)


async def test_an_async_function_gets_action_and_payload_and_its_return_is_the_result() -> None:
    async def send(action: str, payload: Mapping[str, object]) -> dict[str, object]:
        return {"did": action, "to": payload["to"], "n": payload["n"]}

    assert await outcome_of(send) == Accepted(result={"did": "welcome", "to": "ada@example.com", "n": 1.5})


async def test_a_plain_function_runs_in_a_thread_and_holds_up_nobody() -> None:
    threads: list[str] = []
    started, go_on = threading.Event(), threading.Event()

    def send(_action: str, _payload: object) -> str:
        threads.append(threading.current_thread().name)
        started.set()
        go_on.wait(5)
        return "done"

    call = asyncio.create_task(outcome_of(send))
    while not started.is_set():  # only a loop that is not held up gets here
        await asyncio.sleep(0.01)
    go_on.set()

    assert await call == Accepted(result="done")
    assert threads == ["tidings-function"]


async def test_a_plain_function_sees_the_context_of_its_caller() -> None:
    request: contextvars.ContextVar[str] = contextvars.ContextVar("request")
    request.set("r-1")

    assert await outcome_of(lambda _action, _payload: request.get()) == Accepted(result="r-1")


async def test_whatever_can_be_called_will_do() -> None:
    class Sender:
        async def __call__(self, action: str, _payload: object) -> str:
            return action

        async def method(self, action: str, payload: object) -> str:
            return action

    async def with_more(more: int, action: str, _payload: object) -> str:
        return f"{action}{more}"

    assert await outcome_of(Sender()) == Accepted(result="welcome")
    assert await outcome_of(Sender().method) == Accepted(result="welcome")
    assert await outcome_of(partial(with_more, 7)) == Accepted(result="welcome7")
    assert await outcome_of(lambda action, payload: Sender().method(action, payload=payload)) == Accepted(
        result="welcome"
    )


async def test_a_function_that_asks_for_the_key_gets_it() -> None:
    def named(_action: str, _payload: object, *, idempotency_key: str) -> str:
        return idempotency_key

    async def anything(_action: str, _payload: object, **more: object) -> object:
        return more

    assert await outcome_of(named) == Accepted(result="00" * 32)
    assert await outcome_of(anything) == Accepted(result={"idempotency_key": "00" * 32})


async def test_a_registered_function_comes_before_any_address() -> None:
    async def directory(_: Workspace, __: str) -> Endpoint | None:
        raise AssertionError("was asked")

    provider = FunctionProvider(directory=directory, callables={"f": lambda _a, _p: 1})
    item = marked("f", {"action": "a", "payload": "{}", "timeout": "5"})

    assert await provider.send(item, yes) == Accepted(result=1)


async def test_nothing_is_called_when_the_lease_is_spent() -> None:
    calls: list[str] = []

    outcome = await provider_with(lambda action, _payload: calls.append(action)).send(function_item(), no)

    assert outcome == RetryLater("the lease was spent before the call", uses_attempt=False)
    assert calls == []


# Raising


def raising(error: BaseException, *, is_async: bool) -> Callable[..., object]:
    async def asynchronous(_action: str, _payload: object) -> object:
        raise error

    def plain(_action: str, _payload: object) -> object:
        raise error

    return asynchronous if is_async else plain


HOWEVER = pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])


@BOTH
@HOWEVER
async def test_a_function_may_say_which_kind_of_failure_it_was(once: bool, is_async: bool) -> None:
    rejected = raising(FunctionRejected("no such customer"), is_async=is_async)
    later = raising(FunctionRetryLater("locked", timedelta(seconds=9)), is_async=is_async)
    sometime = raising(FunctionRetryLater("locked"), is_async=is_async)

    assert await outcome_of(rejected, once=once) == Rejected("no such customer")
    assert await outcome_of(later, once=once) == RetryLater("locked", timedelta(seconds=9))
    assert await outcome_of(sometime, once=once) == RetryLater("locked")


@HOWEVER
@pytest.mark.parametrize(
    "error", [ValueError("bad\nvalue"), TimeoutError("x"), SystemExit(3), asyncio.CancelledError(), StopIteration(1)]
)
async def test_any_other_exception_is_tried_again_only_where_that_is_declared(
    error: BaseException, is_async: bool
) -> None:
    if is_async and isinstance(error, StopIteration):
        pytest.skip("Python turns it into a RuntimeError itself")

    again = await outcome_of(raising(error, is_async=is_async))
    unknown = await outcome_of(raising(error, is_async=is_async), once=True)

    assert isinstance(again, RetryLater)
    assert again.uses_attempt
    assert isinstance(unknown, Unknown)
    assert type(error).__name__ in unknown.reason
    assert unknown.reason.isprintable()


@BOTH
async def test_a_function_that_takes_too_long_is_unknown(once: bool) -> None:
    release = threading.Event()

    async def asynchronous(_action: str, _payload: object) -> None:
        await asyncio.Event().wait()

    try:
        assert isinstance(await outcome_of(asynchronous, once=once, timeout="0.1"), Unknown)
        assert isinstance(await outcome_of(lambda _a, _p: release.wait(5), once=once, timeout="0.1"), Unknown)
    finally:
        release.set()


async def test_a_cancelled_call_ends_as_cancelled() -> None:
    started = asyncio.Event()

    async def send(_action: str, _payload: object) -> None:
        started.set()
        await asyncio.Event().wait()

    call = asyncio.create_task(outcome_of(send))
    await started.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call


# Results


@pytest.mark.parametrize(
    ("returned", "kept"),
    [
        (None, None),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        ({1: "x"}, {"1": "x"}),
        (Workspace("t", "w"), {"tenant": "t", "name": "w"}),
        ("\x00", "\ufffd"),
        (float("nan"), None),
    ],
)
async def test_what_is_returned_is_kept_as_plain_json(returned: object, kept: object) -> None:
    assert await outcome_of(lambda _a, _p: returned) == Accepted(result=kept)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("returned", [object(), {"a": lambda: 1}, "\ud800", "x" * 1_000_001, nested(200)])
async def test_what_cannot_be_kept_is_refused_and_says_so(returned: object) -> None:
    outcome = await outcome_of(lambda _a, _p: returned)

    assert isinstance(outcome, Rejected)
    assert "send-email returned" in outcome.reason
