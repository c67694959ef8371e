"""Read records by their ids: one statement in each shard that holds some of them."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.kernel.kernel import Kernel
from tidings.storage.database import Tx

Read_co = TypeVar("Read_co", covariant=True)
Value = TypeVar("Value")


class ReadInShard(Protocol[Read_co]):
    """A statement of storage that reads by ids."""

    def __call__(self, tx: Tx, /, *, shard: Shard, ids: Sequence[UUID]) -> Awaitable[Mapping[UUID, Read_co]]:
        """Return the records with these ids in one shard."""


async def read_in_their_shards(
    kernel: Kernel, ids: Iterable[UUID | None], read: ReadInShard[Value]
) -> Mapping[UUID, Value]:
    """Return the records that exist, by id."""
    by_shard: dict[Shard, list[UUID]] = defaultdict(list)
    for id in {id for id in ids if id is not None}:
        by_shard[kernel.shard_of(id)].append(id)
    found = await asyncio.gather(
        *(kernel.db.persist(partial(read, shard=shard, ids=own), alone=True) for shard, own in by_shard.items())
    )
    return {id: value for one in found for id, value in one.items()}
