"""Take an address from a contact that its provider says is no more: an app was uninstalled, a subscription ended.

Reached from kernel/flow/commit.py once the refusal is committed. The contact may be in another shard, so this uses a
transaction of its own; after a crash in between, the next refusal says so again.
"""

from collections.abc import Iterable
from datetime import datetime

from tidings.domain.caller import Caller
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Delivered, Reserved
from tidings.domain.flow.outcome import Rejected
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.log import log
from tidings.storage import people
from tidings.storage.database import Tx

SYSTEM = "system"


def find_gone(calls: Iterable[tuple[Delivered, Reserved]]) -> list[Reserved]:
    """Return the items of contacts whose push token was said to be gone."""
    return [
        item
        for call, item in calls
        if isinstance(call.outcome, Rejected)
        and call.outcome.is_gone
        and item.contact_id
        and item.channel is Channel.PUSH
    ]


async def forget_gone(kernel: Kernel, items: Iterable[Reserved], now: datetime) -> None:
    """Take these items' addresses from their contacts, on record."""
    for item in items:
        await _forget(kernel, item, now)


async def _forget(kernel: Kernel, item: Reserved, now: datetime) -> None:
    contact_id = item.contact_id
    if contact_id is None:
        return
    shard = kernel.shard_of(contact_id)

    async def write(tx: Tx) -> bool:
        if not await people.remove_push_token(tx, shard=shard, id=contact_id, token=item.recipient, now=now):
            return False
        entry = AuditEntry("contact", contact_id, "address_removed", {"channel": item.channel, "item": str(item.id)})
        await write_audit(kernel, tx, Caller(item.workspace, SYSTEM), [entry], now)
        return True

    if await kernel.db.persist(write):
        log.info("address_removed", item=str(item.id), contact=str(contact_id), channel=item.channel)
