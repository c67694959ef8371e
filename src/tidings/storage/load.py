"""Read what deciding needs of the work just claimed. Reached from kernel/flow/plan.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from tidings.domain.campaigns.run import JobStatus, RunStatus, Source
from tidings.domain.connections.connection import connection_id
from tidings.domain.content.linking import Frozen, frozen_in, linked
from tidings.domain.content.message import MessageContent
from tidings.domain.flow.execution import ExecutionState, ExecutionStatus, Frontier, ItemState, Ready
from tidings.domain.flow.ids import Shard, Workspace, workspace_of
from tidings.domain.flow.item import Channel, Fence, ItemStatus, Reserved
from tidings.storage.database import Row, Tx
from tidings.storage.job_history import BY_ENGINE, insert_job_history
from tidings.storage.statements import load

_SQL = load("load")
Json = Mapping[str, object]
# Calling an enum costs fifteen times as much as a dictionary lookup, and rows come by the hundred.
_EXECUTION_STATUSES = {status.value: status for status in ExecutionStatus}
_ITEM_STATUSES = {status.value: status for status in ItemStatus}
_CHANNELS = {channel.value: channel for channel in Channel}


class LoadedExecution(msgspec.Struct, frozen=True):
    """An execution with what surrounds it."""

    execution: ExecutionState
    workspace: Workspace
    version_id: UUID
    begun_at: datetime  # since when its time limit runs: a replay restarts it
    ended_at: datetime | None
    contact_id: UUID | None = None  # the contact it walks for


class LoadedItem(msgspec.Struct, frozen=True):
    """An item as deciding sees it, and, while it is open, as delivering sees it."""

    id: UUID
    owner: UUID
    state: ItemState
    open: Reserved | None
    data: Json | None = None
    about: UUID | None = None  # the contact whose data a test shows


class LoadedJob(msgspec.Struct, frozen=True):
    """A job just locked: a run's or an event's; an event's is `unrouted` until a worker has decided what it sends."""

    id: UUID
    run_id: UUID | None
    tenant: str
    workspace: str
    event_id: UUID | None = None
    unrouted: bool = False


class LoadedRun(msgspec.Struct, frozen=True):
    """A run as deploying and rolling up see it."""

    id: UUID
    tenant: str
    workspace: str
    channel: Channel
    provider: str
    content_id: str
    message: MessageContent
    templates: Frozen  # which its posts render; they are in the message already
    scheduled_for: datetime | None
    rate_per_minute: int | None
    status: RunStatus
    paused: bool
    cancelled: bool
    planned: int | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    source: Source
    campaign_id: UUID
    retry_of: UUID | None
    audience: Json | None
    retry_where: Json | None
    data: Json
    send_hour: int | None
    time_zone: str
    max_lateness: timedelta | None
    is_test: bool = False

    @property
    def where(self) -> Workspace:
        """The workspace it is of."""
        return workspace_of(self.tenant, self.workspace)

    @property
    def tries_connection(self) -> bool:
        """Whether it is a test of the connection that it goes through."""
        return self.is_test and connection_id(self.provider) == self.campaign_id

    @property
    def begins_at(self) -> datetime:
        """When its first item may be called for."""
        return max(self.created_at, self.scheduled_for or self.created_at)


async def load_executions(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, LoadedExecution]:
    """Executions by id."""
    rows = await tx.fetch(_SQL["load_executions"], shard=shard, ids=ids)
    return {row["id"]: _execution(row) for row in rows}


async def load_execution_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID], nodes: Sequence[str]) -> list[LoadedItem]:
    """The items of the nodes that these executions stand at, and all other open ones."""
    rows = await tx.fetch(_SQL["load_execution_items"], shard=shard, ids=ids, nodes=nodes)
    return [loaded_item(row, None) for row in rows]


async def take_jobs(
    tx: Tx, *, shard: Shard, ids: Sequence[UUID], fences: Sequence[Fence], entries: Sequence[UUID], now: datetime
) -> list[LoadedJob]:
    """Lock the jobs whose lease still holds; `entries` are ids for their history entries."""
    rows = await tx.fetch(
        _SQL["take_jobs"],
        shard=shard,
        ids=ids,
        fences=fences,
        now=now,
    )
    # That it has begun, and not how often it was claimed since: a run with a rate claims its jobs for each item.
    if begun := [row["id"] for row in rows if row["is_first"] and row["run_id"]]:
        entry_of = dict(zip(ids, entries, strict=True))
        await insert_job_history(
            tx,
            shard=shard,
            ids=begun,
            entries=[entry_of[id] for id in begun],
            events=[JobStatus.LOCKED] * len(begun),
            details=[{"from": JobStatus.QUEUED}] * len(begun),
            actor=BY_ENGINE,
            now=now,
        )
    return [
        LoadedJob(row["id"], row["run_id"], row["tenant_id"], row["workspace_id"], row["event_id"], row["planned"] == 0)
        for row in rows
    ]


async def load_job_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID], run_ids: Sequence[UUID]) -> list[LoadedItem]:
    """The open items of these jobs."""
    rows = await tx.fetch(_SQL["load_job_items"], shard=shard, ids=ids, run_ids=run_ids)
    return [loaded_item(row, row["data"], row["about"]) for row in rows]


async def load_runs(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, LoadedRun]:
    """Runs by id."""
    rows = await tx.fetch(_SQL["load_runs"], shard=shard, ids=ids)
    return {row["id"]: _run(row) for row in rows}


async def name_workflows(tx: Tx, *, versions: Sequence[UUID]) -> Mapping[UUID, str]:
    """The names of workflows, by version."""
    rows = await tx.fetch(_SQL["name_workflows"], versions=versions)
    return {row["id"]: row["name"] for row in rows}


async def load_versions(tx: Tx, *, ids: Sequence[UUID]) -> Mapping[UUID, Json]:
    """Frozen definitions by version."""
    rows = await tx.fetch(_SQL["load_versions"], ids=ids)
    return {row["id"]: row["definition"] for row in rows}


def frontier_to_json(frontier: Frontier) -> Json:
    """A frontier as it is stored, without what is empty: of most that have ended, nothing.

    The planned time is kept beside once the items' own times have replaced it.
    """
    stored: dict[str, object] = {}
    if frontier.ready:
        stored["ready"] = [[one.node, one.due_at.isoformat()] for one in frontier.ready]
    if frontier.arrived:
        stored["arrived"] = sorted(frontier.arrived)
    if frontier.dead:
        stored["dead"] = sorted(frontier.dead)
    if planned := {one.node: one.planned_at.isoformat() for one in frontier.ready if one.planned_at}:
        stored["planned"] = planned
    if frontier.retries:
        stored["retries"] = frontier.retries
    return stored


def frontier_from_json(stored: Any) -> Frontier:
    """Read a stored frontier."""
    planned = stored.get("planned")
    return Frontier(
        tuple([_ready(node, at, planned) for node, at in stored.get("ready", ())]),
        frozenset(stored.get("arrived", ())),
        frozenset(stored.get("dead", ())),
        stored.get("retries", 0),
    )


def _ready(node: str, at: str, planned: Mapping[str, str] | None) -> Ready:
    if planned and node in planned:
        return Ready(node, datetime.fromisoformat(at), datetime.fromisoformat(planned[node]))
    return Ready(node, datetime.fromisoformat(at))


def _execution(row: Row) -> LoadedExecution:
    id, tenant, workspace, version_id, status, frontier, given, values, attempts, error, error_node = row[:11]
    created_at, reopened_at, ended_at, contact_id = row[11:]
    standing = frontier_from_json(frontier)
    execution = ExecutionState(
        id, _EXECUTION_STATUSES[status], standing, values, created_at, attempts, error, error_node, given
    )
    return LoadedExecution(
        execution, workspace_of(tenant, workspace), version_id, reopened_at or created_at, ended_at, contact_id
    )


def loaded_item(row: Row, data: Json | None, about: UUID | None = None) -> LoadedItem:
    """An item as a row of any of the loading statements has it; they begin with the same columns in the same order."""
    id, owner, node, ordinal, channel, provider, recipient, payload, status, in_doubt, key, attempts = row[:12]
    retry_at, marked_attempt, marked_at, first_marked_at, message_id, error, result = row[12:19]
    tenant, workspace, contact_id = row[19:22]
    state = ItemState(node, _ITEM_STATUSES[status], in_doubt, retry_at, attempts, message_id, error, result)
    if state.status is not ItemStatus.QUEUED:
        return LoadedItem(id, owner, state, None, data)
    reserved = Reserved(
        id,
        owner,
        node,
        ordinal,
        _CHANNELS[channel],
        provider,
        recipient,
        payload,
        key,
        attempts,
        marked_attempt,
        retry_at,
        marked_at,
        first_marked_at,
        in_doubt,
        workspace_of(tenant, workspace),
        contact_id,
    )
    return LoadedItem(id, owner, state, reserved, data, about)


def _run(row: Row) -> LoadedRun:
    return LoadedRun(
        id=row["id"],
        tenant=row["tenant_id"],
        workspace=row["workspace_id"],
        channel=Channel(row["channel"]),
        provider=row["provider"],
        content_id=row["content_id"],
        message=MessageContent(Channel(row["channel"]), linked(row["content"])),
        templates=frozen_in(row["content"]),
        scheduled_for=row["scheduled_for"],
        rate_per_minute=row["rate_per_minute"],
        status=RunStatus(row["status"]),
        paused=row["paused"],
        cancelled=row["cancelled"],
        planned=row["planned"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        source=Source(row["source"]),
        campaign_id=row["campaign_id"],
        retry_of=row["retry_of"],
        audience=row["audience"],
        retry_where=row["retry_where"],
        data=row["data"],
        send_hour=row["send_hour"],
        time_zone=row["time_zone"],
        max_lateness=row["max_lateness"],
        is_test=row["is_test"],
    )
