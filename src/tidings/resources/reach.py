"""Count an audience before anybody is written to: who matches, who has an address, who may not be written to."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import TypedDict

from tidings.domain.content.lacks import attributes_in, lacks_of
from tidings.domain.errors import CampaignInvalid, Problem
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.people.audience import Audience, read_audience
from tidings.domain.people.audience_filter import AudienceFilter, NamedContacts, Not, both
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.audience_chunks import every_chunk
from tidings.kernel.templates import know_stored_templates
from tidings.storage import audience as storage
from tidings.storage import campaigns
from tidings.views.campaigns import AudienceCount


async def count_audience(
    kernel: Kernel, workspace: Workspace, audience: Audience, channel: Channel | None, sources: Iterable[str] = ()
) -> AudienceCount:
    """Count the audience, all shards at once, and who lacks what the templates print."""
    sources = list(sources)
    await know_stored_templates(kernel, workspace, sources)
    now, printed = await kernel.clock.now(), attributes_in(sources)
    shards = await asyncio.gather(
        *(_count_shard(kernel, shard, workspace, audience, channel, now, printed) for shard in kernel.every_shard())
    )
    counted = sum((reach for reach, _ in shards), storage.Reach())
    missing = lacks_of(sum((lacking for _, lacking in shards), Counter[str]()), counted.matching)
    if channel is None:
        return AudienceCount(matching=counted.matching, missing=missing)
    return AudienceCount(
        matching=counted.matching,
        reachable=counted.addressed - counted.refused,
        without_address=counted.matching - counted.addressed,
        refused=counted.refused,
        missing=missing,
    )


async def within_segment(kernel: Kernel, workspace: Workspace, audience: Audience) -> Audience:
    """Return an audience as it is at this moment, with its segment in it."""
    if audience.segment_id is None:
        return audience
    find = partial(campaigns.show_segment, workspace=workspace, id=audience.segment_id, name=None)
    segment = await kernel.db.persist(find, alone=True)
    if segment is None:
        what = f"there is no segment {audience.segment_id} in this workspace"
        raise CampaignInvalid([Problem("audience.segmentId", what)])
    inside, problems = audience.inside(read_audience(segment.audience)[0])
    if problems:
        raise CampaignInvalid([Problem(f"audience.{one.place}", one.message) for one in problems])
    return inside


async def is_empty(kernel: Kernel, workspace: Workspace, audience: Audience, now: datetime) -> bool:
    """Return whether nobody matches at a moment; stops at the first contact who does."""
    for shard in kernel.every_shard():
        async for chunk in every_chunk(kernel, shard, workspace, audience, now=now, limit=100):
            if chunk.people:
                return False
    return True


class _Asked(TypedDict):
    shard: Shard
    workspace: Workspace
    wanted: AudienceFilter
    now: datetime


async def _count_shard(
    kernel: Kernel,
    shard: Shard,
    workspace: Workspace,
    audience: Audience,
    channel: Channel | None,
    now: datetime,
    printed: Collection[str],
) -> tuple[storage.Reach, Counter[str]]:
    """Count one shard's people, and how many of them lack what is printed, in the database: nobody is read."""
    counted, lacking = storage.Reach(), Counter[str]()
    for wanted in _ways_in(kernel, shard, audience):
        asked: _Asked = {"shard": shard, "workspace": workspace, "wanted": wanted, "now": now}
        look = partial(storage.count_reachable, channel=channel, **asked)
        counted += await kernel.db.persist(look, alone=True)
        if printed:
            look_for_lacks = partial(storage.count_audience_lacking, paths=printed, **asked)
            lacking.update(await kernel.db.persist(look_for_lacks, alone=True))
    return counted, lacking


def _ways_in(kernel: Kernel, shard: Shard, audience: Audience) -> Iterator[AudienceFilter]:
    """The parts of an audience that have nobody in common, each found along an index of its own."""
    named = [Not(NamedContacts(audience.exclude_contact_ids))] if audience.exclude_contact_ids else []
    without = [*audience.without, *named]
    if audience.has_filter:
        yield both(audience.filter, *named)
    ids = tuple(id for id in audience.contact_ids if kernel.shard_of(id) == shard)
    if ids:
        yield both(NamedContacts(ids), *([Not(audience.filter)] if audience.has_filter else []), *without)
