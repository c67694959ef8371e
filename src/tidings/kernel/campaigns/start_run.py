"""Start runs, each with a key under which it is started once: of a plain list, of contacts, or of what failed before.

The unique index decides, never a check before an insert. Reached from engine.py and resources/; plan_audience.py turns
the people into jobs and items under the run's own claim.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.campaigns.campaign import CONTACT_ZONE
from tidings.domain.campaigns.run import Source
from tidings.domain.content.linking import FROZEN, frozen_in, link, unlinked_fields, with_frozen, without_frozen
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.flow.queue import Lane
from tidings.domain.people.audience import Audience
from tidings.domain.workflows.definition import check_content
from tidings.kernel.campaigns.retry_turn import require_turn, take_turn, too_late
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.readiness import require_ready
from tidings.kernel.start.check import check_data, check_key
from tidings.kernel.start.trigger import Started
from tidings.kernel.templates import LinkedDefinition, know_stored_templates, link_templates
from tidings.storage import start
from tidings.storage.database import Tx
from tidings.storage.start import NewRun

AUDIENCE_CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class Recipient:
    """A recipient who is not a contact: an address, and data for the templates."""

    address: str
    data: Mapping[str, object] = field(default_factory=dict)
    about: UUID | None = None
    """The contact that templates see, as it is when the message is rendered: a test has one, and no copy of it."""


@dataclass(frozen=True, slots=True)
class RetriedRun:
    """Which failed items of which run are tried again; every filter that is set must match."""

    run_id: UUID
    error: str | None = None
    ids: tuple[UUID, ...] | None = None
    after: UUID | None = None
    """The last retry of that run when this one was planned."""

    @property
    def where(self) -> Mapping[str, object]:
        """The filter as it is stored."""
        return {"error": self.error, "ids": None if self.ids is None else [str(id) for id in self.ids]}


@dataclass(frozen=True, slots=True)
class Deployment:
    """One request to start a campaign's run; its people are `recipients`, or an `audience` of contacts."""

    campaign_id: UUID
    idempotency_key: str
    channel: Channel
    content: Mapping[str, object]
    recipients: Sequence[Recipient] = ()
    content_id: str = "1"
    scheduled_for: datetime | None = None
    rate_per_minute: int | None = None
    audience: Audience | None = None
    retry: RetriedRun | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    send_hour: int | None = None
    time_zone: str = CONTACT_ZONE
    max_lateness: timedelta | None = None
    is_test: bool = False
    provider: str | None = None  # of a test of one connection; else what the channel is routed to

    @property
    def source(self) -> Source:
        """Where its people come from."""
        if self.retry:
            return Source.RETRY
        return Source.CONTACTS if self.audience else Source.LIST


async def deploy(kernel: Kernel, caller: Caller, deployment: Deployment) -> Started:
    """Start a run: a plain list is stored now, jobs and items are written by workers (rule 10).

    The people go in first, shard by shard, under an id that nothing names yet; the run itself appears in one commit, or
    finds its key taken. A crash before that leaves only rows that no run names.
    """
    workspace = caller.workspace
    _check_deployment(deployment)
    linked = await _link(kernel, workspace, deployment)
    content = linked.read(lambda given: _checked(deployment.channel, given))
    stored = with_frozen(unlinked_fields(content), linked.frozen)
    now = await kernel.clock.now()
    bucket = workspace.bucket_of(deployment.idempotency_key)
    run_id = kernel.new_id(bucket, now)
    entry = kernel.new_id(bucket, now)
    find = _find_by_key(kernel, workspace, deployment.idempotency_key)

    async def write(tx: Tx) -> UUID | None:
        if deployment.retry:
            await require_turn(kernel, tx, deployment.retry.run_id, run_id)
        if await _insert_run(kernel, tx, workspace, deployment, stored, run_id, now):
            detail = {"campaignId": str(deployment.campaign_id), "source": deployment.source}
            await write_audit(kernel, tx, caller, [AuditEntry("run", run_id, "deployed", detail, entry)], now)
        return await find(tx)

    # Only a shortcut: what decides is the unique index, below.
    taken_by = await kernel.db.persist(find, alone=True)
    if taken_by is None:
        await require_ready(kernel, workspace, [deployment.channel])  # before anything is stored
        if deployment.retry and not await take_turn(kernel, deployment.retry.run_id, deployment.retry.after, run_id):
            return await _answer_of_the_faster(kernel, deployment.retry, find)
        await _open_parts(kernel, workspace, deployment, run_id)
        taken_by = await kernel.db.persist(write)
        if taken_by != run_id:
            await _delete_people(kernel, run_id)
    if taken_by is None:
        raise AssertionError("the run was inserted or there in this very transaction")
    kernel.notifier.tell(kernel.shard_of(run_id), Lane.RUNS)
    return Started(taken_by, duplicate=taken_by != run_id)


async def _link(kernel: Kernel, workspace: Workspace, deployment: Deployment) -> LinkedDefinition:
    """Find what its messages render; what is tried again keeps what it had."""
    if FROZEN in deployment.content:
        frozen = frozen_in(deployment.content)
        given = link({"content": without_frozen(deployment.content)}, frozen)
        await know_stored_templates(kernel, workspace, given)
        return LinkedDefinition(given, frozen, ())
    # Where there are no contacts each recipient has a post of its own.
    posts = [] if deployment.channel.reaches_contacts else [one.data.get("post") for one in deployment.recipients]
    given = {"channel": deployment.channel, "content": deployment.content, "posts": posts}
    return await link_templates(kernel, workspace, given, is_stored=True)


def _checked(channel: Channel, given: Mapping[str, object]) -> Mapping[str, object]:
    content = given["content"]
    return check_content(channel, content if isinstance(content, Mapping) else {})


async def _answer_of_the_faster(
    kernel: Kernel, retry: RetriedRun, find: Callable[[Tx], Awaitable[UUID | None]]
) -> Started:
    """The run of the retry that took the turn, if it was requested under the same key."""
    theirs = await kernel.db.persist(find, alone=True)
    if theirs is None:
        raise too_late(retry.run_id)
    return Started(theirs, duplicate=True)


async def find_run(kernel: Kernel, workspace: Workspace, key: str) -> UUID | None:
    """Return the run that was started under a key, if any."""
    check_key(key)
    return await kernel.db.persist(_find_by_key(kernel, workspace, key), alone=True)


def _find_by_key(kernel: Kernel, workspace: Workspace, key: str) -> Callable[[Tx], Awaitable[UUID | None]]:
    return partial(
        start.find_run_by_key,
        shard=Shard(workspace.bucket_of(key) % kernel.shards),
        tenant=workspace.tenant,
        workspace=workspace.name,
        key=key,
    )


async def _insert_run(
    kernel: Kernel,
    tx: Tx,
    workspace: Workspace,
    deployment: Deployment,
    content: Mapping[str, object],
    run_id: UUID,
    now: datetime,
) -> bool:
    shard = kernel.shard_of(run_id)
    run = NewRun(
        id=run_id,
        campaign_id=deployment.campaign_id,
        key=deployment.idempotency_key,
        channel=deployment.channel,
        provider=deployment.provider or kernel.route(workspace, deployment.channel).first(""),
        content_id=deployment.content_id,
        content=content,
        source=deployment.source,
        scheduled_for=deployment.scheduled_for,
        rate_per_minute=deployment.rate_per_minute,
        retry_of=deployment.retry.run_id if deployment.retry else None,
        audience=deployment.audience.shown() if deployment.audience else None,
        retry_where=deployment.retry.where if deployment.retry else None,
        data=deployment.data,
        send_hour=deployment.send_hour,
        time_zone=deployment.time_zone,
        max_lateness=deployment.max_lateness,
        is_test=deployment.is_test,
    )
    new = await start.insert_run(tx, shard=shard, tenant=workspace.tenant, workspace=workspace.name, run=run, now=now)
    due_at = max(now, deployment.scheduled_for or now)
    await start.enqueue_run(tx, shard=shard, lane=Lane.RUNS, due_at=due_at, id=run_id)
    return new


async def _open_parts(kernel: Kernel, workspace: Workspace, deployment: Deployment, run_id: UUID) -> None:
    if deployment.source is Source.LIST:
        await _insert_people(kernel, workspace, run_id, _distinct(deployment))
        return
    for shard in kernel.every_shard():
        await kernel.db.persist(partial(start.insert_run_part, shard=shard, run_id=run_id), alone=True)


async def _insert_people(kernel: Kernel, workspace: Workspace, run_id: UUID, people: Sequence[Recipient]) -> None:
    by_shard: dict[Shard, list[tuple[int, Recipient]]] = {shard: [] for shard in kernel.every_shard()}
    for ordinal, person in enumerate(people, start=1):
        by_shard[Shard(workspace.bucket_of(str(ordinal)) % kernel.shards)].append((ordinal, person))
    for shard, people_there in by_shard.items():
        for first in range(0, len(people_there), AUDIENCE_CHUNK):
            await _insert_chunk(kernel, shard, run_id, people_there[first : first + AUDIENCE_CHUNK])
        if people_there:
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
            contact_ids=[person.about for _, person in chunk],
        ),
        alone=True,
    )


async def _delete_people(kernel: Kernel, run_id: UUID) -> None:
    """Delete the people of a run whose key another deploy took first: nothing will ever read them."""
    for shard in kernel.every_shard():
        await kernel.db.persist(partial(start.delete_audience, shard=shard, run_id=run_id))


def _distinct(deployment: Deployment) -> list[Recipient]:
    """Recipients without repeats, ignoring case: no address is written to twice by one run."""
    if not deployment.channel.reaches_contacts:
        return _distinct_posts(deployment.recipients)
    seen: dict[str, Recipient] = {}
    for person in deployment.recipients:
        seen.setdefault(person.address.strip().casefold(), person)
    return list(seen.values())


def _distinct_posts(recipients: Sequence[Recipient]) -> list[Recipient]:
    """Posts without repeats, by what an item's key names: the account as given, and the post's id."""
    seen: dict[tuple[str, str] | int, Recipient] = {}
    for place, person in enumerate(recipients):
        post = person.data.get("post")
        id = post.get("id") if isinstance(post, Mapping) else None
        is_named = type(id) in (str, int) and id != ""  # otherwise posts cannot be told apart
        seen.setdefault((person.address, str(id)) if is_named else place, person)
    return list(seen.values())


def _check_deployment(deployment: Deployment) -> None:
    check_key(deployment.idempotency_key)
    if deployment.source is Source.LIST and not deployment.recipients:
        raise InputInvalid("the audience is empty; name at least one recipient")
    nameless = next((place for place, one in enumerate(deployment.recipients) if not one.address.strip()), None)
    if nameless is not None:
        raise InputInvalid(f"recipients[{nameless}] has no address; leave it out or give one")
    for place, one in enumerate(deployment.recipients):
        check_data({"address": one.address, "data": one.data}, f"recipients[{place}]")
    if deployment.rate_per_minute is not None and deployment.rate_per_minute < 1:
        raise InputInvalid(f"a rate of {deployment.rate_per_minute} a minute: use 1 or more, or none")
    if deployment.scheduled_for and deployment.scheduled_for.tzinfo is None:
        raise InputInvalid(
            f"scheduledFor {deployment.scheduled_for} has no time zone; write it like {deployment.scheduled_for}Z"
        )
