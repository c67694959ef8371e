"""One commit per window: the facts of finished calls, and the marks of the next ones.

Reached from deliver.py, which starts nothing that this has not returned. The commit is known before it returns: after
an unknown one the same transaction runs again and finds its own marks.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Marked, Payload, Planned
from tidings.kernel import crash_points
from tidings.kernel.calls.slots import Rest
from tidings.kernel.flow.attempts import failed_attempts
from tidings.kernel.flow.finalize import Landed, fact_of, record_facts
from tidings.kernel.flow.marking import make_marked
from tidings.kernel.gate.rests import announce
from tidings.kernel.kernel import Kernel
from tidings.storage import outbox
from tidings.storage.database import Tx
from tidings.storage.finalize import Fact
from tidings.storage.outbox import Unstarted, Wanted


class Window(msgspec.Struct, frozen=True):
    """What one commit is to write."""

    wanted: Sequence[Wanted] = ()
    landed: Sequence[Landed] = ()
    unstarted: Sequence[Unstarted] = ()
    rests: Mapping[str, Rest] = msgspec.field(default_factory=dict)  # by provider


class Committed(msgspec.Struct, frozen=True):
    """What a commit achieved: the items that may be called now, and the facts."""

    marked: Sequence[Marked]
    facts: Sequence[Fact]


async def commit_window(kernel: Kernel, shard: Shard, window: Window, now: datetime) -> Committed:
    """Write one window, however often it takes until the commit is known."""
    facts = [fact_of(kernel, one) for one in window.landed]
    attempts = failed_attempts(window.landed)
    point = "before_mark_commit" if window.wanted else "before_finalize_commit"

    async def write(tx: Tx) -> Committed:
        if facts:
            await record_facts(tx, shard, facts, attempts, now)
        if window.unstarted:
            await outbox.unmark_items(tx, shard=shard, items=window.unstarted, now=now)
        payloads = await outbox.mark_items(tx, shard=shard, wanted=window.wanted, now=now) if window.wanted else {}
        crash_points.reach(point)
        marked = [_marked(one, payloads[one.item.id]) for one in window.wanted if one.item.id in payloads]
        return Committed(marked, facts)

    results = [fact for fact in facts if fact.result is not None]
    statements = sum(map(bool, (facts, results, attempts, window.unstarted, window.wanted)))
    committed = await kernel.db.persist(write, alone=statements == 1 and not crash_points.is_armed(point))
    for provider, rest in window.rests.items():
        await announce(kernel, provider, rest)
    if facts:
        crash_points.reach("after_finalize")
    if committed.marked:
        crash_points.reach("after_mark")
    return committed


def marked_on_arrival(item: Planned) -> Marked:
    """An item that reserve.py has committed together with its first mark."""
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


def _marked(wanted: Wanted, payload: Payload) -> Marked:
    item = wanted.item
    return make_marked(
        item.id,
        item.owner,
        wanted.fence,
        wanted.attempt,
        item.attempts + 1,
        item.channel,
        item.provider,
        item.recipient,
        payload,
        item.key,
        item.workspace,
    )
