"""One claimed execution on its way through the flow, and how a batch of them is read.

Reached from executions.py after claim.py; plan.py decides what each does next.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.connections.route import SendingRoute
from tidings.domain.flow.execution import Action, ExecutionState, Plan, decide
from tidings.domain.flow.graph import ON_ERROR, Graph
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Channel, Reserved
from tidings.domain.flow.lateness import Appointment
from tidings.domain.flow.outgoing import Outgoing, TimeLimit
from tidings.domain.flow.queue import Claimed
from tidings.domain.flow.retry import GRAPH, RetryPolicy
from tidings.domain.people.contact import CONTACT, DELETED, LoadedContact
from tidings.kernel.flow.held import Held
from tidings.kernel.flow.report import report_of
from tidings.kernel.graphs import load_graphs
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.contacts import load_people
from tidings.storage import load
from tidings.storage.database import Tx
from tidings.storage.load import LoadedExecution


@dataclass(slots=True)
class Case:
    """One claimed execution: what is stored of it, what a worker holds of it, and where it stands."""

    held: Held
    loaded: LoadedExecution
    graph: Graph
    at: str | None = None  # the node it stands at, once plan() has decided
    walked: Collection[str] = ()  # the nodes it had passed by then
    walked_at: datetime | None = None
    person: LoadedContact | None = None  # the contact it walks for, if any
    appointment: Appointment | None = None  # when that node was due to send, if it may not be late
    route: SendingRoute | None = None  # the ways out for what that node does, if it is to be planned
    not_before: datetime | None = None  # no provider is set up for its node: when to look again

    @property
    def deadline(self) -> datetime | None:
        """When its time is over, if it has been given a limit."""
        return self.loaded.begun_at + self.graph.timeout if self.graph.timeout else None

    @property
    def too_late(self) -> str:
        """The error to store when its time is over."""
        return f"timed out: not done within {self.graph.timeout}"

    def decide(self, now: datetime) -> tuple[ExecutionState, Action]:
        """Decide what comes next, from what is known now."""
        stored, items = self.loaded.execution, list(self.held.states.values())
        if self.loaded.ended_at and (report := report_of(self.graph, stored, items)):
            return stored, Plan(report)
        return decide(self.graph, stored, items, now)

    def due(self, now: datetime) -> list[Reserved]:
        """The open items that may be called for now: those of its node, and any that a person reopened."""
        due, ready = self.held.due(now), self.loaded.execution.frontier.ready
        waiting = [one.node for one in ready if one.node != self.at] if self.loaded.ended_at is None else []
        return [item for item in due if item.node not in waiting] if waiting else due

    def outgoing(self, item: Reserved) -> Outgoing:
        """One of its items, to be called for; a message that has begun is finished, a function call is cut in time."""
        limit = None
        if item.channel is Channel.FUNCTION and self.deadline and self.loaded.ended_at is None:
            limit = TimeLimit(self.deadline, self.too_late)
        return Outgoing(item, self.held.lease.fence, item.payload or {}, self.held.retry_for(item), limit)


async def load_cases(kernel: Kernel, shard: Shard, leases: Sequence[Claimed], now: datetime) -> dict[UUID, Case]:
    """Read the claimed executions, their versions, their items and their contacts."""

    async def read(tx: Tx) -> dict[UUID, Case]:
        ids = [lease.id for lease in leases]
        executions = await load.load_executions(tx, shard=shard, ids=ids)
        await load_graphs(kernel, tx, {one.version_id for one in executions.values()})
        cases = {lease.id: _case(kernel, lease, executions[lease.id], now) for lease in leases}
        await _load_items(tx, shard, [case for case in cases.values() if not case.held.lease.is_first])
        return cases

    cases = await kernel.db.persist(read, alone=True)
    await _attach_contacts(kernel, [case for case in cases.values() if case.loaded.contact_id])
    return cases


def _case(kernel: Kernel, lease: Claimed, loaded: LoadedExecution, now: datetime) -> Case:
    graph = kernel.graphs[loaded.version_id]

    def retry_for(item: Reserved) -> RetryPolicy:
        node = graph.doers.get(item.node)
        return node.retry if node else GRAPH

    case = Case(Held(lease, retry_for), loaded, graph)
    if graph.timeout and loaded.begun_at + graph.timeout <= now and loaded.ended_at is None and lease.stop is None:
        case.held.overdue = case.too_late
    return case


async def _load_items(tx: Tx, shard: Shard, cases: Sequence[Case]) -> None:
    """Load the items of executions; one that is claimed for the first time has none."""
    if not cases:
        return
    by_id = {case.held.lease.id: case for case in cases}
    nodes = {ready.node for case in cases for ready in case.loaded.execution.frontier.ready}
    if any(case.graph.on_error for case in cases):
        nodes.add(ON_ERROR)
    for item in await load.load_execution_items(tx, shard=shard, ids=list(by_id), nodes=sorted(nodes)):
        by_id[item.owner].held.take(item)


async def _attach_contacts(kernel: Kernel, cases: Sequence[Case]) -> None:
    """Add each contact's current fields to its execution's data; they are never written back."""
    found = await load_people(kernel, [case.loaded.contact_id for case in cases if case.loaded.contact_id])
    for case in cases:
        case.person = found.get(case.loaded.contact_id) if case.loaded.contact_id else None
        if case.person is None or case.person.is_deleted:
            case.held.withdrawn = DELETED
        else:
            execution = case.loaded.execution
            seen = {**execution.input, CONTACT: case.person.data}
            case.loaded = replace(case.loaded, execution=replace(execution, input=seen, contact=case.person))
