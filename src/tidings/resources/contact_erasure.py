"""Delete a contact: nothing about the person stays, nothing more is sent to them, and what was sent still counts.

First, what the contact refused is stored as hashes; second, the contact is erased; third, the work for it is stopped
and erased. From the second step on no call starts for it, whatever becomes of the third; the next deletion finishes one
that broke off. Used by contacts.py.
"""

from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.people.erase import erase_everywhere
from tidings.resources import suppressions
from tidings.storage import contacts, resolve
from tidings.storage.contacts import Erased
from tidings.storage.database import Tx
from tidings.views.contacts import Contact


async def delete_contact(kernel: Kernel, caller: Caller, id: UUID) -> None:
    """Erase a contact of the caller's workspace and what was done for it, or raise NotFound."""
    now = await kernel.clock.now()
    for contact in await _find(kernel, caller.workspace, id):
        await suppressions.keep(kernel, caller.workspace, contact, now)
    erased = await _erase(kernel, caller, id, now)
    if erased is None:
        raise NotFound(f"there is no contact {id}")
    await suppressions.keep(kernel, caller.workspace, erased, now)  # what the contact has refused since it was read
    await erase_everywhere(kernel, id)
    if erased.was_deleted:
        raise NotFound(f"there is no contact {id}")


async def _find(kernel: Kernel, workspace: Workspace, id: UUID) -> list[Contact]:
    find = partial(
        contacts.show_contacts,
        shard=kernel.shard_of(id),
        workspace=workspace,
        ids=[id],
    )
    return await kernel.db.persist(find, alone=True)


async def _erase(kernel: Kernel, caller: Caller, id: UUID, now: datetime) -> Erased | None:
    shard, entry = kernel.shard_of(id), kernel.new_id(bucket_of_id(id), now)

    async def write(tx: Tx) -> Erased | None:
        if await resolve.find_audit(tx, shard=shard, ids=[entry]):
            return _nothing_left(id, now)  # an earlier attempt did it, and its answer was lost
        erased = await contacts.erase_contact(tx, shard=shard, workspace=caller.workspace, id=id, now=now)
        if erased is None or erased.was_deleted:
            return erased
        await contacts.remove_contact_tags(
            tx, shard=shard, workspace=caller.workspace, tags=erased.tags, contact_ids=[id] * len(erased.tags)
        )
        await write_audit(kernel, tx, caller, [AuditEntry("contact", id, "deleted", {}, entry)], now)
        return erased

    return await kernel.db.persist(write)


def _nothing_left(id: UUID, now: datetime) -> Erased:
    return Erased(id=id, external_id="", created_at=now, updated_at=now, was_deleted=False)
