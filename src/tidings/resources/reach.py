"""Count an audience before anybody is written to: who matches, who has an address, who may not be written to."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from tidings.domain.content.lacks import attributes_in, lacks_of
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.people.audience import Audience
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.audience_chunks import count_lacking, every_chunk
from tidings.kernel.templates import know_stored_templates
from tidings.storage import audience as storage
from tidings.views.campaigns import AudienceCount

CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many contacts match, have an address, and may not be written to; the last two only with a channel."""

    matching: int = 0
    addressed: int = 0
    refused: int = 0

    def __add__(self, other: "_Counted") -> "_Counted":
        return _Counted(self.matching + other.matching, self.addressed + other.addressed, self.refused + other.refused)


async def count_audience(
    kernel: Kernel, workspace: Workspace, audience: Audience, channel: Channel | None, sources: Iterable[str] = ()
) -> AudienceCount:
    """Count the audience, shard by shard, and who lacks what the templates print; a million take some seconds."""
    sources = list(sources)
    await know_stored_templates(kernel, workspace, sources)
    now, lacking = await kernel.clock.now(), Lacking(attributes_in(sources))
    shards = await asyncio.gather(
        *(_count_shard(kernel, shard, workspace, audience, channel, now, lacking) for shard in kernel.every_shard())
    )
    counted = sum(shards, _Counted())
    missing = lacks_of(lacking.counts, counted.matching)
    if channel is None:
        return AudienceCount(matching=counted.matching, missing=missing)
    return AudienceCount(
        matching=counted.matching,
        reachable=counted.addressed - counted.refused,
        without_address=counted.matching - counted.addressed,
        refused=counted.refused,
        missing=missing,
    )


@dataclass(frozen=True, slots=True)
class Lacking:
    """Attributes that templates print, and how many contacts lack each so far."""

    paths: frozenset[str]
    counts: Counter[str] = field(default_factory=Counter)


async def is_empty(kernel: Kernel, workspace: Workspace, audience: Audience) -> bool:
    """Return whether nobody matches; stops at the first contact who does."""
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
) -> _Counted:
    counted = _Counted()
    async for chunk in every_chunk(kernel, shard, workspace, audience, made_by=now, limit=CHUNK):
        ids = [one.id for one in chunk.people]
        lacking.counts.update(await count_lacking(kernel, shard, ids, lacking.paths))
        if channel is None or not ids:
            counted += _Counted(len(ids))
            continue
        look = partial(storage.count_reachable, shard=shard, channel=channel, ids=ids)
        reach = await kernel.db.persist(look, alone=True)
        counted += _Counted(len(ids), reach.reachable, reach.refused)
    return counted
