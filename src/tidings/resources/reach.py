"""How many an audience is, before anybody is written to: who matches, who has an address, who may not be written to."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from tidings.domain.content.lacks import Lack, attributes_in, lacks_of
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.people.audience import Audience
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.audience_chunks import count_lacking, every_chunk
from tidings.storage import audience as storage

CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class AudienceCount:
    """matching = reachable + without_address + refused; without a channel only the first is known."""

    matching: int
    reachable: int | None = None
    without_address: int | None = None
    refused: int | None = None
    missing: Sequence[Lack] = ()
    """Attributes that the content prints and that some of them lack."""

    def __add__(self, other: "AudienceCount") -> "AudienceCount":
        return AudienceCount(
            self.matching + other.matching,
            _sum(self.reachable, other.reachable),
            _sum(self.without_address, other.without_address),
            _sum(self.refused, other.refused),
        )


async def count_audience(
    kernel: Kernel, workspace: Workspace, audience: Audience, channel: Channel | None, sources: Iterable[str] = ()
) -> AudienceCount:
    """Count everybody, shard by shard, and who lacks what the templates print; a million take some seconds."""
    now, lacking = await kernel.clock.now(), Lacking(attributes_in(sources))
    shards = await asyncio.gather(
        *(_count_shard(kernel, shard, workspace, audience, channel, now, lacking) for shard in kernel.every_shard())
    )
    counted = sum(shards, _nobody(channel))
    return replace(counted, missing=lacks_of(lacking.counts, counted.matching))


@dataclass(frozen=True, slots=True)
class Lacking:
    """Attributes that templates print, and how many contacts lack each so far."""

    paths: frozenset[str]
    counts: Counter[str] = field(default_factory=Counter)


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
    lacking: Lacking,
) -> AudienceCount:
    count = _nobody(channel)
    async for chunk in every_chunk(kernel, shard, workspace, audience, made_by=now, limit=CHUNK):
        ids = [one.id for one in chunk.people]
        lacking.counts.update(await count_lacking(kernel, shard, ids, lacking.paths))
        if channel is None or not ids:
            count += replace(_nobody(channel), matching=len(ids))
            continue
        look = partial(storage.count_reachable, shard=shard, channel=channel, ids=ids)
        reach = await kernel.db.persist(look, alone=True)
        count += AudienceCount(len(ids), reach.reachable - reach.refused, len(ids) - reach.reachable, reach.refused)
    return count


def _nobody(channel: Channel | None) -> AudienceCount:
    return AudienceCount(0, 0, 0, 0) if channel else AudienceCount(0)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
