"""Executions: start, watch and control them. Every change is in the audit log.

kernel/start/trigger.py starts them, kernel/manage/resolve.py stops them, kernel/manage/replay.py reopens them; this
module checks whose an execution is and shows it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from msgspec.structs import asdict

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, NotFound
from tidings.domain.flow.graph import Graph
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, EVERYTHING, Created, Span, newest_first
from tidings.domain.people.contact import ContactReference
from tidings.domain.sequences.form import is_wait_of_step
from tidings.kernel.graphs import graph_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage import resolve
from tidings.kernel.manage.replay import replay_executions
from tidings.kernel.people.references import find_contact
from tidings.kernel.start.check import Trigger, find_workflow
from tidings.kernel.start.trigger import Started
from tidings.kernel.start.trigger_batch import BatchKey, TriggerBatches
from tidings.resources import bulk
from tidings.resources.bulk import BulkTrigger
from tidings.resources.execution_log import log_lines
from tidings.resources.execution_path import path_of
from tidings.resources.names import name_contacts
from tidings.resources.pages import ListInShard, newest_in_all_shards
from tidings.resources.waiting import why_executions_wait
from tidings.storage import executions, load
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.executions import FoundExecution, LoggedItem, LoggedNode
from tidings.views.contacts import ContactName
from tidings.views.executions import (
    Attempt,
    Execution,
    ExecutionPath,
    LogLine,
    Replay,
    ShownStatus,
    StartedExecution,
    StartedOne,
)
from tidings.views.pages import Page

REPLAY_BATCH = 100
MOST_NAMED = 100
"""How many executions and errors of a replay are listed; all are counted."""

Json = Mapping[str, object]
Lines = list[LogLine]
Shown = list[Execution]
StartedMany = list[StartedOne]
FindInShard = ListInShard[FoundExecution]


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which failed executions; every condition that is given must hold."""

    workflow: UUID | str | None = None
    error: str | None = None
    """A part of the error, in upper or lower case."""
    node: str | None = None
    ids: Sequence[UUID] | None = None


@dataclass(frozen=True, slots=True)
class _Walked:
    """The graph of an execution, and everything that its nodes did."""

    graph: Graph
    nodes: Sequence[LoggedNode]
    items: Sequence[LoggedItem]
    attempts: Mapping[UUID, Sequence[Attempt]]


@for_caller
class Executions:
    """The executions of every workspace; an execution of another workspace is not found."""

    def __init__(self, kernel: Kernel, trigger_batches: TriggerBatches) -> None:
        self._kernel = kernel
        self._trigger_batches = trigger_batches

    async def trigger(
        self,
        caller: Caller,
        workflow: UUID | str,
        data: Json,
        idempotency_key: str | None = None,
        *,
        contact_id: ContactReference | None = None,
        triggered_by: str = "api",
        correlated: bool = False,
    ) -> StartedExecution:
        """Start a workflow, by id or name; the same key returns the same execution, no key always starts a new one.

        A key belongs to its workflow; a `correlated` key holds for every workflow that is started so.
        """
        trigger = Trigger(bulk.new_key() if idempotency_key is None else idempotency_key, data, contact_id)
        key = BatchKey(caller.workspace, workflow, Lane.TRANSACTIONAL, triggered_by, correlated)
        started = await self._trigger_batches.start(key, trigger)
        found = _just_started(started, trigger, triggered_by) or await self._find(caller.workspace, started.id)
        contacts = await name_contacts(self._kernel, caller.workspace, [found.contact_id])
        # Without looking for workers that could do it, for which a trigger has no time.
        shown = _shown(found, contacts.get(found.contact_id))
        return StartedExecution(**asdict(shown), duplicate=started.duplicate)

    async def trigger_many(
        self, caller: Caller, triggers: Sequence[BulkTrigger], *, triggered_by: str = "api"
    ) -> StartedMany:
        """Start many, one transaction per workflow and shard; if one has a problem, nothing is stored."""
        return await bulk.trigger_many(self._kernel, caller, triggers, triggered_by)

    async def get(self, workspace: Workspace, id: UUID) -> Execution:
        """Return one execution, or raise NotFound."""
        [shown] = await self._shown(workspace, [await self._find(workspace, id)])
        return shown

    async def get_with_context(self, workspace: Workspace, id: UUID) -> tuple[Execution, Json]:
        """Return one execution and its context: its data, and what each node has produced."""
        execution = await self._find(workspace, id)
        async with self._kernel.db.transaction(snapshot=True) as tx:
            graph = await self._graph(tx, execution.version_id)
        [shown] = await self._shown(workspace, [execution])
        return shown, graph.accumulated(execution.input, execution.vars)

    async def list(
        self,
        workspace: Workspace,
        *,
        workflow: UUID | str | None = None,
        status: ShownStatus | None = None,
        contact_id: ContactReference | None = None,
        error: str | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Execution]:
        """Return executions, newest first; with an error, a part of theirs, those that failed."""
        if error is not None:
            if status not in (None, ShownStatus.FAILED):
                return Page(items=[])
            status = ShownStatus.FAILED
        list_in_shard = await self._listed(workspace, workflow, status, contact_id, error)
        return await self._page(workspace, list_in_shard, limit, newest_first(cursor, created))

    async def _listed(
        self,
        workspace: Workspace,
        workflow: UUID | str | None,
        status: ShownStatus | None,
        contact_id: ContactReference | None,
        error: str | None,
    ) -> FindInShard:
        """Return the statement whose index fits what is asked for."""
        if contact_id is not None:
            return partial(
                executions.list_executions_of_contact,
                contact_id=await find_contact(self._kernel, workspace, contact_id),
                status=status,
                workflow_id=await self._workflow_id(workspace, workflow),
                error=error,
            )
        if status is ShownStatus.FAILED:
            return await self._failed(workspace, DeadLetterFilter(workflow, error))
        workflow_id = await self._workflow_id(workspace, workflow)
        if status is not None and not status.has_ended:
            return partial(executions.list_live_executions, status=status, workflow_id=workflow_id)
        return partial(executions.list_executions, status=status, workflow_id=workflow_id)

    async def log(self, workspace: Workspace, id: UUID) -> Lines:
        """Return what each node did, in the order of time."""
        execution = await self._find(workspace, id)
        async with self._kernel.db.transaction(snapshot=True) as tx:
            walked = await self._walked(tx, execution)
        return _log(execution, walked)

    async def path(self, workspace: Workspace, id: UUID) -> ExecutionPath:
        """Return the graph of an execution with the state of each node and the edges that it took."""
        execution, shard = await self._find(workspace, id), self._kernel.shard_of(id)
        [shown] = await self._shown(workspace, [execution])
        async with self._kernel.db.transaction(snapshot=True) as tx:
            loaded = (await load.load_executions(tx, shard=shard, ids=[id]))[id]
            walked = await self._walked(tx, execution)
        now = await self._kernel.clock.now()
        return path_of(shown, walked.graph, loaded.execution, walked.items, _log(execution, walked), now)

    async def _walked(self, tx: Tx, execution: FoundExecution) -> "_Walked":
        id, shard = execution.id, self._kernel.shard_of(execution.id)
        return _Walked(
            await self._graph(tx, execution.version_id),
            await executions.list_execution_log(tx, shard=shard, execution_id=id),
            await executions.list_execution_items(tx, shard=shard, execution_id=id),
            await executions.list_execution_attempts(tx, shard=shard, execution_id=id),
        )

    async def changes(self, workspace: Workspace, id: UUID, *, poll_seconds: float = 0.5) -> AsyncIterator[Execution]:
        """Yield the execution now, again whenever it has changed, and a last time when it has ended."""
        shown = await self.get(workspace, id)
        yield shown
        while not shown.status.has_ended:
            await asyncio.sleep(poll_seconds)
            last, shown = shown, await self.get(workspace, id)
            if shown != last:
                yield shown

    async def cancel(self, caller: Caller, id: UUID) -> Execution:
        """End an execution; whatever has not been called yet is skipped."""
        return await self._stop(caller, id, Stop.CANCEL)

    async def pause(self, caller: Caller, id: UUID) -> Execution:
        """Stop sending for an execution until it is resumed."""
        return await self._stop(caller, id, Stop.PAUSE)

    async def resume(self, caller: Caller, id: UUID) -> Execution:
        """Let a paused execution go on."""
        return await self._stop(caller, id, None)

    async def retry(self, caller: Caller, id: UUID) -> Execution:
        """Reopen a failed execution where it failed; what was sent, or may have been, is not sent again."""
        found = await self._find(caller.workspace, id)
        if found.status is not ShownStatus.FAILED:
            raise Conflict(f"execution {id} has not failed: it is {found.status}")
        replayed = await replay_executions(self._kernel, caller, self._kernel.shard_of(id), [id])
        if id in replayed.refused:
            raise Conflict(f"execution {id} cannot be retried: {replayed.refused[id]}")
        return await self.get(caller.workspace, id)

    async def dead_letters(
        self,
        workspace: Workspace,
        *,
        workflow: UUID | str | None = None,
        error: str | None = None,
        node: str | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Execution]:
        """Return failed executions, newest first."""
        list_in_shard = await self._failed(workspace, DeadLetterFilter(workflow, error, node))
        return await self._page(workspace, list_in_shard, limit, newest_first(cursor, created))

    async def replay(self, caller: Caller, where: DeadLetterFilter, *, dry_run: bool = False) -> Replay:
        """Reopen every failed execution that matches, a batch at a time, or only count them."""
        list_in_shard = await self._failed(caller.workspace, where)
        reopened: list[UUID] = []
        count, refused, errors = 0, 0, Counter[str]()
        for shard in self._kernel.every_shard():
            async for batch in self._batches(caller.workspace, shard, list_in_shard):
                ids = [one.id for one in batch]
                replayed = await replay_executions(self._kernel, caller, shard, ids, dry_run=dry_run)
                done = set(replayed.reopened)
                errors.update(one.error or "" for one in batch if one.id in done)
                reopened = sorted([*reopened, *done], reverse=True)[:MOST_NAMED]
                count, refused = count + len(done), refused + len(replayed.refused)
        by_error = dict(errors.most_common(MOST_NAMED))
        return Replay(count=count, executions=reopened, by_error=by_error, refused=refused, dry_run=dry_run)

    async def _find(self, workspace: Workspace, id: UUID) -> FoundExecution:
        shard = self._kernel.shard_of(id)
        find = partial(executions.show_executions, shard=shard, workspace=workspace, ids=[id])
        found = await self._kernel.db.persist(find, alone=True)
        if not found:
            raise NotFound(f"there is no execution {id}")
        return found[0]

    async def _page(self, workspace: Workspace, list_in_shard: FindInShard, limit: int, span: Span) -> Page[Execution]:
        page = await newest_in_all_shards(self._kernel, workspace, list_in_shard, span=span, limit=limit)
        return Page(await self._shown(workspace, page.items), page.next_cursor)

    async def _shown(self, workspace: Workspace, found: Sequence[FoundExecution]) -> Shown:
        """Return executions with their contacts' names, and with why they wait if no worker can go on with them."""
        contacts = await name_contacts(self._kernel, workspace, [one.contact_id for one in found])
        reasons = await why_executions_wait(self._kernel, workspace, found)
        return [_shown(one, contacts.get(one.contact_id), reasons.get(one.id)) for one in found]

    async def _batches(
        self, workspace: Workspace, shard: Shard, list_in_shard: FindInShard
    ) -> AsyncIterator[Sequence[FoundExecution]]:
        """Yield what one shard holds, newest first; an execution that fails again meanwhile does not come twice."""
        span = EVERYTHING
        while True:
            find = partial(list_in_shard, shard=shard, workspace=workspace, span=span, limit=REPLAY_BATCH)
            batch = await self._kernel.db.persist(find, alone=True)
            if not batch:
                return
            yield batch
            span = Span(before=batch[-1].id)

    async def _failed(self, workspace: Workspace, where: DeadLetterFilter) -> FindInShard:
        return partial(
            executions.list_failed_executions,
            workflow_id=await self._workflow_id(workspace, where.workflow),
            error=where.error,
            node=where.node,
            ids=where.ids,
        )

    async def _workflow_id(self, workspace: Workspace, workflow: UUID | str | None) -> UUID | None:
        """Return the id of a workflow to look for; raise NotFound for a name that does not exist."""
        if isinstance(workflow, str):
            return (await find_workflow(self._kernel, workspace, workflow)).id
        return workflow

    async def _graph(self, tx: Tx, version_id: UUID) -> Graph:
        if version_id not in self._kernel.graphs:
            definitions = await load.load_versions(tx, ids=[version_id])
            return graph_of(self._kernel, version_id, definitions[version_id])
        return self._kernel.graphs[version_id]

    async def _stop(self, caller: Caller, id: UUID, stop: Stop | None) -> Execution:
        await resolve.stop_execution(self._kernel, caller, id, stop)
        return await self.get(caller.workspace, id)


def _log(execution: FoundExecution, walked: _Walked) -> Lines:
    graph = walked.graph
    kinds = {name: node.type for name, node in {**graph.nodes, **graph.doers}.items()}
    return log_lines(execution, graph, kinds, walked.nodes, walked.items, walked.attempts)


def _just_started(started: Started, trigger: Trigger, triggered_by: str) -> FoundExecution | None:
    """Return an execution as this very call has written it; None if another has: then it is read."""
    if started.duplicate or started.beginning is None:
        return None
    workflow = started.beginning.workflow
    return FoundExecution(
        id=started.id,
        workflow_id=workflow.id,
        workflow_name=workflow.name,
        version_id=workflow.version.id,
        version=workflow.version.number,
        total_steps=workflow.total_steps,
        status=ShownStatus.ENQUEUED,
        cursor=started.beginning.cursor,
        input=trigger.data,
        vars={},
        attempts=0,
        error=None,
        error_node=None,
        triggered_by=triggered_by,
        idempotency_key=trigger.idempotency_key,
        contact_id=started.contact_id,
        created_at=started.beginning.created_at,
        started_at=None,
        ended_at=None,
        due_at=started.beginning.due_at,
        leased=False,
        stop=None,
    )


def _shown(found: FoundExecution, contact: ContactName | None, waiting: str | None = None) -> Execution:
    last = max(found.total_steps - 1, 0)
    passed = sum(not is_wait_of_step(node) for node in found.vars.keys() - {found.error_node})
    return Execution(
        id=found.id,
        status=found.status,
        workflow_id=found.workflow_id,
        workflow_name=found.workflow_name,
        workflow_version=found.version,
        cursor=found.cursor or found.error_node,
        current_step=last if found.status is ShownStatus.COMPLETED else min(passed, last),
        total_steps=found.total_steps,
        available_at=None if found.leased or found.ended_at else found.due_at,
        attempts=found.attempts,
        input_payload=found.input,
        vars=found.vars,
        error_message=found.error,
        error_step=found.error_node,
        retry_count=max(found.attempts - 1, 0),
        triggered_by=found.triggered_by,
        idempotency_key=found.idempotency_key,
        contact_id=found.contact_id,
        contact=contact,
        created_at=found.created_at,
        started_at=found.started_at,
        completed_at=found.ended_at,
        waiting=waiting,
    )
