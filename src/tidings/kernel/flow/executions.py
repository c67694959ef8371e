"""One batch of executions, from claim to release.

Reached from engine.py. Each line is a step of the flow; the promises depend on their order.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.graph import Form
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Planned
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
from tidings.kernel.process.together import all_of

SOON_SECONDS = 0.25
"""How long the others of a batch wait for a workspace whose templates take long; it then goes on by itself."""


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
        batch = ExecutionBatch(kernel, shard, lane, keeper, cases, again, paused)
        await batch.plan_and_send(going_on, now)
        await batch.release([id for id in cases if id not in batch.released])


@dataclass(frozen=True, slots=True)
class ExecutionBatch:
    """The executions of a batch, from plan to release. None waits long for another workspace's templates or calls."""

    kernel: Kernel
    shard: Shard
    lane: Lane
    keeper: LeaseKeeper
    cases: Mapping[UUID, Case]
    again: set[UUID]
    paused: PausedSequences
    released: set[UUID] = field(default_factory=set)

    async def plan_and_send(self, going_on: Collection[UUID], now: datetime) -> None:
        """Plan, send what is planned, and release: all together, but for workspaces whose plan takes longer."""
        if going_on and (rest := [id for id in self.cases if id not in going_on]):
            await self.release(rest)
        groups = _by_workspace([self.cases[id] for id in going_on])
        if len(groups) <= 1:
            cases = [case for group in groups for case in group]
            await self._send(cases, await plan(self.kernel, cases, now), now)
            return
        plans = [(group, asyncio.create_task(plan(self.kernel, group, now))) for group in groups]
        await asyncio.wait([task for _, task in plans], timeout=SOON_SECONDS)
        soon = [one for one in plans if one[1].done()]
        late = [one for one in plans if one not in soon]
        await all_of(*(self._send_planned(part) for part in (soon, *([one] for one in late)) if part))

    async def _send_planned(self, plans: Sequence[tuple[Sequence[Case], asyncio.Task[list[Planned]]]]) -> None:
        cases = [case for group, _ in plans for case in group]
        planned = [item for _, task in plans for item in await task]
        await self._send(cases, planned, await self.kernel.clock.now())
        await self.release([id for case in cases if (id := case.held.lease.id) not in self.released])

    async def _send(self, cases: Sequence[Case], planned: Sequence[Planned], now: datetime) -> None:
        """Reserve what is planned, and call for it and for whatever else is due of these executions."""
        kernel, shard, by_id = self.kernel, self.shard, {case.held.lease.id: case for case in cases}
        people = {case.person.id: case.person for case in cases if case.person}
        gate = Gate(kernel, self.lane, people, now, paused=self.paused)
        owners = {id: case.held for id, case in by_id.items()}
        with Windows(kernel, shard, self.lane, self.keeper, gate, owners, self.release) as windows:
            marks = await windows.choose_new(planned, now)
            written = await reserve(kernel, shard, by_id, planned, marks, now)
            windows.take_new(written)
            _keep_appointments(gate, cases)
            await windows.run(_due(cases, {item.id for item, _ in written.marked}, self.again, now))

    async def release(self, ids: Collection[UUID]) -> None:
        """Write where some of the executions stand, and end their leases."""
        kernel, shard, cases = self.kernel, self.shard, [self.cases[id] for id in ids]
        if not ids:
            return
        self.released.update(ids)
        self.keeper.begin_release(ids)
        await release_executions(kernel, shard, cases)
        self.keeper.let_go(ids)
        kernel.in_hand.release(ids)
        leave_to_others(kernel, shard, self.lane, [case.held for case in cases], kernel.clock.carried())
        # The erasure of a contact has not seen what was learned while the contact was being deleted.
        await erase_work(kernel, shard, {case.loaded.contact_id for case in cases if case.held.withdrawn})


def _by_workspace(cases: Sequence[Case]) -> list[list[Case]]:
    if all(case.loaded.workspace is cases[0].loaded.workspace for case in cases):
        return [list(cases)]
    groups = defaultdict[Workspace, list[Case]](list)
    for case in cases:
        groups[case.loaded.workspace].append(case)
    return list(groups.values())


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
