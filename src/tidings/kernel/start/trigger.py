"""Start executions, each with a key under which it is started once. start_run.py does the same for runs.

The unique index decides, never a check before an insert. Reached from engine.py; claim.py finds what is due.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.errors import Conflict, InputInvalid, Problem, TriggersInvalid
from tidings.domain.flow.execution import begin
from tidings.domain.flow.ids import Bucket, Shard, Workspace
from tidings.domain.flow.keys import key_hashes
from tidings.domain.flow.queue import Lane
from tidings.kernel import crash_points
from tidings.kernel.graphs import graph_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.start.check import (
    MOST_PROBLEMS,
    Checked,
    Trigger,
    by_shard,
    check_triggers,
    existing,
    find_workflow,
)
from tidings.storage import start
from tidings.storage.database import Tx
from tidings.storage.define import FoundWorkflow
from tidings.storage.load import frontier_to_json


@dataclass(frozen=True, slots=True)
class Started:
    """What was started, or had been under the same key."""

    id: UUID
    duplicate: bool
    beginning: "Beginning | None" = None
    contact_id: UUID | None = None
    """Both as this call has written them, unless it is a duplicate."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What executions that are started together have in common."""

    workflow: FoundWorkflow
    cursor: str
    created_at: datetime
    due_at: datetime


async def trigger(
    kernel: Kernel,
    workspace: Workspace,
    workflow: UUID | str,
    triggers: Sequence[Trigger],
    *,
    lane: Lane = Lane.TRANSACTIONAL,
    triggered_by: str | None = None,
) -> list[Started]:
    """Start one execution for each key, in one transaction per shard; a repeat returns what the first one started.

    Nothing is stored unless all of them may be. tidings.trigger() in storage/schema.sql does the same for one, inside
    the caller's own transaction.
    """
    found = await find_workflow(kernel, workspace, workflow)
    checked, wrong = await check_triggers(kernel, workspace, found, triggers)
    if wrong:
        raise _refusal(wrong, len(triggers))
    return await store_triggers(kernel, workspace, checked, lane=lane, triggered_by=triggered_by)


def _refusal(wrong: Mapping[int, InputInvalid | Conflict], count: int) -> InputInvalid | Conflict:
    """TriggersInvalid with every problem; for a single trigger its own error, for an inactive workflow just that."""
    conflict = next((error for error in wrong.values() if isinstance(error, Conflict)), None)
    if conflict or count == 1:
        return conflict or wrong[0]
    return TriggersInvalid(
        [Problem(f"triggers[{place}]", str(wrong[place])) for place in sorted(wrong)[:MOST_PROBLEMS]]
    )


async def store_triggers(
    kernel: Kernel,
    workspace: Workspace,
    checked: Checked,
    *,
    lane: Lane = Lane.TRANSACTIONAL,
    triggered_by: str | None = None,
) -> list[Started]:
    """Start what was checked, in one transaction per shard; return one answer for each trigger, in their order."""
    started = {key: Started(id, duplicate=True) for key, id in checked.known.items()}
    shares = by_shard(kernel, workspace, checked.fresh)
    stored = await asyncio.gather(
        *(
            _store_shard(kernel, shard, workspace, checked, buckets, lane, triggered_by)
            for shard, buckets in shares.items()
        )
    )
    for shard, share in zip(shares, stored, strict=True):
        started |= share
        kernel.notifier.tell(shard, lane)
    return _in_order(checked.requests, started)


def _in_order(triggers: Sequence[Trigger], started: Mapping[str, Started]) -> list[Started]:
    """One answer for each trigger; a key that occurs twice in one call is a duplicate the second time."""
    seen: set[str] = set()
    answers = []
    for one in triggers:
        answer = started[one.idempotency_key]
        is_repeat = one.idempotency_key in seen and not answer.duplicate
        answers.append(Started(answer.id, duplicate=True) if is_repeat else answer)
        seen.add(one.idempotency_key)
    return answers


async def _store_shard(
    kernel: Kernel,
    shard: Shard,
    workspace: Workspace,
    checked: Checked,
    buckets: Mapping[str, Bucket],
    lane: Lane,
    triggered_by: str | None,
) -> dict[str, Started]:
    now, workflow, version = await kernel.clock.now(), checked.workflow, checked.workflow.version
    frontier = begin(graph := graph_of(kernel, version.id, version.definition), now)
    beginning = Beginning(workflow, graph.entry, now, frontier.ready[0].due_at)
    # Made once: after an unknown commit they tell what this call started.
    ids = {key: kernel.new_id(bucket, now) for key, bucket in buckets.items()}
    contacts = {key: checked.contact_of(checked.fresh[key]) for key in ids}
    start_all = partial(
        start.start_executions,
        shard=shard,
        workspace=workspace,
        workspace_hash=workspace.hash,
        workflow_id=workflow.id,
        version_id=version.id,
        frontier=frontier_to_json(frontier),
        cursor=graph.entry,
        triggered_by=triggered_by,
        ids=list(ids.values()),
        keys=list(ids),
        hashes=key_hashes(workspace, str(workflow.id), ids),
        workspace_hashes=key_hashes(workspace, "", ids) if checked.correlated else [],
        inputs=[checked.fresh[key].data for key in ids],
        contact_ids=list(contacts.values()) if any(contacts.values()) else [],
        now=now,
        lane=lane,
        due_at=beginning.due_at,
    )
    new = await _commit(kernel, start_all)
    found = await _taken_before(kernel, shard, workspace, checked, [key for key in ids if key not in new])
    return {key: Started(id, id != ids[key], beginning, contacts[key]) for key, id in {**new, **found}.items()}


async def _commit(kernel: Kernel, start_all: Callable[[Tx], Awaitable[Mapping[str, UUID]]]) -> Mapping[str, UUID]:
    async def write(tx: Tx) -> Mapping[str, UUID]:
        new = await start_all(tx)
        crash_points.reach("before_trigger_commit")
        return new

    return await kernel.db.persist(write, alone=not crash_points.is_armed("before_trigger_commit"))


async def _taken_before(
    kernel: Kernel, shard: Shard, workspace: Workspace, checked: Checked, keys: Sequence[str]
) -> Mapping[str, UUID]:
    if not keys:
        return {}
    find = partial(
        existing,
        shard=shard,
        workspace=workspace,
        workflow=checked.workflow,
        keys=keys,
        correlated=checked.correlated,
    )
    found = await kernel.db.persist(find, alone=True)
    for key in keys:
        if key not in found:  # what holds the hash of a key may have another key
            raise Conflict(f"idempotencyKey {key[:50]!r} cannot be told from another one: use another key")
    return found
