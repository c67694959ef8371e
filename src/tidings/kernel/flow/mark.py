"""Mark: commit that an item is about to be called for. No provider is called with anything that this has not returned.

Reached from commit.py, in the transaction that also writes the facts of the last calls, and from windows.py for items
that reserve.py has marked as it wrote them.
"""

from collections.abc import Sequence
from datetime import datetime

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Marked, Payload, Planned
from tidings.domain.flow.outgoing import Outgoing
from tidings.kernel.flow.marking import make_marked
from tidings.storage import outbox
from tidings.storage.database import Tx


async def mark(tx: Tx, shard: Shard, outgoing: Sequence[Outgoing], now: datetime) -> list[Marked]:
    """Mark what may be called; the returned items count only once the commit is known."""
    payloads = await outbox.mark_items(tx, shard=shard, outgoing=outgoing, now=now) if outgoing else {}
    return [_marked(one, payloads[one.item.id]) for one in outgoing if one.item.id in payloads]


def marked_on_arrival(item: Planned) -> Marked:
    """Return an item that reserve.py has committed together with its first mark."""
    return make_marked(
        item.id,
        item.owner,
        item.fence,
        1,  # the number of its mark
        1,  # attempts
        item.channel,
        item.provider,
        item.recipient,
        item.payload,
        item.key,
        item.workspace,
    )


def _marked(outgoing: Outgoing, payload: Payload) -> Marked:
    item = outgoing.item
    return make_marked(
        item.id,
        item.owner,
        outgoing.fence,
        outgoing.attempt,
        item.attempts + 1,
        item.channel,
        item.provider,
        item.recipient,
        payload,
        item.key,
        item.workspace,
    )
