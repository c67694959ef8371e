"""Logs of a sequence's steps, from the outbox: a line for each failed attempt, and one for the item's present state.

Read for one enrollment, one contact or one step. A page counts messages, not attempts.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import SUCCESSES, ItemStatus
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, newest_first
from tidings.domain.people.contact import ContactReference
from tidings.kernel.graphs import graph_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.references import find_contact
from tidings.resources.by_shard import read_in_their_shards
from tidings.resources.names import name_contacts, name_executions
from tidings.resources.pages import newest, newest_in_all_shards
from tidings.resources.sequences import Sequences
from tidings.storage import enrollments, load
from tidings.storage.acting import for_caller
from tidings.storage.enrollments import StepItem
from tidings.views.enrollments import LogStatus, StepLog
from tidings.views.executions import Attempt
from tidings.views.pages import Page

SNAPSHOT = ("body", "script", "html", "text")
"""The fields of a payload that hold the body, one or another for each channel."""
TITLES = ("subject", "title")
CERTAIN = frozenset(["rejected", "retry_later"])
"""The outcomes of an attempt that is known to have had no effect."""
Attempts = Mapping[UUID, Sequence[Attempt]]
Lines = list[StepLog]


@for_caller
class StepLogs:
    """The step logs of every workspace; a log of another workspace is not found."""

    def __init__(self, kernel: Kernel, sequences: Sequences) -> None:
        self._kernel = kernel
        self._sequences = sequences

    async def of_enrollment(self, workspace: Workspace, id: UUID) -> Lines:
        """Return what each step of an enrollment did, in the order of time."""
        shard = self._kernel.shard_of(id)
        show = partial(enrollments.show_enrollments, shard=shard, workspace=workspace, ids=[id])
        found = await self._kernel.db.persist(show, alone=True)
        if not found:
            raise NotFound(f"there is no enrollment {id}")
        list_items = partial(enrollments.list_step_items, shard=shard, execution_id=id)
        items = await self._kernel.db.persist(list_items, alone=True)
        await know_graphs(self._kernel, [found[0].version_id])
        # Skipping takes no time, so the order of the steps decides; a step that the version lacks came before.
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
        """Return what the steps of every sequence did for a contact, newest first; also for a deleted contact."""
        id = await find_contact(self._kernel, workspace, contact_id)
        find = partial(
            enrollments.list_step_items_of_contact,
            shard=self._kernel.shard_of(id),
            workspace=workspace,
            contact_id=id,
        )
        page = await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)
        return Page(await self._lines(workspace, page.items), page.next_cursor)

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
        """Return what a step did for everyone, newest first."""
        if step_id not in await self._steps(workspace, sequence_id):
            raise NotFound(f"there is no step {step_id} in this sequence")
        find = partial(enrollments.list_step_items_of_step, step_id=step_id)
        span = newest_first(cursor, created)
        page = await newest_in_all_shards(self._kernel, workspace, find, span=span, limit=limit)
        return Page(await self._lines(workspace, page.items), page.next_cursor)

    async def _steps(self, workspace: Workspace, sequence_id: UUID) -> set[str]:
        """Return the steps of the draft and of every published version."""
        draft = await self._sequences.read(workspace, sequence_id)
        versions = await self._sequences.versions(workspace, sequence_id)
        return {step.id for step in draft.steps} | {str(step.id) for one in versions for step in one.steps}

    async def _lines(self, workspace: Workspace, items: Sequence[StepItem]) -> Lines:
        """Return the lines of these items, in their order, with the names of their contacts and sequences."""
        contacts = await name_contacts(self._kernel, workspace, [item.contact_id for item in items])
        sequences = await name_executions(self._kernel, workspace, [item.enrollment_id for item in items])
        ids = [item.id for item in items]
        failed = await read_in_their_shards(self._kernel, ids, enrollments.list_failed_attempts)
        return [
            replace(line, contact=contacts.get(line.contact_id), sequence_name=sequences.get(line.enrollment_id))
            for line in step_logs(items, failed)
        ]


async def know_graphs(kernel: Kernel, versions: Iterable[UUID]) -> None:
    """Load the graphs of these versions into the kernel's own store of graphs."""
    missing = set(versions) - kernel.graphs.keys()
    if missing:
        read = partial(load.load_versions, ids=list(missing))
        for id, definition in (await kernel.db.persist(read, alone=True)).items():
            graph_of(kernel, id, definition)


def step_logs(items: Sequence[StepItem], attempts: Attempts) -> list[StepLog]:
    """Return the lines of these items, in their order."""
    return [line for item in items for line in _lines(item, attempts.get(item.id, ()))]


def _lines(item: StepItem, failed: Sequence[Attempt]) -> list[StepLog]:
    """Return an item's lines: a failed item's last attempt is its final state, shown once; the item shows doubt."""
    certain = [one for one in failed if one.outcome in CERTAIN]
    told = certain[:-1] if item.status is ItemStatus.FAILED else certain
    earlier = [
        _line(item, LogStatus.FAILED, one.error, number, created_at=one.started_at)
        for number, one in enumerate(told, start=1)
    ]
    # The next attempt may not have been called yet: then this line begins with the end of the last.
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
    """Return the state of an item, as the log of a step calls it."""
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
