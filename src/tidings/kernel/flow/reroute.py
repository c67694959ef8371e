"""Have items take another connection: before their mark when their own is closed, and after it has refused them.

Reached from windows.py and commit.py; kernel/gate/failover.py decides where to. Written only when it happens, under the
lease, and for items that cannot have arrived.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.outgoing import Outgoing
from tidings.kernel.flow.deliver import Answered
from tidings.kernel.gate.failover import earliest_opening, find_moves, first_again, next_after
from tidings.kernel.gate.rests import refresh_limits
from tidings.kernel.kernel import Kernel
from tidings.log import log
from tidings.storage import outbox
from tidings.storage.finalize import Fact
from tidings.storage.outbox import Move


async def reroute(
    kernel: Kernel, shard: Shard, waiting: Collection[Outgoing], is_trying: Callable[[str], bool], now: datetime
) -> Mapping[UUID, str]:
    """Move what waits for a closed connection to one that is open; return the new provider of each item that moved.

    One that this batch tries counts as open: if everything took another, nobody would learn that it is back.
    """
    if kernel.connections.is_empty or not waiting:
        return {}
    outgoing = {one.item.id: one for one in waiting if not one.is_pinned}
    items = [one.item for one in outgoing.values()]
    await refresh_limits(kernel, now, {item.provider for item in items})
    found = find_moves(kernel, items, is_trying, now)
    if not found:
        return {}
    moves = [
        Move(id, one.item.owner, one.fence, one.item.marked_attempt, one.item.provider, found[id])
        for id, one in outgoing.items()
        if id in found
    ]
    moved = await kernel.db.persist(partial(outbox.move_items, shard=shard, moves=moves), alone=True)
    tell_moved([move for move in moves if move.id in moved])
    return {move.id: move.provider for move in moves if move.id in moved}


def moved_on(kernel: Kernel, answered: Sequence[Answered], facts: list[Fact]) -> tuple[list[Fact], Mapping[UUID, Move]]:
    """Return the facts of calls, and the moves of items that were not accepted and take another connection.

    What goes on to the next one is due at once. When the last has refused, the next round begins with the first, after
    the wait that its policy says.
    """
    if kernel.connections.is_empty:
        return facts, {}
    moves: dict[UUID, Move] = {}
    for place, (one, fact) in enumerate(zip(answered, facts, strict=True)):
        call, item = one.delivered, one.outgoing.item
        if fact.status is not ItemStatus.QUEUED or fact.unknown or item.in_doubt or one.outgoing.is_pinned:
            continue
        onward = next_after(kernel, call, call.ended_at)
        if to := onward or first_again(kernel, call):
            moves[fact.id] = Move(item.id, item.owner, call.item.fence, call.item.attempt, item.provider, to)
        if onward:
            facts[place] = replace(fact, retry_at=call.ended_at)
        elif to and fact.retry_at and not fact.uses_attempt:
            # The last one's wish to be left alone is no reason to wait for longer than the others do.
            facts[place] = replace(fact, retry_at=earliest_opening(kernel, to, fact.retry_at, call.ended_at))
    return facts, moves


def tell_moved(moves: Iterable[Move]) -> None:
    """Log moves that are committed."""
    for move in moves:
        log.info("item_moved", item=str(move.id), provider=move.before, to=move.provider)
