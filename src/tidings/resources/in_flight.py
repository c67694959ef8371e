"""Contacts on their way through a sequence: whether there are any, and how many to which step of which version."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from functools import partial
from uuid import UUID

from tidings.domain.sequences.change_version import step_of
from tidings.domain.sequences.form import steps_in
from tidings.kernel.kernel import Kernel
from tidings.storage import sequences
from tidings.views.sequences import InFlight

Counts = Mapping[tuple[UUID, str], int]
"""The number of enrollments by version and step."""


async def has_live_enrollments(kernel: Kernel, sequence_id: UUID) -> bool:
    """Return whether any contact is on the way."""
    for shard in kernel.every_shard():
        look = partial(sequences.has_live_enrollment, shard=shard, workflow_id=sequence_id)
        if await kernel.db.persist(look, alone=True):
            return True
    return False


async def count_in_flight(kernel: Kernel, sequence_id: UUID) -> Counts:
    """Count the contacts on their way, over all shards."""
    count = partial(sequences.count_in_flight, workflow_id=sequence_id)
    shards = await asyncio.gather(
        *(kernel.db.persist(partial(count, shard=shard), alone=True) for shard in kernel.every_shard())
    )
    counts: Counter[tuple[UUID, str]] = Counter()
    for one in (one for shard in shards for one in shard):
        if one.cursor is not None:
            counts[one.version_id, step_of(one.cursor)] += one.count
    return counts


async def show_in_flight(kernel: Kernel, sequence_id: UUID) -> list[InFlight]:
    """Return the counts by version, newest first, and then in the order of the steps."""
    counts = await count_in_flight(kernel, sequence_id)
    ids = list({version for version, _ in counts})
    found = await kernel.db.persist(partial(sequences.find_versions, ids=ids), alone=True) if ids else []
    numbers = {one.id: one.number for one in found}
    orders = {(one.id, step.id): step.step_order for one in found for step in steps_in(one.definition)}
    shown = [
        InFlight(version=numbers[version], step_id=UUID(step), step_order=orders[version, step], count=count)
        for (version, step), count in counts.items()
    ]
    return sorted(shown, key=lambda one: (-one.version, one.step_order))
