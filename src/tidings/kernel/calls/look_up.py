"""Ask a provider what became of an earlier call, within the time a call has. Reached from doubt.py."""

import asyncio
from uuid import UUID

from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Provider
from tidings.kernel.calls.call_timer import is_task_cancelled
from tidings.log import log


async def look_up(provider: Provider, id: UUID, item: Doubtful) -> Evidence:
    """Return what the provider knows of one item; an unclear answer counts as no answer."""
    try:
        async with asyncio.timeout(provider.call_deadline.total_seconds()):
            return await provider.look_up(item)
    except TimeoutError:
        return CannotTell("no answer in time")
    except (Exception, asyncio.CancelledError) as error:  # a bug in the provider's code must not fail the whole batch
        if isinstance(error, asyncio.CancelledError) and is_task_cancelled():
            raise
        log.exception("look_up_raised", item=str(id), provider=provider.name)
        return CannotTell(f"{type(error).__name__}: {error}")
