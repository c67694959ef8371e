"""One call of a provider, within the time it has. Reached from deliver.py, which decides when it may begin."""

import asyncio
from datetime import datetime
from traceback import format_tb

from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Outcome, RetryLater, Unavailable, Unknown
from tidings.domain.flow.outgoing import TimeLimit
from tidings.domain.flow.provider import MayStart, Provider
from tidings.kernel.calls.call_timer import CallTimer, is_task_cancelled
from tidings.log import log


async def call_provider(provider: Provider, item: Marked, may_start: MayStart, timer: CallTimer) -> Outcome:
    """Make one call within its deadline; whatever is not a clear answer is Unknown."""
    try:
        with timer:
            outcome = await provider.send(item, may_start)
    except TimeoutError:
        return Unknown(f"no answer within {timer.seconds:g} s", is_unanswered=True)
    except (Exception, asyncio.CancelledError) as error:  # a bug of the provider; the request may have left anyway
        if isinstance(error, asyncio.CancelledError) and is_task_cancelled():
            raise
        # Where it was raised, without its text: that may quote the message.
        kind, stack = type(error).__name__, "".join(format_tb(error.__traceback__))
        log.error("provider_raised", item=str(item.id), provider=provider.name, error=kind, stack=stack)
        return Unknown(f"{kind}: {error}", kind)
    # One provider name stands for many functions: an outage of one costs its own items attempts, and rests no other.
    if isinstance(outcome, Unavailable) and item.channel is Channel.FUNCTION:
        return RetryLater(outcome.reason)
    return outcome


async def call_in_time(
    provider: Provider, item: Marked, may_start: MayStart, timer: CallTimer, limit: TimeLimit | None, now: datetime
) -> tuple[Outcome, bool]:
    """Make one call; return its outcome, and whether it was cut short because its owner's time was over."""
    if limit is None:
        return await call_provider(provider, item, may_start, timer), False
    if limit.at <= now:
        return RetryLater(limit.reason, uses_attempt=False), False  # the worker that claims its owner next ends it
    timer.at_most((limit.at - now).total_seconds())
    outcome = await call_provider(provider, item, may_start, timer)
    return (Unknown(limit.reason, is_unanswered=True), True) if timer.is_cut else (outcome, False)
