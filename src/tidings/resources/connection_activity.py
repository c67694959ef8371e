"""What a connection has done lately: how much, how fast, what went wrong, and how much of its limits is used.

Reached from connections.py. It reads the newest items of every shard, so it is for one connection that somebody looks
at, and not for lists.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from tidings.domain.connections.limits import DAY, MINUTE, SECOND
from tidings.domain.flow.ids import Shard, Workspace, first_id_at
from tidings.kernel.kernel import Kernel
from tidings.storage import connection_use, connections
from tidings.storage.connection_use import UsedPlaces
from tidings.storage.connections import ProviderSum
from tidings.storage.database import Tx
from tidings.views.connections import ConnectionActivity
from tidings.views.executions import Attempt

LATELY = timedelta(minutes=10)
MOST_ERRORS = 5
_NAMES = {SECOND: "perSecond", MINUTE: "perMinute", DAY: "perDay"}


async def read_activity(kernel: Kernel, workspace: Workspace, provider: str) -> ConnectionActivity:
    """Return what one connection of a workspace has done lately."""
    since = await kernel.clock.now() - LATELY
    found = await asyncio.gather(
        *(_in_shard(kernel, shard, workspace, provider, since) for shard in kernel.every_shard())
    )
    sent = sum(one.sent for one, _, _ in found)
    errors = sorted((error for _, _, some in found for error in some), key=lambda one: one.ended_at, reverse=True)
    used = await kernel.db.persist(partial(connection_use.read_use, provider=provider), alone=True)
    return ConnectionActivity(
        since=since,
        sent=sent,
        failed=sum(one.failed for one, _, _ in found),
        per_minute=round(sent / (LATELY / timedelta(minutes=1)), 2),
        average_seconds=round(sum(one.seconds for one, _, _ in found) / sent, 3) if sent else None,
        in_doubt=sum(doubt for _, doubt, _ in found),
        last_errors=errors[:MOST_ERRORS],
        used=_used(used, since + LATELY),
    )


async def _in_shard(
    kernel: Kernel, shard: Shard, workspace: Workspace, provider: str, since: datetime
) -> tuple[ProviderSum, int, list[Attempt]]:
    first = first_id_at(since)

    async def read(tx: Tx) -> tuple[ProviderSum, int, list[Attempt]]:
        return (
            await connections.sum_up_provider(tx, shard=shard, workspace=workspace, provider=provider, since=first),
            await connections.count_doubt_of_provider(tx, shard=shard, workspace=workspace, provider=provider),
            await connections.list_errors_of_provider(
                tx, shard=shard, workspace=workspace, provider=provider, since=first, limit=MOST_ERRORS
            ),
        )

    return await kernel.db.persist(read)


def _used(places: Mapping[str, UsedPlaces], now: datetime) -> Mapping[str, int]:
    """The places of each limit that still count now."""
    found: dict[str, int] = {}
    for period, name in _NAMES.items():
        if taken := places.get(period.name):
            passed = int(now.timestamp() * 1_000) // period.part_ms - taken.last
            found[name] = sum(taken.counts[max(passed, 0) :])
    return found
