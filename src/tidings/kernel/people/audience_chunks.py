"""The contacts of an audience, shard by shard and chunk by chunk, in the order of their ids.

Reached from contact_chunks.py and from the modules that count or enroll. Safe to continue from any cursor: filters,
named contacts and exclusions yield the same people in the same order.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.people.audience import Audience
from tidings.domain.people.audience_filter import AudienceFilter, NamedContacts, both
from tidings.kernel.kernel import Kernel
from tidings.storage import audience as storage
from tidings.storage.audience import Picked


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some of an audience: the contacts, the cursor after them, and whether more may follow."""

    people: Sequence[Picked]
    cursor: UUID | None
    finished: bool


async def next_chunk(
    kernel: Kernel,
    shard: Shard,
    workspace: Workspace,
    audience: Audience,
    *,
    now: datetime,
    made_by: datetime,
    after: UUID | None,
    limit: int,
) -> Chunk:
    """Return the next people of one shard as the audience is at `now`, without contacts made after `made_by`."""
    # Each source is read for a whole chunk, so the first of all sources together are the first there are.
    ways = [
        await pick(kernel, shard, workspace, wanted, now=now, made_by=made_by, after=after, limit=limit)
        for wanted in _ways_in(kernel, shard, audience, after)
    ]
    merged = sorted({one.id: one for way in ways for one in way}.values(), key=lambda one: one.id)
    finished = len(merged) <= limit and all(len(way) < limit for way in ways)
    merged = merged[:limit]
    excluded = frozenset(audience.exclude_contact_ids)
    cursor = merged[-1].id if merged else after
    return Chunk([one for one in merged if one.id not in excluded], cursor, finished)


def _ways_in(kernel: Kernel, shard: Shard, audience: Audience, after: UUID | None) -> Iterator[AudienceFilter]:
    """The sources of an audience: by filter and by name; a named contact is looked up in its own shard."""
    if audience.has_filter:
        yield audience.filter
    ids = tuple(id for id in audience.contact_ids if kernel.shard_of(id) == shard and (after is None or id > after))
    if ids:
        yield both(NamedContacts(ids), *audience.without)


async def pick(
    kernel: Kernel,
    shard: Shard,
    workspace: Workspace,
    wanted: AudienceFilter,
    *,
    now: datetime,
    made_by: datetime | None = None,
    after: UUID | None,
    limit: int,
) -> list[Picked]:
    """Return the next contacts that match a filter in one shard, in the order of their ids."""
    find = partial(
        storage.pick_contacts,
        shard=shard,
        workspace=workspace,
        wanted=wanted,
        now=now,
        made_by=made_by or now,
        after=after,
        limit=limit,
    )
    return await kernel.db.persist(find, alone=True)


async def every_chunk(
    kernel: Kernel, shard: Shard, workspace: Workspace, audience: Audience, *, now: datetime, limit: int
) -> AsyncIterator[Chunk]:
    """Yield all of one shard's people, a chunk at a time."""
    after: UUID | None = None
    while True:
        chunk = await next_chunk(kernel, shard, workspace, audience, now=now, made_by=now, after=after, limit=limit)
        yield chunk
        if chunk.finished:
            return
        after = chunk.cursor


async def count_lacking(kernel: Kernel, shard: Shard, ids: Sequence[UUID], paths: Collection[str]) -> Mapping[str, int]:
    """Count how many of these contacts lack an attribute that templates print, by its path."""
    if not ids or not paths:
        return {}
    return await kernel.db.persist(partial(storage.count_lacking, shard=shard, ids=ids, paths=paths), alone=True)
