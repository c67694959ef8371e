"""Ask a provider what became of an earlier call, within the time a call has. Reached from doubt.py."""

import asyncio
from uuid import UUID

import structlog

from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Provider
from tidings.kernel.calls.call_timer import is_task_cancelled

log = structlog.get_logger()


async def look_up(provider: Provider, id: UUID, item: Doubtful) -> Evidence:
    """What the provider knows of one item; whatever is not a clear answer tells nothing."""
    try:
        async with asyncio.timeout(provider.call_deadline.total_seconds()):
            return await provider.look_up(item)
    except TimeoutError:
        return CannotTell("no answer in time")
    except (Exception, asyncio.CancelledError) as error:  # a defect of the provider must not take the batch with it
        if isinstance(error, asyncio.CancelledError) and is_task_cancelled():
            raise
        log.exception("look_up_raised", item=str(id), provider=provider.name)
        return CannotTell(f"{type(error).__name__}: {error}")
