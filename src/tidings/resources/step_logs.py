"""Logs of a sequence's steps, from the outbox: a line for each failed attempt, and one for what the item has come to.

Read for one enrollment, one contact or one step. A page counts messages, not attempts.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from heapq import merge
from uuid import UUID

from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import SUCCESSES, ItemStatus
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first, page_of
from tidings.domain.people.contact import ContactReference
from tidings.domain.sequences.form import steps_in
from tidings.kernel.flow.plan import graph_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.references import find_contact
from tidings.resources.names import name_contacts, name_executions
from tidings.resources.sequences import Sequences
from tidings.resources.shown_enrollments import LogStatus, StepLog
from tidings.storage import enrollments, load
from tidings.storage.enrollments import StepItem
from tidings.views.executions import Attempt
from tidings.views.pages import Page

SNAPSHOT = ("body", "script", "html", "text")
"""Where a channel's payload has the text."""
TITLES = ("subject", "title")
CERTAIN = frozenset(["rejected", "retry_later"])
"""The outcomes of an attempt that is known to have come to nothing."""
Attempts = Mapping[UUID, Sequence[Attempt]]
Lines = list[StepLog]


class StepLogs:
    """The step logs of every workspace; what is another's is not found."""

    def __init__(self, kernel: Kernel, sequences: Sequences) -> None:
        self._kernel = kernel
        self._sequences = sequences

    async def of_enrollment(self, workspace: Workspace, id: UUID) -> Lines:
        """What each step of an enrollment did, in the order of time."""
        shard = self._kernel.shard_of(id)
        show = partial(
            enrollments.show_enrollments, shard=shard, tenant=workspace.tenant, workspace=workspace.name, ids=[id]
        )
        found = await self._kernel.db.persist(show, alone=True)
        if not found:
            raise NotFound(f"there is no enrollment {id}")
        list_items = partial(enrollments.list_step_items, shard=shard, execution_id=id)
        items = await self._kernel.db.persist(list_items, alone=True)
        await know_graphs(self._kernel, [found[0].version_id])
        # What is skipped takes no time, so the order of the steps decides; one that the version lacks was before.
        order = {node: place for place, node in enumerate(self._kernel.graphs[found[0].version_id].nodes)}
        ordered = sorted(items, key=lambda item: (item.created_at, order.get(item.step_id, -1)))
        return await self._lines(workspace, ordered)

    async def of_contact(
        self,
        workspace: Workspace,
        contact_id: ContactReference,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[StepLog]:
        """What the steps of every sequence did for a contact, newest first; for one that was deleted, too."""
        check_limit(limit)
        id = await find_contact(self._kernel, workspace, contact_id)
        find = partial(
            enrollments.list_step_items_of_contact,
            shard=self._kernel.shard_of(id),
            tenant=workspace.tenant,
            workspace=workspace.name,
            contact_id=id,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        return await self._page(workspace, await self._kernel.db.persist(find, alone=True), limit)

    async def of_step(
        self,
        workspace: Workspace,
        sequence_id: UUID,
        step_id: str,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[StepLog]:
        """What a step did for everyone, newest first: one query in each shard, merged by id."""
        check_limit(limit)
        if step_id not in await self._steps(workspace, sequence_id):
            raise NotFound(f"there is no step {step_id} in this sequence")
        find = partial(
            enrollments.list_step_items_of_step,
            tenant=workspace.tenant,
            workspace=workspace.name,
            step_id=step_id,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        shards = await asyncio.gather(
            *(self._kernel.db.persist(partial(find, shard=shard), alone=True) for shard in self._kernel.every_shard())
        )
        return await self._page(workspace, [*merge(*shards, key=lambda item: item.id, reverse=True)], limit)

    async def _steps(self, workspace: Workspace, sequence_id: UUID) -> set[str]:
        """Of the draft, and of every version that was published."""
        draft = await self._sequences.get(workspace, sequence_id, in_flight=False)
        versions = await self._sequences.versions(workspace, sequence_id)
        published = {step.id for version in versions for step in steps_in(version.definition)}
        return published | {step.id for step in draft.steps}

    async def _page(self, workspace: Workspace, found: Sequence[StepItem], limit: int) -> Page[StepLog]:
        page = page_of(found[: limit + 1], limit, lambda item: item.id)
        return Page(await self._lines(workspace, page.items), page.next_cursor)

    async def _lines(self, workspace: Workspace, items: Sequence[StepItem]) -> Lines:
        """The lines of these items, in their order, with the names of whom and of which sequence they are."""
        contacts = await name_contacts(self._kernel, workspace, [item.contact_id for item in items])
        sequences = await name_executions(self._kernel, workspace, [item.enrollment_id for item in items])
        shares: dict[Shard, list[UUID]] = {}
        for item in items:
            shares.setdefault(self._kernel.shard_of(item.id), []).append(item.id)
        failed: dict[UUID, Sequence[Attempt]] = {}
        for shard, ids in shares.items():
            read = partial(enrollments.list_failed_attempts, shard=shard, ids=ids)
            failed |= await self._kernel.db.persist(read, alone=True)
        return [
            replace(line, contact=contacts.get(line.contact_id), sequence_name=sequences.get(line.enrollment_id))
            for line in step_logs(items, failed)
        ]


async def know_graphs(kernel: Kernel, versions: Iterable[UUID]) -> None:
    """Have the graphs of these versions in the kernel's own store of them."""
    missing = set(versions) - kernel.graphs.keys()
    if missing:
        read = partial(load.load_versions, ids=list(missing))
        for id, definition in (await kernel.db.persist(read, alone=True)).items():
            graph_of(kernel, id, definition)


def step_logs(items: Sequence[StepItem], attempts: Attempts) -> list[StepLog]:
    """The lines of these items, in their order."""
    return [line for item in items for line in _lines(item, attempts.get(item.id, ()))]


def _lines(item: StepItem, failed: Sequence[Attempt]) -> list[StepLog]:
    """The last attempt of an item that failed is what it has come to, and is told once; doubt is told by the item."""
    certain = [one for one in failed if one.outcome in CERTAIN]
    told = certain[:-1] if item.status is ItemStatus.FAILED else certain
    earlier = [
        _line(item, LogStatus.FAILED, one.error, number, created_at=one.started_at)
        for number, one in enumerate(told, start=1)
    ]
    # The call for the next attempt may not have been made yet: then this line begins with the end of the last.
    since = told[-1].ended_at if told else item.created_at
    last = _line(
        item,
        status_of(item),
        item.error if item.status is not ItemStatus.QUEUED or item.in_doubt else None,
        max(item.attempts, len(certain)),
        created_at=since,
        sent_at=item.finalized_at if item.status in SUCCESSES else None,
    )
    return [*earlier, last]


def status_of(item: StepItem) -> LogStatus:
    """What an item has come to, as the log of a step says it."""
    if item.status in SUCCESSES:
        return LogStatus.COMPLETED
    if item.status is ItemStatus.QUEUED:
        return LogStatus.PENDING
    return LogStatus.FAILED if item.status is ItemStatus.FAILED else LogStatus.SKIPPED


def _line(
    item: StepItem,
    status: LogStatus,
    error: str | None,
    attempts: int,
    *,
    created_at: datetime,
    sent_at: datetime | None = None,
) -> StepLog:
    return StepLog(
        id=item.id,
        enrollment_id=item.enrollment_id,
        contact_id=item.contact_id,
        step_id=item.step_id,
        channel=item.channel,
        recipient=item.recipient,
        subject=_text(item, TITLES),
        content_snapshot=_text(item, SNAPSHOT),
        status=status,
        sent_at=sent_at,
        error=error,
        attempts=attempts,
        in_doubt=item.in_doubt and status is LogStatus.PENDING,
        created_at=created_at,
    )


def _text(item: StepItem, names: Sequence[str]) -> str | None:
    payload = item.payload or {}
    return next((str(payload[name]) for name in names if payload.get(name) is not None), None)
