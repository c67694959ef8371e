"""Start work, each with a key under which it is started once: executions by trigger, runs by deploy.

The unique index decides, never a check before an insert. Reached from engine.py; claim.py finds what is due.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.definition import check_content
from tidings.domain.errors import Conflict, InputInvalid, Problem, TriggersInvalid
from tidings.domain.execution import begin
from tidings.domain.ids import Bucket, Shard, Workspace
from tidings.domain.item import Channel
from tidings.domain.queue import Lane
from tidings.kernel import crash_points
from tidings.kernel.check import (
    MOST_PROBLEMS,
    Checked,
    Trigger,
    by_shard,
    check_data,
    check_key,
    check_triggers,
    existing,
    find_workflow,
)
from tidings.kernel.kernel import Kernel
from tidings.kernel.plan import graph_of
from tidings.storage import start
from tidings.storage.database import Tx
from tidings.storage.load import frontier_to_json

AUDIENCE_CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class Started:
    """What was started, or had been under the same key."""

    id: UUID
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Recipient:
    """Somebody to write to, until contacts exist: an address, and data for the templates."""

    address: str
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deployment:
    """One wish to start a campaign's run."""

    campaign_id: UUID
    idempotency_key: str
    channel: Channel
    content: Mapping[str, object]
    recipients: Sequence[Recipient]
    content_id: str = "1"
    scheduled_for: datetime | None = None
    rate_per_minute: int | None = None


async def trigger(
    kernel: Kernel,
    workspace: Workspace,
    workflow: UUID | str,
    triggers: Sequence[Trigger],
    *,
    lane: Lane = Lane.TRANSACTIONAL,
    triggered_by: str | None = None,
) -> list[Started]:
    """Start one execution for each key, in one transaction per shard; a repeat gives what the first one started.

    Nothing is stored unless all of them may be. tidings.trigger() in storage/schema.sql does the same for one, inside
    somebody else's transaction.
    """
    found = await find_workflow(kernel, workspace, workflow)
    checked, wrong = await check_triggers(kernel, workspace, found, triggers)
    if wrong:
        raise _refusal(wrong, len(triggers))
    return await store_triggers(kernel, workspace, checked, lane=lane, triggered_by=triggered_by)


def _refusal(wrong: Mapping[int, InputInvalid | Conflict], count: int) -> InputInvalid | Conflict:
    """TriggersInvalid, naming every problem; for a single trigger its own error, for an inactive workflow just that."""
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
    """Start what was checked, in one transaction per shard; give one answer for each trigger, in their order."""
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
    return _in_order(checked.wishes, started)


def _in_order(triggers: Sequence[Trigger], started: Mapping[str, Started]) -> list[Started]:
    """One answer for each trigger; a key given twice in one call is a duplicate the second time."""
    seen: set[str] = set()
    answers = []
    for one in triggers:
        answer = started[one.idempotency_key]
        answers.append(Started(answer.id, answer.duplicate or one.idempotency_key in seen))
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
    graph = graph_of(kernel, version.id, version.definition)
    frontier = begin(graph, now)
    # Made once: after an unknown commit they tell what this very call started.
    ids = {key: kernel.new_id(bucket, now) for key, bucket in buckets.items()}

    async def write(tx: Tx) -> dict[str, Started]:
        new = await start.insert_executions(
            tx,
            shard=shard,
            tenant=workspace.tenant,
            workspace=workspace.name,
            workflow_id=workflow.id,
            version_id=version.id,
            frontier=frontier_to_json(frontier),
            cursor=graph.entry,
            triggered_by=triggered_by,
            ids=list(ids.values()),
            keys=list(ids),
            inputs=[checked.fresh[key].data for key in ids],
            contact_ids=[checked.fresh[key].contact_id for key in ids],
            now=now,
        )
        due_at = frontier.ready[0].due_at
        await start.enqueue_executions(tx, shard=shard, lane=lane, due_at=due_at, ids=list(new.values()))
        taken = [key for key in ids if key not in new]
        found = await existing(tx, shard=shard, workspace=workspace, workflow=workflow, keys=taken)
        crash_points.reach("before_trigger_commit")
        return {key: Started(id, duplicate=id != ids[key]) for key, id in {**new, **found}.items()}

    return await kernel.db.persist(write)


async def deploy(kernel: Kernel, workspace: Workspace, wish: Deployment) -> Started:
    """Start a run: its people are stored now, its jobs and items are written by workers (rule 10).

    The people go in first, shard by shard, under an id nobody knows yet; the run itself appears in one commit, or
    finds its key taken. A crash before that leaves only rows that no run names.
    """
    _check_deployment(kernel, wish)
    content = check_content(wish.channel, wish.content)
    now = await kernel.clock.now()
    bucket = workspace.bucket_of(wish.idempotency_key)
    run_id = kernel.new_id(bucket, now)
    find = partial(
        start.find_run_by_key,
        shard=Shard(bucket % kernel.shards),
        tenant=workspace.tenant,
        workspace=workspace.name,
        key=wish.idempotency_key,
    )

    async def write(tx: Tx) -> UUID | None:
        await _insert_run(kernel, tx, workspace, wish, content, run_id, now)
        return await find(tx)

    # Only a shortcut: what decides is the unique index, below.
    taken_by = await kernel.db.persist(find, alone=True)
    if taken_by is None:
        await _insert_people(kernel, workspace, run_id, _distinct(wish.recipients))
        taken_by = await kernel.db.persist(write)
        if taken_by != run_id:
            await _delete_people(kernel, run_id)
    if taken_by is None:
        raise AssertionError("the run was inserted or there in this very transaction")
    kernel.notifier.tell(kernel.shard_of(run_id), Lane.RUNS)
    return Started(taken_by, duplicate=taken_by != run_id)


async def _insert_run(
    kernel: Kernel,
    tx: Tx,
    workspace: Workspace,
    wish: Deployment,
    content: Mapping[str, str],
    run_id: UUID,
    now: datetime,
) -> None:
    shard = kernel.shard_of(run_id)
    await start.insert_run(
        tx,
        shard=shard,
        id=run_id,
        tenant=workspace.tenant,
        workspace=workspace.name,
        campaign_id=wish.campaign_id,
        key=wish.idempotency_key,
        channel=wish.channel,
        provider=kernel.route(wish.channel),
        content_id=wish.content_id,
        content=content,
        scheduled_for=wish.scheduled_for,
        rate_per_minute=wish.rate_per_minute,
        retry_of=None,
        now=now,
    )
    due_at = max(now, wish.scheduled_for or now)
    await start.enqueue_run(tx, shard=shard, lane=Lane.RUNS, due_at=due_at, id=run_id)


async def _insert_people(kernel: Kernel, workspace: Workspace, run_id: UUID, people: Sequence[Recipient]) -> None:
    shares: dict[Shard, list[tuple[int, Recipient]]] = {shard: [] for shard in kernel.every_shard()}
    for ordinal, person in enumerate(people, start=1):
        shares[Shard(workspace.bucket_of(str(ordinal)) % kernel.shards)].append((ordinal, person))
    for shard, share in shares.items():
        for first in range(0, len(share), AUDIENCE_CHUNK):
            await _insert_chunk(kernel, shard, run_id, share[first : first + AUDIENCE_CHUNK])
        if share:
            await kernel.db.persist(partial(start.insert_run_part, shard=shard, run_id=run_id), alone=True)


async def _insert_chunk(kernel: Kernel, shard: Shard, run_id: UUID, chunk: Sequence[tuple[int, Recipient]]) -> None:
    await kernel.db.persist(
        lambda tx: start.insert_audience(
            tx,
            shard=shard,
            run_id=run_id,
            ordinals=[ordinal for ordinal, _ in chunk],
            recipients=[person.address for _, person in chunk],
            data=[person.data for _, person in chunk],
        ),
        alone=True,
    )


async def _delete_people(kernel: Kernel, run_id: UUID) -> None:
    """Another deploy took the key first: nobody will ever read these."""
    for shard in kernel.every_shard():
        await kernel.db.persist(partial(start.delete_audience, shard=shard, run_id=run_id))


def _distinct(recipients: Sequence[Recipient]) -> list[Recipient]:
    """Recipients without repeats, whatever the case of their letters: nobody is written to twice by one run."""
    seen: dict[str, Recipient] = {}
    for person in recipients:
        seen.setdefault(person.address.strip().casefold(), person)
    return list(seen.values())


def _check_deployment(kernel: Kernel, wish: Deployment) -> None:
    check_key(wish.idempotency_key)
    kernel.route(wish.channel)  # a channel without a provider is refused before anything is stored
    if not wish.recipients:
        raise InputInvalid("the audience is empty; name at least one recipient")
    nameless = next((place for place, one in enumerate(wish.recipients) if not one.address.strip()), None)
    if nameless is not None:
        raise InputInvalid(f"recipients[{nameless}] has no address; leave it out or give one")
    for place, one in enumerate(wish.recipients):
        check_data({"address": one.address, "data": one.data}, f"recipients[{place}]")
    if wish.rate_per_minute is not None and wish.rate_per_minute < 1:
        raise InputInvalid(f"a rate of {wish.rate_per_minute} a minute: use 1 or more, or none")
    if wish.scheduled_for and wish.scheduled_for.tzinfo is None:
        raise InputInvalid(f"scheduledFor {wish.scheduled_for} has no time zone; write it like {wish.scheduled_for}Z")
