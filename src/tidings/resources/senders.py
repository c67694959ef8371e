"""Senders: whom a workspace's messages are from. Every change is in the audit log, and counts within a second."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.content.sender import WrittenSender, read_sender
from tidings.domain.errors import Conflict, NotFound
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, newest_first
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.phone_region import numbers_of
from tidings.resources.pages import newest
from tidings.storage import resolve, senders
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.views.pages import Page
from tidings.views.senders import NamedSender

__all__ = ["Senders"]

MOST_NAMED = 5
Json = Mapping[str, object]


@for_caller
class Senders:
    """The senders of every workspace; a sender of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(self, caller: Caller, given: Json) -> NamedSender:
        """Add a sender; raise Conflict if the name is taken."""
        with await numbers_of(self._kernel, caller.workspace):
            written = read_sender(given)
        name, now = written.identity.name, await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(name), now)
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=self._kernel.shard_of(id), ids=[entry]):
                return  # done already, by a commit whose answer was lost
            if not await senders.insert_sender(
                tx, id=id, workspace=caller.workspace, name=name, **_columns(written), now=now
            ):
                raise Conflict(f"there is a sender {name!r} already; change that one, or choose another name")
            await self._write_defaults(tx, caller.workspace, id, written)
            await self._audit(tx, caller, id, "created", {"name": name}, entry, now)

        await self._kernel.db.persist(write)
        self._kernel.senders.forget()
        return await self.get(caller.workspace, id)

    async def update(self, caller: Caller, id: UUID, given: Json) -> NamedSender:
        """Change the given fields of a sender; messages that are written from now on are from it as it is then."""
        before = await self.get(caller.workspace, id)
        with await numbers_of(self._kernel, caller.workspace):
            written = read_sender(given, before)
        now = await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if not await senders.change_sender(tx, id=id, workspace=caller.workspace, **_columns(written), now=now):
                raise NotFound(f"there is no sender {id}")
            await self._write_defaults(tx, caller.workspace, id, written)
            await self._audit(tx, caller, id, "updated", {"name": before.name, "fields": sorted(given)}, entry, now)

        await self._kernel.db.persist(write)
        self._kernel.senders.forget()
        return await self.get(caller.workspace, id)

    async def get(self, workspace: Workspace, id: UUID) -> NamedSender:
        """Return one sender by id, or raise NotFound."""
        return await self._show(workspace, id, None, str(id))

    async def find(self, workspace: Workspace, name: str) -> NamedSender:
        """Return one sender by name, or raise NotFound."""
        return await self._show(workspace, None, name, repr(name))

    async def list(
        self,
        workspace: Workspace,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[NamedSender]:
        """Return senders, newest first."""
        find = partial(senders.list_senders, workspace=workspace)
        return await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Remove a sender; raise Conflict while anything that is published names it."""
        shown, workspace = await self.get(caller.workspace, id), caller.workspace
        now = await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=self._kernel.shard_of(id), ids=[entry]):
                return
            if users := await senders.find_sender_users(tx, workspace=workspace, name=shown.name, limit=MOST_NAMED):
                named = ", ".join(dict.fromkeys(users))  # a sequence by its draft, and by what is published
                raise Conflict(f"sender {shown.name!r} is named by {named}; change them first")
            if not await senders.delete_sender(tx, workspace=workspace, id=id):
                raise NotFound(f"there is no sender {id}")
            await self._audit(tx, caller, id, "deleted", {"name": shown.name}, entry, now)

        await self._kernel.db.persist(write)
        self._kernel.senders.forget()

    async def _write_defaults(self, tx: Tx, workspace: Workspace, id: UUID, written: WrittenSender) -> None:
        channels = list(written.default_for)
        await senders.clear_default_senders(tx, workspace=workspace, id=id, channels=channels)
        await senders.put_default_senders(tx, workspace=workspace, id=id, channels=channels)

    async def _audit(
        self, tx: Tx, caller: Caller, id: UUID, event: str, detail: Json, entry: UUID, now: datetime
    ) -> None:
        await write_audit(self._kernel, tx, caller, [AuditEntry("sender", id, event, detail, entry)], now)

    async def _show(self, workspace: Workspace, id: UUID | None, name: str | None, told: str) -> NamedSender:
        find = partial(senders.show_sender, workspace=workspace, id=id, name=name)
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"there is no sender {told}")
        return found


def _columns(written: WrittenSender) -> dict[str, Any]:
    one = written.identity
    return {"display_name": one.display_name, "addresses": one.addresses, "reply_to": one.reply_to}
