"""Everything about one contact as one JSON document, written piece by piece: however much it is, little is in memory.

The document is a ContactExport (views/exports.py). The lists are read in pages, one after the other; what happens
meanwhile may be in one list and not yet in another. Used by contacts.py.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TypeVar
from uuid import UUID

import msgspec
from msgspec.structs import asdict

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Shard
from tidings.kernel.kernel import Kernel
from tidings.kernel.start.trigger_batch import TriggerBatches
from tidings.resources import suppressions
from tidings.resources.access import Access
from tidings.resources.enrollments import Enrollments
from tidings.resources.events import Events
from tidings.resources.executions import Executions
from tidings.resources.outbox import Outbox, OutboxFilter
from tidings.resources.sequences import Sequences
from tidings.storage import erase, observe
from tidings.views.contacts import Contact
from tidings.views.exports import ContactExport, ExportedExecution, Membership
from tidings.views.outbox import Item
from tidings.views.pages import Page
from tidings.views.view import View

PAGE = 50
Listed = TypeVar("Listed")
Records = AsyncIterator[View]
_ENCODER = msgspec.json.Encoder()


class ContactExporter:
    """Reads everything about contacts of one caller's workspace, from the resources that show it."""

    def __init__(self, kernel: Kernel, caller: Caller) -> None:
        self._kernel, self._caller, self._workspace = kernel, caller, caller.workspace
        self._executions = Executions(kernel, TriggerBatches(kernel))
        self._enrollments = Enrollments(kernel, Sequences(kernel))
        self._events, self._outbox, self._access = Events(kernel), Outbox(kernel), Access(kernel)

    async def pieces(self, contact: Contact) -> AsyncIterator[bytes]:
        """Yield the document; every piece but the last is followed by another."""
        yield b'{"contact":' + _ENCODER.encode(contact)
        for section, read in self._sections(contact).items():
            yield b"," + _ENCODER.encode(section) + b":["
            is_first = True
            async for record in read:
                yield (b"" if is_first else b",") + _ENCODER.encode(record)
                is_first = False
            yield b"]"
        yield b"}\n"

    def _sections(self, contact: Contact) -> dict[str, Records]:
        id = contact.id
        enrollments = _every(partial(self._enrollments.list_of_contact, self._workspace, id))
        audited = _every(partial(self._access.audit, self._caller, subject=id))
        sections: dict[str, Records] = {
            "kept_suppressions": self._kept(contact),
            "enrollments": enrollments,
            "executions": self._walks(id),
            "items": self._messages(id),
            "events": self._happenings(id),
            "audiences": self._memberships(id),
            "audit_log": audited,
        }
        spelled = {field.name: field.encode_name for field in msgspec.structs.fields(ContactExport)}
        return {spelled[name]: read for name, read in sections.items()}

    async def _kept(self, contact: Contact) -> Records:
        for one in await suppressions.kept_for(self._kernel, self._workspace, contact):
            yield one

    async def _walks(self, id: UUID) -> Records:
        async for one in _every(partial(self._executions.list, self._workspace, contact_id=id)):
            log = await self._executions.log(self._workspace, one.id)
            find = partial(observe.list_audit, shard=self._kernel.shard_of(one.id), subject_id=one.id)
            history = await self._kernel.db.persist(find, alone=True)
            yield ExportedExecution(**asdict(one), log=log, history=history)

    async def _messages(self, id: UUID) -> Records:
        async for one in self._items(id):
            yield await self._outbox.get(self._workspace, one.id)

    async def _happenings(self, id: UUID) -> Records:
        async for one in _every(partial(self._events.list, self._workspace, contact_id=id)):
            yield await self._events.get(self._workspace, one.id)

    async def _memberships(self, id: UUID) -> Records:
        seen: set[UUID] = set()
        async for one in self._items(id):
            if one.run_id and one.run_id not in seen:
                seen.add(one.run_id)
                yield Membership(run_id=one.run_id, campaign_name=one.campaign_name)
        for shard in self._kernel.every_shard():
            async for run_id in self._shown_in(shard, id):
                yield Membership(run_id=run_id, test=True)

    async def _shown_in(self, shard: Shard, id: UUID) -> AsyncIterator[UUID]:
        """Yield the runs of one shard that show a contact in a test."""
        find = partial(erase.list_shown_tests, shard=shard, contact_id=id, limit=PAGE)
        page = await self._kernel.db.persist(find, alone=True)
        while page:
            for shown in page:
                yield shown.run_id
            last = (page[-1].run_id, page[-1].ordinal)
            page = await self._kernel.db.persist(partial(find, after=last), alone=True)

    def _items(self, id: UUID) -> AsyncIterator[Item]:
        return _every(partial(self._outbox.list, self._workspace, OutboxFilter(contact_id=id)))


async def _every(ask: Callable[..., Awaitable[Page[Listed]]]) -> AsyncIterator[Listed]:
    """Yield what a list has, page by page."""
    cursor: str | None = None
    while True:
        page = await ask(limit=PAGE, cursor=cursor)
        for one in page.items:
            yield one
        cursor = page.next_cursor
        if cursor is None:
            return
