"""One batch of executions, from claim to release.

Reached from engine.py. Each line is an arrow of the flow; the order is the promise.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.ids import Shard
from tidings.domain.queue import Claimed, Lane
from tidings.kernel.deliver import Parcel, deliver
from tidings.kernel.doubt import face_doubt
from tidings.kernel.hand import Hand
from tidings.kernel.kernel import Kernel
from tidings.kernel.plan import Case, due_items, load_cases, plan
from tidings.kernel.release import release_executions
from tidings.kernel.reserve import reserve
from tidings.kernel.settle import settle_stopped
from tidings.storage.outbox import Wanted


async def work_executions(kernel: Kernel, shard: Shard, lane: Lane, leases: Sequence[Claimed]) -> None:
    """Move claimed executions by one step each."""
    now = await kernel.clock.now()
    cases = await load_cases(kernel, shard, leases)
    hands = {id: case.hand for id, case in cases.items()}
    again = await face_doubt(kernel, shard, hands.values(), now)
    going_on = await settle_stopped(kernel, shard, hands, now)
    moving = {id: cases[id] for id in going_on}
    await reserve(kernel, shard, moving, await plan(kernel, moving.values(), now), now)
    await _deliver_due(kernel, shard, lane, moving, again, now)
    await release_executions(kernel, shard, list(cases.values()))


async def _deliver_due(
    kernel: Kernel, shard: Shard, lane: Lane, cases: Mapping[UUID, Case], again: set[UUID], now: datetime
) -> None:
    parcels = [
        Parcel(Wanted(item, case.hand.lease.fence, item.payload or {}, item.in_doubt), case.hand.retry_for(item))
        for case in cases.values()
        for item in due_items(case, now)
        if not item.in_doubt or item.id in again
    ]
    hands = {id: case.hand for id, case in cases.items()}
    await deliver_and_learn(kernel, shard, lane, hands, parcels)


async def deliver_and_learn(
    kernel: Kernel, shard: Shard, lane: Lane, hands: Mapping[UUID, Hand], parcels: Sequence[Parcel]
) -> None:
    """Call for parcels, and tell their hands what came of it."""
    owners: dict[UUID, Hand] = {parcel.wanted.item.id: hands[parcel.wanted.item.owner] for parcel in parcels}
    flown = await deliver(kernel, shard, lane, [hand.lease for hand in hands.values()], parcels)
    for fact in flown.facts:
        owners[fact.id].learn(fact)
    for id, not_before in flown.postponed.items():
        owners[id].postponed[id] = not_before
