"""The contacts that work is for: what templates see of them, and what they allow (rule 14).

Reached from case.py, jobs.py and consents.py. A contact may be in any shard, so it is read in its own;
work without a contact costs nothing.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.people.contact import LoadedContact
from tidings.kernel.kernel import Kernel
from tidings.storage import people

Read = Callable[..., Awaitable[Mapping[UUID, LoadedContact]]]


async def load_people(kernel: Kernel, ids: Iterable[UUID]) -> Mapping[UUID, LoadedContact]:
    """Return contacts by id as they are now, deleted ones too; one statement for each shard that holds any."""
    return await _read(kernel, ids, people.load_people)


async def read_consents(kernel: Kernel, ids: Iterable[UUID]) -> Mapping[UUID, LoadedContact]:
    """Return what contacts allow now, by id, deleted ones too; without the fields that templates see."""
    return await _read(kernel, ids, people.read_consents)


async def find_deleted(kernel: Kernel, ids: Iterable[UUID]) -> list[UUID]:
    """Return those of the contacts that were deleted."""
    return [id for id, person in (await read_consents(kernel, ids)).items() if person.is_deleted]


async def _read(kernel: Kernel, ids: Iterable[UUID], read: Read) -> Mapping[UUID, LoadedContact]:
    shares = _in_their_shards(kernel, ids)
    found = await asyncio.gather(
        *(kernel.db.persist(partial(read, shard=shard, ids=share), alone=True) for shard, share in shares.items())
    )
    return {id: person for share in found for id, person in share.items()}


def _in_their_shards(kernel: Kernel, ids: Iterable[UUID]) -> Mapping[Shard, list[UUID]]:
    """The contact ids by shard, without repeats."""
    shares: dict[Shard, list[UUID]] = defaultdict(list)
    for id in set(ids):
        shares[kernel.shard_of(id)].append(id)
    return shares
