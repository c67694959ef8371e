"""The story of a contact: what happened to one person, newest first, over all products.

Four lists that exist are read side by side with one cursor and merged by id: messages, enrollments, executions, and
what the audit log has about the contact. Each line stands at the time when it began and says how it ended, because
every list is ordered by ids, which carry that time. Used by contacts.py.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import Created, newest_first, write_cursor
from tidings.domain.people.contact import ContactReference
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.references import find_contact
from tidings.kernel.start.trigger_batch import TriggerBatches
from tidings.resources.by_shard import read_in_their_shards
from tidings.resources.enrollments import Enrollments
from tidings.resources.executions import Executions
from tidings.resources.outbox import Outbox
from tidings.resources.pages import id_of, newest
from tidings.resources.sequences import Sequences
from tidings.storage import access, stories
from tidings.storage.stories import MessageWords
from tidings.views.enrollments import Enrollment
from tidings.views.executions import Execution
from tidings.views.keys import AuditLine
from tidings.views.outbox import Item
from tidings.views.pages import Page
from tidings.views.stories import Product, StoryKind, StoryLine

UNKNOWN_ANSWER = "the provider's answer is not known"


class ContactStory:
    """Tells the stories of contacts, from the resources that show their parts."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._executions = Executions(kernel, TriggerBatches(kernel))
        self._enrollments, self._outbox = Enrollments(kernel, Sequences(kernel)), Outbox(kernel)

    async def page(
        self, workspace: Workspace, contact: ContactReference, limit: int, created: Created, cursor: str | None
    ) -> Page[StoryLine]:
        """Return what began in this time, newest first; also of a deleted contact."""
        id = await find_contact(self._kernel, workspace, contact)
        messages, enrollments, executions, changes = await asyncio.gather(
            self._outbox.of_contact(workspace, id, limit=limit, created=created, cursor=cursor),
            self._enrollments.list_of_contact(workspace, id, limit=limit, created=created, cursor=cursor),
            self._executions.list(workspace, contact_id=id, limit=limit, created=created, cursor=cursor),
            self._changes(workspace, id, limit, created, cursor),
        )
        walks = {one.id for one in enrollments.items}
        lines = [
            *map(_message, messages.items),
            *map(_enrollment, enrollments.items),
            *(_execution(one) for one in executions.items if one.id not in walks),
            *map(_change, changes.items),
        ]
        is_all = not any(part.next_cursor for part in (messages, enrollments, executions, changes))
        page = _newest(lines, limit, is_all)
        return Page(await self._with_words(workspace, page.items), page.next_cursor)

    async def _changes(
        self, workspace: Workspace, id: UUID, limit: int, created: Created, cursor: str | None
    ) -> Page[AuditLine]:
        shard, span = self._kernel.shard_of(id), newest_first(cursor, created)
        find = partial(
            access.list_subject_audit,
            shard=shard,
            tenant=workspace.tenant,
            subject_id=id,
            subject_kind="contact",
            actor=None,
        )
        return await newest(self._kernel, find, span=span, limit=limit)

    async def _with_words(self, workspace: Workspace, lines: Sequence[StoryLine]) -> list[StoryLine]:
        """Add what messages say, and the workflow or sequence that sent them, with one statement in each shard."""
        read = partial(stories.read_words, workspace=workspace)
        ids = [one.id for one in lines if one.kind is StoryKind.MESSAGE]
        found = await read_in_their_shards(self._kernel, ids, read)
        return [_worded(one, found[one.id]) if one.id in found else one for one in lines]


def _newest(lines: Sequence[StoryLine], limit: int, is_all: bool) -> Page[StoryLine]:
    """Cut what the lists have to a page; a list with more to come has filled the page already."""
    found = sorted(lines, key=id_of, reverse=True)[:limit]
    return Page(found, None if is_all and len(lines) <= limit else write_cursor(found[-1].id))


def _worded(line: StoryLine, said: MessageWords) -> StoryLine:
    product = Product.SEQUENCE if said.is_step else line.product
    return replace(line, words=said.words, workflow_id=said.workflow_id, product=product)


def _message(one: Item) -> StoryLine:
    return StoryLine(
        id=one.id,
        kind=StoryKind.MESSAGE,
        at=one.created_at,
        ended_at=one.finalized_at,
        outcome=one.status,
        in_doubt=one.in_doubt,
        why=one.error or (UNKNOWN_ANSWER if one.in_doubt else None),
        product=Product.CAMPAIGN if one.run_id else Product.RULE if one.event_id else Product.WORKFLOW,
        name=one.campaign_name or one.workflow_name or one.trigger,
        channel=one.channel,
        recipient=one.recipient,
        node=one.node,
        run_id=one.run_id,
        event_id=one.event_id,
        execution_id=one.execution_id,
    )


def _enrollment(one: Enrollment) -> StoryLine:
    return StoryLine(
        id=one.id,
        kind=StoryKind.ENROLLMENT,
        at=one.enrolled_at,
        ended_at=one.completed_at,
        outcome=one.status,
        why=one.reason,
        product=Product.SEQUENCE,
        name=one.sequence_name,
        execution_id=one.id,
        workflow_id=one.sequence_id,
    )


def _execution(one: Execution) -> StoryLine:
    return StoryLine(
        id=one.id,
        kind=StoryKind.EXECUTION,
        at=one.created_at,
        ended_at=one.completed_at,
        outcome=one.status,
        why=one.error_message or one.waiting,
        product=Product.WORKFLOW,
        name=one.workflow_name,
        execution_id=one.id,
        workflow_id=one.workflow_id,
    )


def _change(one: AuditLine) -> StoryLine:
    return StoryLine(
        id=one.id,
        kind=StoryKind.CHANGE,
        at=one.at,
        ended_at=one.at,
        outcome=one.event,
        channel=one.detail.get("channel"),
        actor=one.actor,
        fields=one.detail.get("fields", ()),
    )
