"""Calls to functions: a Python callable of the host application, or a POST in the form of named workflows.

Two providers share this code. `functions` is keyed: its functions are declared idempotent, as steps are, and may be
called again with the same key and the same bytes. `functions_once` is blind: whatever is not a clear answer is left in
doubt. function_answer.py says what answers mean; of a callable, what it returns is the result, and an exception of
its own making (neither FunctionRejected nor FunctionRetryLater) means "later" where it may be called again and
"unknown" where it may not, since nothing shows how far it had come.
"""

import asyncio
import contextvars
import inspect
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from tidings.domain.errors import ConfigInvalid, InputInvalid, StorageUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Blind, CannotTell, Doubtful, Evidence, Keyed, MayStart, ProviderClass
from tidings.domain.workflows.function import (
    Directory,
    Endpoint,
    FunctionCallable,
    FunctionRejected,
    FunctionRetryLater,
    check_name,
)
from tidings.providers.function_answer import (
    LARGEST_ANSWER,
    LONGEST_ERROR,
    Question,
    Unusable,
    judge,
    read_result,
)
from tidings.providers.http_request import HttpAnswer
from tidings.providers.mask import Mask
from tidings.providers.printable import printable

if TYPE_CHECKING:
    from tidings.providers.function_call import FunctionCaller

IDEMPOTENT = Keyed(retention=timedelta(days=30))
ONCE = Blind()

_LEASE_SPENT = RetryLater("the lease was spent before the call", uses_attempt=False)


class FunctionProvider:
    """Calls functions by name; `provider_class` is IDEMPOTENT or ONCE."""

    def __init__(
        self,
        name: str = "functions",
        *,
        provider_class: ProviderClass = IDEMPOTENT,
        directory: Directory,
        callables: Mapping[str, FunctionCallable] | None = None,
        concurrency: int = 100,
        call_deadline: timedelta = timedelta(seconds=60),
        tls_context: ssl.SSLContext | None = None,
    ) -> None:
        self.name = name
        self.provider_class = provider_class
        self.concurrency = concurrency
        self.call_deadline = call_deadline
        self._may_repeat = isinstance(provider_class, Keyed)
        self._directory = directory
        self._callables = dict(callables or {})
        self._tls_context = tls_context
        self._http: FunctionCaller | None = None

    def __repr__(self) -> str:
        return f"FunctionProvider({self.name!r})"

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Call the function that the item names; never raises for what a function or the network does."""
        function = self._callables.get(item.recipient)
        if function is not None:
            return await self._call_python(function, item, may_start)
        until = asyncio.get_running_loop().time() + self._seconds(item)
        endpoint = await self._find(item, until)
        return await self._post(endpoint, item, until, may_start) if isinstance(endpoint, Endpoint) else endpoint

    async def host_of(self, workspace: Workspace, recipient: str) -> str | None:
        """Return the host and port of a function; None for one of this process, and for one that cannot be found."""
        if recipient in self._callables:
            return None
        try:
            endpoint = await self._directory(workspace, recipient)
        except (ConfigInvalid, StorageUnavailable, InputInvalid):
            return None  # the call itself says what is wrong
        return endpoint.host if endpoint else None

    async def look_up(self, item: Doubtful) -> Evidence:  # noqa: ARG002
        """Tell nothing: a function has no question for this."""
        return CannotTell("a function cannot be asked what became of a call")

    async def close(self) -> None:
        """Let go of connections."""
        if self._http is not None:
            await self._http.close()

    def _seconds(self, item: Marked) -> float:
        """How long this call may take: its own timeout, and always a little less than the kernel waits.

        Otherwise the kernel's patience could end first, and it does not know whether anything was sent.
        """
        most = self.call_deadline.total_seconds()
        most -= min(1.0, most / 10)
        try:
            wanted = float(item.payload.get("timeout", most))
        except ValueError:
            return most
        return min(wanted, most) if wanted > 0 else most

    # Over HTTP

    async def _find(self, item: Marked, until: float) -> Endpoint | Outcome:
        name = item.recipient
        try:
            check_name(name)
            async with asyncio.timeout_at(until):
                endpoint = await self._directory(item.workspace, name)
        except (ConfigInvalid, StorageUnavailable, TimeoutError) as error:
            problem = str(error) or "the deadline of the call passed"
            return RetryLater(f"the function {name!r} could not be looked up: {problem}", uses_attempt=False)
        except InputInvalid as error:
            return Rejected(str(error))
        if endpoint is None:
            return Rejected(
                f"there is no function {name!r}: register it in the application given with --app, set its URL or the "
                "workspace's base with `tidings functions set`, or set TIDINGS_FUNCTIONS_URL"
            )
        return endpoint

    async def _post(self, endpoint: Endpoint, item: Marked, until: float, may_start: MayStart) -> Outcome:
        from tidings.providers.function_call import FunctionRequest  # noqa: PLC0415 – as in _caller

        mask = Mask(endpoint.secrets)
        question = Question(f"{item.recipient}/{item.payload['action']}", self._may_repeat, mask)
        request = FunctionRequest(endpoint, question, _body(item), item.key.hex(), item.workspace)
        answer = await self._caller().call(request, until, may_start)
        return judge(question, answer, datetime.now(UTC)) if isinstance(answer, HttpAnswer) else answer

    def _caller(self) -> "FunctionCaller":
        # Only who calls over HTTP pays for the client at start.
        from tidings.providers.function_call import FunctionCaller  # noqa: PLC0415

        if self._http is None:
            self._http = FunctionCaller(
                connections=self.concurrency,
                keep_connections=self._may_repeat,
                tls_context=self._tls_context,
            )
        return self._http

    # In this process

    async def _call_python(self, function: FunctionCallable, item: Marked, may_start: MayStart) -> Outcome:
        payload = msgspec.json.decode(item.payload["payload"])
        call = partial(function, item.payload["action"], payload, **_extra_arguments(function, item))
        if not may_start():
            return _LEASE_SPENT
        seconds = self._seconds(item)
        try:
            async with asyncio.timeout(seconds):
                return await self._outcome_of(call, item)
        except TimeoutError:
            # A thread cannot be stopped: it may continue, and do its work after all.
            return Unknown(f"{item.recipient} gave no answer within {seconds:g} s")

    async def _outcome_of(self, call: Callable[[], Any], item: Marked) -> Outcome:
        try:
            result = await (call() if _is_async(call) else _in_thread(call))
            if inspect.isawaitable(result):
                result = await result
        except FunctionRejected as rejected:
            return Rejected(printable(rejected.reason, LONGEST_ERROR))
        except FunctionRetryLater as later:
            return RetryLater(printable(later.reason, LONGEST_ERROR), later.delay)
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if _is_cancelled():
                raise
            reason = printable(f"{type(error).__name__}: {error}", LONGEST_ERROR)
            return RetryLater(reason) if self._may_repeat else Unknown(reason)
        return _returned(result, item.recipient)


def _body(item: Marked) -> bytes:
    """The request; the payload is the stored string itself, so a repeat has the same bytes."""
    return msgspec.json.encode(
        {"action": item.payload["action"], "payload": msgspec.Raw(item.payload["payload"].encode())}
    )


def _words(failure: BaseException) -> str:
    return printable(str(failure) or type(failure).__name__, LONGEST_ERROR)


def _extra_arguments(function: FunctionCallable, item: Marked) -> dict[str, str]:
    """The key, for a callable that takes one."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    takes = "idempotency_key" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return {"idempotency_key": item.key.hex()} if takes else {}


def _is_async(call: Callable[[], Any]) -> bool:
    function = call.func if isinstance(call, partial) else call
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _is_cancelled() -> bool:
    """Whether this task is asked to end, as opposed to a callable that cancelled something of its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _in_thread(call: Callable[[], Any]) -> Any:
    """Run what would hold up the loop in a thread of its own, which never keeps the process from ending."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)

    def run() -> None:
        result, failure = None, None
        try:
            result = context.run(call)
        except BaseException as error:
            failure = _raisable(error)
        with suppress(RuntimeError):  # the loop has ended, and no task waits any more
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="tidings-function", daemon=True).start()
    return await done


def _raisable(error: BaseException) -> BaseException:
    """A future refuses StopIteration, which would end the task that awaits it."""
    return RuntimeError(f"StopIteration: {error}") if isinstance(error, StopIteration) else error


def _returned(result: object, name: str) -> Outcome:
    """What a callable returned, as it can be kept: plain JSON of a bounded size."""
    try:
        text = msgspec.json.encode(result)
        if len(text) > LARGEST_ANSWER:
            return Rejected(f"{name} returned more than {LARGEST_ANSWER:,} bytes: let it return less")
        return Accepted(result=read_result(text))
    except (TypeError, ValueError, OverflowError, RecursionError, Unusable) as error:
        return Rejected(f"{name} returned what cannot be kept as JSON: {_words(error)}")
