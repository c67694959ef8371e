"""Decide what each claimed execution does next, and render what it will send. No transaction is open meanwhile.

Reached from executions.py after claim.py; hands over to reserve.py. What to do is decided by domain/flow/execution.py
alone.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.channels import HTML_FIELDS
from tidings.domain.content.template import RenderFailed
from tidings.domain.flow.execution import Action, Deliver, Execution, Plan, decide
from tidings.domain.flow.graph import ON_ERROR, Doer, Graph, Send
from tidings.domain.flow.ids import Shard, bucket_of_id
from tidings.domain.flow.item import ItemId, OwnerId, Payload, Planned, Reserved
from tidings.domain.flow.keys import workflow_key
from tidings.domain.flow.lateness import Appointment, appointment_of
from tidings.domain.flow.queue import Claimed
from tidings.domain.flow.retry import GRAPH, RetryPolicy
from tidings.domain.people.contact import LoadedContact
from tidings.domain.workflows.definition import parse_workflow
from tidings.kernel import crash_points
from tidings.kernel.calls.readiness import find_providers
from tidings.kernel.flow.addressees import addressees_of
from tidings.kernel.flow.held import Hand
from tidings.kernel.flow.report import Failure, read_failures, report_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.contacts import introduce
from tidings.kernel.render.renderer import Rendered, RenderJob
from tidings.storage import load
from tidings.storage.database import Tx
from tidings.storage.load import LoadedExecution
from tidings.storage.outbox import Wanted

FIRST_VISIT = 1
WITHOUT_ROUTE = timedelta(seconds=30)
"""How long an execution waits before it looks again whether its channel has a provider."""


@dataclass(slots=True)
class Case:
    """One claimed execution on its way through the arrows."""

    hand: Hand
    loaded: LoadedExecution
    graph: Graph
    at: str | None = None  # the node it stands at, once plan() has decided
    walked: Collection[str] = ()  # the nodes it had passed by then
    walked_at: datetime | None = None
    person: LoadedContact | None = None  # whom it walks for, as far as that is a contact
    appointment: Appointment | None = None  # when that node was to send, if it may not be late
    provider: str | None = None  # of what that node does, if it is to be planned
    not_before: datetime | None = None  # nobody is set up to do what its node does: when to look again

    @property
    def deadline(self) -> datetime | None:
        """When its time is over, if it has been given a limit."""
        return self.loaded.begun_at + self.graph.timeout if self.graph.timeout else None

    @property
    def too_late(self) -> str:
        """What is said of it when its time is over."""
        return f"timed out: not done within {self.graph.timeout}"

    def wanted(self, item: Reserved) -> Wanted:
        """One of its items, to be marked."""
        return self.hand.wanted(item, item.payload or {}, self.appointment if item.node == self.at else None)

    def decide(self, now: datetime) -> tuple[Execution, Action]:
        """What comes next, as far as is known."""
        stored, items = self.loaded.execution, list(self.hand.states.values())
        if self.loaded.ended_at and (report := report_of(self.graph, stored, items)):
            return stored, Plan(report)
        return decide(self.graph, stored, items, now)


def _case(kernel: Kernel, lease: Claimed, loaded: LoadedExecution, now: datetime) -> Case:
    graph = kernel.graphs[loaded.version_id]

    def retry_for(item: Reserved) -> RetryPolicy:
        node = graph.doers.get(item.node)
        return node.retry if node else GRAPH

    case = Case(Hand(lease, retry_for), loaded, graph)
    if graph.timeout and loaded.begun_at + graph.timeout <= now and loaded.ended_at is None and lease.stop is None:
        case.hand.overdue = case.too_late
    return case


async def load_cases(kernel: Kernel, shard: Shard, leases: Sequence[Claimed], now: datetime) -> dict[UUID, Case]:
    """Read the claimed executions, their versions and their items."""

    async def read(tx: Tx) -> dict[UUID, Case]:
        ids = [lease.id for lease in leases]
        executions = await load.load_executions(tx, shard=shard, ids=ids)
        await load_graphs(kernel, tx, {one.version_id for one in executions.values()})
        cases = {lease.id: _case(kernel, lease, executions[lease.id], now) for lease in leases}
        await _load_items(tx, shard, [case for case in cases.values() if not case.hand.lease.is_first])
        return cases

    cases = await kernel.db.persist(read, alone=True)
    await introduce(kernel, [case for case in cases.values() if case.loaded.contact_id])
    return cases


async def _load_items(tx: Tx, shard: Shard, cases: Sequence[Case]) -> None:
    """Give executions the items they have; one that is held for the first time has none."""
    if not cases:
        return
    by_id = {case.hand.lease.id: case for case in cases}
    nodes = {ready.node for case in cases for ready in case.loaded.execution.frontier.ready}
    if any(case.graph.on_error for case in cases):
        nodes.add(ON_ERROR)
    for item in await load.load_execution_items(tx, shard=shard, ids=list(by_id), nodes=sorted(nodes)):
        by_id[item.owner].hand.take(item)


def graph_of(kernel: Kernel, version_id: UUID, definition: Mapping[str, object]) -> Graph:
    """The graph of a frozen version, parsed once."""
    if version_id not in kernel.graphs:
        kernel.graphs[version_id] = parse_workflow(definition, is_stored=True)
    return kernel.graphs[version_id]


async def load_graphs(kernel: Kernel, tx: Tx, versions: Set[UUID]) -> None:
    """Read those versions that were not read before."""
    if missing := versions - kernel.graphs.keys():
        for id, definition in (await load.load_versions(tx, ids=list(missing))).items():
            graph_of(kernel, id, definition)


async def plan(kernel: Kernel, cases: Iterable[Case], now: datetime) -> list[Planned]:
    """The items that should exist now and do not; a node whose items exist is planned already (rule 6)."""
    to_plan = []
    for case in cases:
        execution, action = case.decide(now)
        case.walked, case.walked_at = execution.vars.keys(), now
        if isinstance(action, Plan | Deliver):
            case.at, case.appointment = action.node.id, appointment_of(case.graph, execution, action.node.id)
            if isinstance(action, Plan):
                to_plan.append((case, execution, action.node))
    providers = await find_providers(kernel, [(case.loaded.workspace, node) for case, _, node in to_plan], now)
    for (case, _, _), case.provider in zip(to_plan, providers, strict=True):
        case.not_before = None if case.provider else now + WITHOUT_ROUTE
    to_plan = [one for one in to_plan if one[0].provider]
    failures = await read_failures(kernel, [case.loaded for case, _, node in to_plan if node.id == ON_ERROR])
    rendered = await kernel.renderer.render([_render_job(*one, now, failures) for one in to_plan])
    crash_points.reach("after_render")
    planned: list[Planned] = []
    for (case, execution, node), result in zip(to_plan, rendered, strict=True):
        planned += _planned(kernel, case, execution, node, result, now)
    return planned


def due_items(case: Case, now: datetime) -> list[Reserved]:
    """The open items of an execution that may be called for now: those of its node, and any reopened by a person."""
    due, ready = case.hand.due(now), case.loaded.execution.frontier.ready
    waiting = [one.node for one in ready if one.node != case.at] if case.loaded.ended_at is None else []
    return [item for item in due if item.node not in waiting] if waiting else due


def _render_job(
    case: Case, execution: Execution, node: Doer, now: datetime, failures: Mapping[UUID, Failure]
) -> RenderJob:
    data = case.graph.context(execution.input, execution.vars)
    if node.id == ON_ERROR:
        data = {**data, "error": failures[execution.id]}
    return RenderJob(templates=node.every_template, data=data, html_fields=HTML_FIELDS, now=now)


def _planned(
    kernel: Kernel,
    case: Case,
    walked: Execution,
    node: Doer,
    result: Rendered | RenderFailed,
    now: datetime,
) -> list[Planned]:
    execution = case.hand.lease.id
    fields = result.fields if isinstance(result, Rendered) else {}
    failure = result.reason if isinstance(result, RenderFailed) else None
    payload, late = _payload(node, fields), case.appointment.lateness(now) if case.appointment else None
    seen = case.graph.beside(node.id, walked.vars) if walked.vars else None
    return [
        Planned(
            id=ItemId(kernel.new_id(bucket_of_id(execution), now)),
            owner=OwnerId(execution),
            fence=case.hand.lease.fence,
            node=node.id,
            visit=FIRST_VISIT,
            ordinal=one.ordinal,
            channel=node.channel,
            provider=case.provider or "",
            recipient=one.address,
            payload=payload,
            key=workflow_key(execution, node.id, FIRST_VISIT, one.ordinal),
            workspace=case.loaded.workspace,
            failure=failure,
            contact_id=one.contact_id,
            skip=one.skip or late,
            seen=seen,
        )
        for one in addressees_of(node, fields, walked.input, case.person)
    ]


def _payload(node: Doer, fields: Mapping[str, str]) -> Payload:
    if isinstance(node, Send):
        return {name: fields[name] for name in node.fields if name in fields}
    seconds = f"{node.timeout.total_seconds():g}"
    return {"action": node.action, "payload": node.body(fields), "timeout": seconds}
