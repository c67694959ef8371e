"""Decide what each claimed execution does next, and render what it will send. No transaction is open meanwhile.

Reached from executions.py after case.py has read the batch; reserve.py writes what this returns.
domain/flow/execution.py alone decides what to do.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.channels import HTML_FIELDS
from tidings.domain.content.template import RenderFailed
from tidings.domain.flow.execution import Deliver, ExecutionState, Plan
from tidings.domain.flow.graph import ON_ERROR, Doer, Send
from tidings.domain.flow.ids import bucket_of_id
from tidings.domain.flow.item import ItemId, OwnerId, Payload, Planned
from tidings.domain.flow.keys import workflow_key
from tidings.domain.flow.lateness import appointment_of
from tidings.domain.people.address import NumbersOf
from tidings.kernel import crash_points
from tidings.kernel.flow.addressees import addressees_of
from tidings.kernel.flow.case import Case
from tidings.kernel.flow.report import Failure, read_failures
from tidings.kernel.gate.failover import first_open
from tidings.kernel.kernel import Kernel
from tidings.kernel.phone_region import know_regions
from tidings.kernel.readiness import find_routes
from tidings.kernel.render.renderer import Rendered, RenderJob
from tidings.kernel.senders import know_senders, sent_by

FIRST_VISIT = 1
WITHOUT_ROUTE = timedelta(seconds=30)
"""How long an execution waits before it looks again whether its channel has a provider."""


async def plan(kernel: Kernel, cases: Iterable[Case], now: datetime) -> list[Planned]:
    """Return the items that should exist now and do not; a node whose items exist is already planned (rule 6)."""
    to_plan = []
    for case in cases:
        execution, action = case.decide(now)
        case.walked, case.walked_at = execution.vars.keys(), now
        if isinstance(action, Plan | Deliver):
            case.at, case.appointment = action.node.id, appointment_of(case.graph, execution, action.node.id)
            if isinstance(action, Plan):
                to_plan.append((case, execution, action.node))
    routes = await find_routes(kernel, [(case.loaded.workspace, node) for case, _, node in to_plan], now)
    for (case, _, _), case.route in zip(to_plan, routes, strict=True):
        case.not_before = None if case.route else now + WITHOUT_ROUTE
    to_plan = [one for one in to_plan if one[0].route]
    senders = {case.loaded.workspace for case, _, node in to_plan if isinstance(node, Send)}
    await know_senders(kernel, senders, now)
    await know_regions(kernel, senders, now)
    failures = await read_failures(kernel, [case.loaded for case, _, node in to_plan if node.id == ON_ERROR])
    rendered = await kernel.renderer.render([_render_job(*one, now, failures) for one in to_plan])
    crash_points.reach("after_render")
    planned: list[Planned] = []
    for (case, execution, node), result in zip(to_plan, rendered, strict=True):
        with NumbersOf(kernel.regions.of(case.loaded.workspace)):
            planned += _planned(kernel, case, execution, node, result, now)
    return planned


def _render_job(
    case: Case, execution: ExecutionState, node: Doer, now: datetime, failures: Mapping[UUID, Failure]
) -> RenderJob:
    data = case.graph.context(execution.input, execution.vars)
    if node.id == ON_ERROR:
        data = {**data, "error": failures[execution.id]}
    finish = isinstance(node, Send) and node.message.needs_finishing
    return RenderJob(node.every_template, data, HTML_FIELDS, now, case.loaded.workspace, finish)


def _planned(
    kernel: Kernel,
    case: Case,
    walked: ExecutionState,
    node: Doer,
    result: Rendered | RenderFailed,
    now: datetime,
) -> list[Planned]:
    execution = case.held.lease.id
    fields = result.fields if isinstance(result, Rendered) else {}
    payload, failure = _payload(kernel, case, node, result)
    late = case.appointment.lateness(now) if case.appointment else None
    seen = case.graph.beside(node.id, walked.vars) if walked.vars else None
    return [
        Planned(
            id=ItemId(kernel.new_id(bucket_of_id(execution), now)),
            owner=OwnerId(execution),
            fence=case.held.lease.fence,
            node=node.id,
            visit=FIRST_VISIT,
            ordinal=one.ordinal,
            channel=node.channel,
            provider=first_open(kernel, case.route, one.address, now) if case.route else "",
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


def _payload(kernel: Kernel, case: Case, node: Doer, result: Rendered | RenderFailed) -> tuple[Payload, str | None]:
    """What a provider gets, and why it gets nothing, if so."""
    if isinstance(node, Send):
        made = sent_by(kernel, case.loaded.workspace, node.message, result)
        return ({}, made.reason) if isinstance(made, RenderFailed) else (made, None)
    fields, failure = (result.fields, None) if isinstance(result, Rendered) else ({}, result.reason)
    seconds = f"{node.timeout.total_seconds():g}"
    return {"action": node.action, "payload": node.body(fields), "timeout": seconds}, failure
