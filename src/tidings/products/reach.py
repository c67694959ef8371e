"""How many an audience is, before anybody is written to: who matches, who has an address, who may not be written to."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from tidings.domain.audience import Audience
from tidings.domain.ids import Shard, Workspace
from tidings.domain.item import Channel
from tidings.kernel.audience import every_chunk
from tidings.kernel.kernel import Kernel
from tidings.storage import audience as storage

CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class AudienceCount:
    """matching = reachable + without_address + refused; without a channel only the first is known."""

    matching: int
    reachable: int | None = None
    without_address: int | None = None
    refused: int | None = None

    def __add__(self, other: "AudienceCount") -> "AudienceCount":
        return AudienceCount(
            self.matching + other.matching,
            _sum(self.reachable, other.reachable),
            _sum(self.without_address, other.without_address),
            _sum(self.refused, other.refused),
        )


async def count_audience(
    kernel: Kernel, workspace: Workspace, audience: Audience, channel: Channel | None
) -> AudienceCount:
    """Count everybody, shard by shard; a million take some seconds."""
    now = await kernel.clock.now()
    shards = await asyncio.gather(
        *(_count_shard(kernel, shard, workspace, audience, channel, now) for shard in kernel.every_shard())
    )
    return sum(shards, _nobody(channel))


async def is_empty(kernel: Kernel, workspace: Workspace, audience: Audience) -> bool:
    """Whether nobody matches; looks no further than the first who does."""
    now = await kernel.clock.now()
    for shard in kernel.every_shard():
        async for chunk in every_chunk(kernel, shard, workspace, audience, made_by=now, limit=100):
            if chunk.people:
                return False
    return True


async def _count_shard(
    kernel: Kernel,
    shard: Shard,
    workspace: Workspace,
    audience: Audience,
    channel: Channel | None,
    now: datetime,
) -> AudienceCount:
    count = _nobody(channel)
    async for chunk in every_chunk(kernel, shard, workspace, audience, made_by=now, limit=CHUNK):
        ids = [one.id for one in chunk.people]
        if channel is None or not ids:
            count += AudienceCount(len(ids), *([0, 0, 0] if channel else []))
            continue
        look = partial(storage.count_reachable, shard=shard, channel=channel, ids=ids)
        reach = await kernel.db.persist(look, alone=True)
        count += AudienceCount(len(ids), reach.reachable - reach.refused, len(ids) - reach.reachable, reach.refused)
    return count


def _nobody(channel: Channel | None) -> AudienceCount:
    return AudienceCount(0, 0, 0, 0) if channel else AudienceCount(0)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
