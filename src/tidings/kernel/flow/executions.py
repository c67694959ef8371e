"""One batch of executions, from claim to release.

Reached from engine.py. Each line is a step of the flow; the promises depend on their order.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.graph import Form
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Claimed, Lane
from tidings.kernel.flow.case import Case, load_cases
from tidings.kernel.flow.doubt import face_doubt
from tidings.kernel.flow.lease_keeper import LeaseKeeper
from tidings.kernel.flow.others import leave_to_others
from tidings.kernel.flow.plan import plan
from tidings.kernel.flow.release import release_executions
from tidings.kernel.flow.reserve import reserve
from tidings.kernel.flow.settle import settle_stopped
from tidings.kernel.flow.windows import Windows
from tidings.kernel.gate.gate import Gate
from tidings.kernel.gate.paused_sequences import PausedSequences
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.erase import erase_work


async def work_executions(kernel: Kernel, shard: Shard, lane: Lane, leases: Sequence[Claimed]) -> None:
    """Move claimed executions by one step each."""
    now = await kernel.clock.now()
    async with LeaseKeeper(kernel, shard, leases) as keeper:
        cases = await load_cases(kernel, shard, leases, now)
        if visibilities := [case.graph.visibility for case in cases.values() if case.graph.visibility]:
            await keeper.shorten(min(visibilities), now)
        await _park(paused := PausedSequences(kernel), cases, now)
        owners = {id: case.held for id, case in cases.items()}
        again = await face_doubt(kernel, shard, lane, owners.values(), now)
        going_on = await settle_stopped(kernel, shard, owners, now)
        moving = {id: cases[id] for id in going_on}
        planned = await plan(kernel, moving.values(), now)
        people = {case.person.id: case.person for case in cases.values() if case.person}
        gate = Gate(kernel, lane, people, now, paused=paused)
        with Windows(kernel, shard, lane, keeper, gate, going_on) as windows:
            marks = await windows.choose_new(planned, now)
            written = await reserve(kernel, shard, moving, planned, marks, now)
            windows.take_new(written)
            _keep_appointments(gate, moving.values())
            await windows.run(_due(moving.values(), {item.id for item, _ in written.marked}, again, now))
        keeper.is_releasing = True
        await release_executions(kernel, shard, list(cases.values()))
        leave_to_others(kernel, shard, lane, owners.values(), kernel.clock.carried())
        # The erasure of a contact has not seen what was learned while the contact was being deleted.
        await erase_work(kernel, shard, {case.loaded.contact_id for case in cases.values() if case.held.withdrawn})


async def _park(paused: PausedSequences, cases: Mapping[UUID, Case], now: datetime) -> None:
    """Park the executions of paused sequences; an item that a person reopened after the end is sent all the same."""
    version_of = {
        id: case.loaded.version_id
        for id, case in cases.items()
        if case.graph.form is Form.SEQUENCE and case.loaded.ended_at is None
    }
    for id in await paused.find_parked(version_of, now) if version_of else ():
        cases[id].held.parked = True


def _keep_appointments(gate: Gate, cases: Iterable[Case]) -> None:
    """Have the gate skip what becomes too late while it waits for its mark."""
    for case in cases:
        if appointment := case.appointment:
            mine = [item.id for item in case.held.open.values() if item.node == case.at]
            gate.lateness.appointments |= dict.fromkeys(mine, appointment)


def _due(cases: Iterable[Case], marked: set[UUID], again: set[UUID], now: datetime) -> list[Outgoing]:
    """The items that are due and were not marked when they were reserved."""
    return [
        case.outgoing(item)
        for case in cases
        for item in case.due(now)
        if item.id not in marked and (not item.in_doubt or item.id in again)
    ]
