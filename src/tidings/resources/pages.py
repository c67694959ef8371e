"""Long lists over all shards: one query in each, merged by id, newest first, cut to a page."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from heapq import merge
from operator import attrgetter
from typing import Protocol, TypeVar
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span, check_limit, page_of
from tidings.kernel.kernel import Kernel
from tidings.storage.database import Tx
from tidings.views.pages import Page

id_of = attrgetter("id")


class HasId(Protocol):
    """A record in such a list."""

    @property
    def id(self) -> UUID:
        """Return the id; it contains the time it was made, so the newest record has the largest."""


Found = TypeVar("Found", bound=HasId)
Listed_co = TypeVar("Listed_co", bound=HasId, covariant=True)


class ListInShard(Protocol[Listed_co]):
    """A statement of storage with its other arguments bound: lists one shard's records of a workspace, newest first."""

    def __call__(
        self, tx: Tx, /, *, shard: Shard, workspace: Workspace, span: Span, limit: int
    ) -> Awaitable[Sequence[Listed_co]]:
        """Return the first records of the span, at most `limit`."""


class ListWithinShard(Protocol[Listed_co]):
    """A statement with its workspace bound as well: lists one shard's records, newest first."""

    def __call__(self, tx: Tx, /, *, shard: Shard, span: Span, limit: int) -> Awaitable[Sequence[Listed_co]]:
        """Return the first records of the span, at most `limit`."""


class ListAll(Protocol[Listed_co]):
    """A statement with its shard bound, or for records in no shard: lists them newest first."""

    def __call__(self, tx: Tx, /, *, span: Span, limit: int) -> Awaitable[Sequence[Listed_co]]:
        """Return the first records of the span, at most `limit`."""


async def newest(kernel: Kernel, list_all: ListAll[Found], *, span: Span, limit: int) -> Page[Found]:
    """Return a page of a list that needs no merging; it reads one record more, to know whether there is a next page."""
    check_limit(limit)
    found = await kernel.db.persist(partial(list_all, span=span, limit=limit + 1), alone=True)
    return page_of(found, limit, id_of)


async def newest_in_all_shards(
    kernel: Kernel, workspace: Workspace, list_in_shard: ListInShard[Found], *, span: Span, limit: int
) -> Page[Found]:
    """Return a page over all shards of a workspace's list, newest first."""
    find = partial(list_in_shard, workspace=workspace)
    return await newest_in_shards(kernel, kernel.every_shard(), find, span=span, limit=limit)


async def newest_in_shards(
    kernel: Kernel, shards: Iterable[Shard], list_in_shard: ListWithinShard[Found], *, span: Span, limit: int
) -> Page[Found]:
    """Return a page over these shards of a list that is not of one workspace."""
    return await _merged(kernel, shards, list_in_shard, span=span, limit=limit, newest_first=True)


async def oldest_in_all_shards(
    kernel: Kernel, list_in_shard: ListWithinShard[Found], *, span: Span, limit: int
) -> Page[Found]:
    """Return a page over all shards, oldest first, of records known to be the caller's: those of one run, say."""
    return await _merged(kernel, kernel.every_shard(), list_in_shard, span=span, limit=limit, newest_first=False)


async def _merged(
    kernel: Kernel,
    shards: Iterable[Shard],
    list_in_shard: ListWithinShard[Found],
    *,
    span: Span,
    limit: int,
    newest_first: bool,
) -> Page[Found]:
    """Query each shard and merge by id; read one record more, to know whether there is a next page."""
    check_limit(limit)
    find = partial(list_in_shard, span=span, limit=limit + 1)
    found = await asyncio.gather(*(kernel.db.persist(partial(find, shard=shard), alone=True) for shard in shards))
    return page_of([*merge(*found, key=id_of, reverse=newest_first)][: limit + 1], limit, id_of)
