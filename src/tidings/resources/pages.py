"""Long lists over all shards: one query in each, merged by id, newest first, and a page of what comes first."""

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
    """What is in such a list."""

    @property
    def id(self) -> UUID:
        """Made when it was, so the newest is the largest."""


Found = TypeVar("Found", bound=HasId)
Listed_co = TypeVar("Listed_co", bound=HasId, covariant=True)


class ListInShard(Protocol[Listed_co]):
    """A statement of storage whose other arguments are given: what one shard holds of a list, newest first."""

    def __call__(
        self, tx: Tx, /, *, shard: Shard, workspace: Workspace, span: Span, limit: int
    ) -> Awaitable[Sequence[Listed_co]]:
        """The first of the span, at most so many."""


class ListWithinShard(Protocol[Listed_co]):
    """The same of whichever workspace it knows of."""

    def __call__(self, tx: Tx, /, *, shard: Shard, span: Span, limit: int) -> Awaitable[Sequence[Listed_co]]:
        """The first of the span, at most so many."""


class ListAll(Protocol[Listed_co]):
    """The same of what is in no shard, or in one that is known."""

    def __call__(self, tx: Tx, /, *, span: Span, limit: int) -> Awaitable[Sequence[Listed_co]]:
        """The first of the span, at most so many."""


async def newest(kernel: Kernel, list_all: ListAll[Found], *, span: Span, limit: int) -> Page[Found]:
    """A page of such a list; one more is looked for, to know whether there is a next."""
    check_limit(limit)
    found = await kernel.db.persist(partial(list_all, span=span, limit=limit + 1), alone=True)
    return page_of(found, limit, id_of)


async def newest_in_all_shards(
    kernel: Kernel, workspace: Workspace, list_in_shard: ListInShard[Found], *, span: Span, limit: int
) -> Page[Found]:
    """A page of what all shards hold of a list; one more is looked for, to know whether there is a next."""
    find = partial(list_in_shard, workspace=workspace)
    return await newest_in_shards(kernel, kernel.every_shard(), find, span=span, limit=limit)


async def newest_in_shards(
    kernel: Kernel, shards: Iterable[Shard], list_in_shard: ListWithinShard[Found], *, span: Span, limit: int
) -> Page[Found]:
    """The same of some shards, and of what is not of one workspace."""
    return await _merged(kernel, shards, list_in_shard, span=span, limit=limit, newest_first=True)


async def oldest_in_all_shards(
    kernel: Kernel, list_in_shard: ListWithinShard[Found], *, span: Span, limit: int
) -> Page[Found]:
    """The same of all shards, in the order in which it was made: of one run, say, which is known to be the caller's."""
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
    """One query in each shard, merged by id; one more is looked for, to know whether there is a next page."""
    check_limit(limit)
    find = partial(list_in_shard, span=span, limit=limit + 1)
    found = await asyncio.gather(*(kernel.db.persist(partial(find, shard=shard), alone=True) for shard in shards))
    return page_of([*merge(*found, key=id_of, reverse=newest_first)][: limit + 1], limit, id_of)
