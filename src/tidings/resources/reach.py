"""How many an audience is, before anybody is written to: who matches, who has an address, who may not be written to."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from tidings.domain.content.lacks import attributes_in, lacks_of
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.people.audience import Audience
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.audience_chunks import count_lacking, every_chunk
from tidings.storage import audience as storage
from tidings.views.audiences import AudienceCount

CHUNK = 10_000


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
        count += AudienceCount(
            matching=len(ids),
            reachable=reach.reachable - reach.refused,
            without_address=len(ids) - reach.reachable,
            refused=reach.refused,
        )
    return count


def _nobody(channel: Channel | None) -> AudienceCount:
    nothing = 0 if channel else None
    return AudienceCount(matching=0, reachable=nothing, without_address=nothing, refused=nothing)
