"""The contacts of an audience, shard by shard and chunk by chunk, in the order of their ids.

Reached from contact_chunks.py and from what counts or enrolls. Safe to go on with from any cursor: filters, named
contacts and exclusions give the same people in the same order.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.people.audience import Audience
from tidings.kernel.kernel import Kernel
from tidings.storage import audience as storage
from tidings.storage.audience import Picked
from tidings.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some of an audience: who, how far that goes, and whether anybody may come after them."""

    people: Sequence[Picked]
    cursor: UUID | None
    finished: bool


class Pick(Protocol):
    """A statement that finds the next contacts of an audience."""

    async def __call__(
        self, tx: Tx, *, shard: Shard, tenant: str, workspace: str, made_by: datetime, after: UUID | None, limit: int
    ) -> list[Picked]:
        """Those after a contact, in the order of ids."""


async def next_chunk(
    kernel: Kernel,
    shard: Shard,
    workspace: Workspace,
    audience: Audience,
    *,
    made_by: datetime,
    after: UUID | None,
    limit: int,
) -> Chunk:
    """The next people of one shard; of those made after `made_by` nobody."""
    found: list[Picked] = []
    if audience.has_filter:
        pick = partial(
            pick_by(audience),
            shard=shard,
            tenant=workspace.tenant,
            workspace=workspace.name,
            made_by=made_by,
            after=after,
            limit=limit,
        )
        found = await kernel.db.persist(pick, alone=True)
    named = await _named(kernel, shard, workspace, audience, made_by, after)
    # What the filter has not reached yet may come between the named ones: those wait for their place.
    if len(found) == limit:
        named = [one for one in named if one.id < found[-1].id]
    merged = sorted({one.id: one for one in (*found, *named)}.values(), key=lambda one: one.id)
    finished = len(found) < limit and len(merged) <= limit
    merged = merged[:limit]
    excluded = frozenset(audience.exclude_contact_ids)
    cursor = merged[-1].id if merged else after
    return Chunk([one for one in merged if one.id not in excluded], cursor, finished)


async def every_chunk(
    kernel: Kernel, shard: Shard, workspace: Workspace, audience: Audience, *, made_by: datetime, limit: int
) -> AsyncIterator[Chunk]:
    """All of one shard's people, a chunk at a time."""
    after: UUID | None = None
    while True:
        chunk = await next_chunk(kernel, shard, workspace, audience, made_by=made_by, after=after, limit=limit)
        yield chunk
        if chunk.finished:
            return
        after = chunk.cursor


async def count_lacking(kernel: Kernel, shard: Shard, ids: Sequence[UUID], paths: Collection[str]) -> Mapping[str, int]:
    """How many of these contacts lack an attribute that templates print, by its path."""
    if not ids or not paths:
        return {}
    return await kernel.db.persist(partial(storage.count_lacking, shard=shard, ids=ids, paths=paths), alone=True)


async def _named(
    kernel: Kernel, shard: Shard, workspace: Workspace, audience: Audience, made_by: datetime, after: UUID | None
) -> list[Picked]:
    ids = [id for id in audience.contact_ids if kernel.shard_of(id) == shard and (after is None or id > after)]
    if not ids:
        return []
    pick = partial(
        storage.pick_named_contacts,
        shard=shard,
        tenant=workspace.tenant,
        workspace=workspace.name,
        ids=ids,
        made_by=made_by,
    )
    return await kernel.db.persist(pick, alone=True)


def pick_by(audience: Audience) -> Pick:
    """The statement whose index narrows most: a tag's, a company's, a status's."""
    if audience.tag is not None:
        return partial(
            storage.pick_contacts_with_tag, tag=audience.tag, company=audience.company, status=audience.status
        )
    if audience.company is not None:
        return partial(storage.pick_contacts_of_company, company=audience.company, status=audience.status)
    if audience.status is not None:
        return partial(storage.pick_contacts_of_status, status=audience.status)
    return storage.pick_contacts
