"""The funnel of a sequence: how many wait before each step, what became of its messages, and who ended there.

Reads the sequence's own enrollments and messages along their indexes, and of both only those made since a moment.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace, first_id_at
from tidings.domain.sequences.change_version import step_of
from tidings.domain.sequences.form import SequenceStep, steps_in
from tidings.kernel.kernel import Kernel
from tidings.storage import sequences, workflows
from tidings.storage.sequences import EnrollmentState, StepItems
from tidings.views.sequences import Funnel, FunnelStep

Counts = Counter[tuple[str, str]]
"""By step, and what is counted of it."""
FIRST = UUID(int=0)
OPEN = frozenset({"enqueued", "paused"})
_SETTLED = frozenset({"failed", "skipped"})


async def show_funnel(kernel: Kernel, workspace: Workspace, id: UUID, since: datetime | None) -> Funnel:
    """Count a sequence's enrollments and messages by step."""
    steps, published = await _steps(kernel, workspace, id)
    first = FIRST if since is None else first_id_at(since)
    count_enrolled = partial(sequences.count_enrollment_states, workflow_id=id)
    count_sent = partial(sequences.count_step_items, nodes=[*steps])
    states, items = await asyncio.gather(
        *(
            _in_every_shard(kernel, partial(one, workspace=workspace, since=first))
            for one in (count_enrolled, count_sent)
        )
    )
    counts = _of_enrollments(states) + _of_items(items)
    by_status: Counter[str] = Counter()
    for one in states:
        by_status[one.status] += one.count
    return Funnel(
        sequence_id=id,
        since=since,
        enrolled=by_status.total(),
        under_way=sum(by_status[status] for status in OPEN),
        completed=by_status["completed"],
        failed=by_status["failed"],
        cancelled=by_status["cancelled"],
        steps=[_shown(step, step.id in published, counts) for step in steps.values()],
    )


async def _steps(kernel: Kernel, workspace: Workspace, id: UUID) -> tuple[dict[str, SequenceStep], set[str]]:
    """Return the steps of all versions, each as its newest version has it, in their order; and which are published."""
    find = partial(workflows.list_versions, workspace=workspace, workflow_id=id)
    versions = await kernel.db.persist(find, alone=True)
    found: dict[str, SequenceStep] = {}
    for version in reversed(versions):
        found |= {step.id: step for step in steps_in(version.definition)}
    published = {step.id for step in steps_in(versions[0].definition)} if versions else set[str]()
    ordered = sorted(found.values(), key=lambda step: (step.id not in published, step.step_order))
    return {step.id: step for step in ordered}, published


async def _in_every_shard(kernel: Kernel, count: Callable[..., Awaitable[Any]]) -> list[Any]:
    shards: Sequence[Shard] = [*kernel.every_shard()]
    found = await asyncio.gather(*(kernel.db.persist(partial(count, shard=shard), alone=True) for shard in shards))
    return [one for shard in found for one in shard]


def _of_enrollments(states: Sequence[EnrollmentState]) -> Counts:
    counts: Counts = Counter()
    for one in states:
        at = one.cursor or one.error_node
        if at is not None and one.status != "completed":
            counts[step_of(at), "waiting" if one.status in OPEN else "ended"] += one.count
    return counts


def _of_items(items: Sequence[StepItems]) -> Counts:
    counts: Counts = Counter()
    for one in items:
        told = "in_doubt" if one.in_doubt else "sending" if one.status == "queued" else "sent"
        counts[one.node, one.status if one.status in _SETTLED else told] += one.count
    return counts


def _shown(step: SequenceStep, published: bool, counts: Counts) -> FunnelStep:
    return FunnelStep(
        step_id=UUID(step.id),
        step_order=step.step_order,
        day_offset=step.day_offset,
        channel=step.channel,
        published=published,
        waiting=counts[step.id, "waiting"],
        sending=counts[step.id, "sending"],
        sent=counts[step.id, "sent"],
        failed=counts[step.id, "failed"],
        skipped=counts[step.id, "skipped"],
        in_doubt=counts[step.id, "in_doubt"],
        ended=counts[step.id, "ended"],
    )
