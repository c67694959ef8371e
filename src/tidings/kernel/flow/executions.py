"""One batch of executions, from claim to release.

Reached from engine.py. Each line is an arrow of the flow; the order is the promise.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Claimed, Lane
from tidings.kernel.flow.deliver import Flight, Flown, Parcel
from tidings.kernel.flow.doubt import face_doubt
from tidings.kernel.flow.held import Held
from tidings.kernel.flow.lease_keeper import LeaseKeeper
from tidings.kernel.flow.plan import Case, due_items, load_cases, plan
from tidings.kernel.flow.release import release_executions
from tidings.kernel.flow.reserve import parcel_of, reserve
from tidings.kernel.flow.settle import settle_stopped
from tidings.kernel.gate.consents import Consents
from tidings.kernel.gate.paused_sequences import PausedSequences
from tidings.kernel.gate.rests import hand_over
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.erase import erase_work


async def work_executions(kernel: Kernel, shard: Shard, lane: Lane, leases: Sequence[Claimed]) -> None:
    """Move claimed executions by one step each."""
    now = await kernel.clock.now()
    async with LeaseKeeper(kernel, shard, leases) as keeper:
        cases = await load_cases(kernel, shard, leases, now)
        if visibilities := [case.graph.visibility for case in cases.values() if case.graph.visibility]:
            await keeper.shorten(min(visibilities), now)
        await (paused := PausedSequences(kernel)).take(cases, now)
        owners = {id: case.held for id, case in cases.items()}
        again = await face_doubt(kernel, shard, lane, owners.values(), now)
        going_on = await settle_stopped(kernel, shard, owners, now)
        moving = {id: cases[id] for id in going_on}
        planned = await plan(kernel, moving.values(), now)
        people = {case.person.id: case.person for case in cases.values() if case.person}
        with Flight(kernel, shard, lane, keeper, Consents(kernel, people, now), paused) as flight:
            await reserve(kernel, shard, moving, planned, flight, now)
            learn(going_on, await flight.fly(_due_parcels(moving, again, flight, now)))
        keeper.is_releasing = True
        await release_executions(kernel, shard, list(cases.values()))
        hand_over(kernel, shard, lane, owners.values(), kernel.clock.carried())
        # What was learned while a contact was deleted, its own erasure has not seen.
        await erase_work(kernel, shard, {case.loaded.contact_id for case in cases.values() if case.held.withdrawn})


def _due_parcels(cases: Mapping[UUID, Case], again: set[UUID], flight: Flight, now: datetime) -> list[Parcel]:
    """What is due and was not marked when it was reserved."""
    return [
        parcel_of(case, item)
        for case in cases.values()
        for item in due_items(case, now)
        if item.id not in flight.parcels and (not item.in_doubt or item.id in again)
    ]


def learn(owners: Mapping[UUID, Held], flown: Flown) -> None:
    """Tell the owners what came of their calls."""
    holders = {id: held for held in owners.values() for id in held.open}
    for fact in flown.facts:
        holders[fact.id].learn(fact)
    for id, not_before in flown.postponed.items():
        holders[id].postponed[id] = not_before
    for id, reason in flown.turned_away.skipped.items():
        holders[id].settle(id, ItemStatus.SKIPPED, reason)
    for id, reason in flown.given_up.items():
        holders[id].settle(id, ItemStatus.FAILED, reason)
    for id in flown.turned_away.held:
        holders[id].doubt(id, None)
