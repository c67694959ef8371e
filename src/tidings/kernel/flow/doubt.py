"""Deal with what a crash left behind: marks without an answer. The provider's class decides (rules 4 and 9).

Reached from executions.py and jobs.py before windows.py, which also gets what may be called again.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import assert_never
from uuid import UUID

from tidings.domain.flow.doubt import AskProvider, CallAgain, GiveUp, Hold, Spent, Verdict, judge
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import SUCCESS_STATUS, Channel, Fence, ItemStatus, Reserved
from tidings.domain.flow.provider import Absent, CannotTell, Doubtful, Evidence, Found, Keyed
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.retry import tried_in_vain
from tidings.domain.storable import storable
from tidings.kernel.calls.look_up import look_up
from tidings.kernel.flow.held import Held
from tidings.kernel.gate.rests import others_may_call_at
from tidings.kernel.kernel import Kernel
from tidings.kernel.readiness import know_providers
from tidings.log import log
from tidings.storage import finalize
from tidings.storage.database import Tx, assert_no_transaction
from tidings.storage.finalize import Fact, FailedAttempt

ASK_AGAIN = timedelta(minutes=1)
ASK_FOR = timedelta(hours=1)
"""How long a provider that cannot answer is asked again before the item is left to a person."""


@dataclass(frozen=True, slots=True, eq=False)
class _InDoubt:
    held: Held
    id: UUID

    @property
    def item(self) -> Reserved:
        return self.held.open[self.id]

    @property
    def is_overdue_call(self) -> bool:
        """Whether an item is a function's, and its owner has no time left for another call."""
        return self.item.channel is Channel.FUNCTION and self.held.overdue is not None

    @property
    def cause(self) -> str:
        """The error of an item that fails although it is unknown whether its call arrived."""
        error = self.held.states[self.id].error or "no answer"
        return self.held.overdue or f"{tried_in_vain(self.item.attempts)}{error}"

    @property
    def fence(self) -> Fence:
        return self.held.lease.fence


async def face_doubt(kernel: Kernel, shard: Shard, lane: Lane, owners: Iterable[Held], now: datetime) -> set[UUID]:
    """Put orphaned marks in doubt, then do for each item in doubt what its provider's class allows.

    Returns the items whose call may be repeated although its fate is unknown. Items that evidence has cleared are fresh
    again and are not returned.
    """
    doubtful = [
        _InDoubt(one, item.id) for one in owners for item in one.open.values() if item.marked_at or item.in_doubt
    ]
    if not doubtful:
        return set()
    orphaned = [one for one in doubtful if one.item.marked_at]
    changed = await _admit(kernel, shard, orphaned, now)
    await know_providers(kernel, {one.item.provider for one in doubtful}, now)
    doubtful = [one for one in doubtful if one not in changed]
    again: set[UUID] = set()
    to_ask: dict[_InDoubt, AskProvider] = {}
    to_hold: list[_InDoubt] = []
    facts: dict[_InDoubt, Fact] = {}
    for one in _ours(kernel, lane, doubtful, orphaned, now):
        # The worker that made the call may still get its answer: that would be a fact, and ends the doubt.
        verdict = Hold() if one.is_overdue_call and one in orphaned else _judge(kernel, one, now)
        match verdict:
            case CallAgain():
                again.add(one.item.id)
                one.held.doubt(one.item.id, now)  # due, not held: its owner must not walk on past it
            case AskProvider():
                to_ask[one] = verdict
            case Hold():
                to_hold.append(one)
            case GiveUp():
                facts[one] = _fact(one, ItemStatus.FAILED, error="given up: nobody knows whether it arrived")
            case Spent():
                facts[one] = _fact(one, ItemStatus.FAILED, error=one.cause)
            case _:
                assert_never(verdict)
    await _record(kernel, shard, facts, now)
    await _ask(kernel, shard, to_ask, now)
    await _schedule(kernel, shard, {one: None for one in to_hold if one.item.retry_at})
    return again


def _ours(
    kernel: Kernel, lane: Lane, doubtful: Sequence[_InDoubt], orphaned: Sequence[_InDoubt], now: datetime
) -> list[_InDoubt]:
    """The items to judge now and in this worker. The rest waits for a worker that has the provider.

    The owner of such an item must not walk on past it before that worker has looked.
    """
    due = [one for one in doubtful if one.is_overdue_call or not (one.item.retry_at and one.item.retry_at > now)]
    for one in due:
        if one.item.provider not in kernel.providers and (one.item.retry_at or one in orphaned):
            one.held.doubt(one.id, now)
            one.held.postponed[one.id] = others_may_call_at(kernel, one.item.provider, lane, now)
    return [one for one in due if one.item.provider in kernel.providers]


async def _admit(kernel: Kernel, shard: Shard, orphaned: Sequence[_InDoubt], now: datetime) -> set[_InDoubt]:
    """Put in doubt the marks whose lease is gone: the call may have happened. Returns those to leave alone for now.

    Where the mark has changed, the worker that made it has taken it back or has its answer: it is not in doubt, and its
    owner must not walk past. Others wait until their provider knows the key that it was called with.
    """
    if not orphaned:
        return set()
    attempts = [
        FailedAttempt(one.item.id, one.item.marked_attempt, "crashed", "the worker was gone before the answer", at, at)
        for one in orphaned
        if (at := one.item.marked_at)
    ]

    items = [one.item for one in orphaned]

    async def write(tx: Tx) -> set[UUID]:
        doubted = set(await finalize.doubt_items(tx, shard=shard, items=items, fences=[one.fence for one in orphaned]))
        await finalize.insert_attempts(tx, shard=shard, attempts=[one for one in attempts if one.item_id in doubted])
        return doubted

    doubted = await kernel.db.persist(write)
    for one in (one for one in orphaned if one.id in doubted):
        log.warning("in_doubt", item=str(one.item.id), provider=one.item.provider, reason="found marked after a crash")
        one.held.orphan(one.id)
    settling = {
        one: now + settle for one in orphaned if one.id in doubted and (settle := _settle_of(kernel, one.item.provider))
    }
    await _schedule(kernel, shard, settling)
    return {one for one in orphaned if one.id not in doubted} | settling.keys()


def _settle_of(kernel: Kernel, provider: str) -> timedelta:
    """How long after a call a provider may not know its key yet."""
    found = kernel.providers.get(provider)
    return found.provider_class.settle if found and isinstance(found.provider_class, Keyed) else timedelta()


def _judge(kernel: Kernel, one: _InDoubt, now: datetime) -> Verdict:
    item = one.item
    return judge(
        kernel.class_of(item.provider, item.first_marked_at or now),
        kernel.limits.doubt_policy,
        attempts_left=_attempts_left(one),
        resends_left=item.marked_attempt < one.held.retry_for(item).attempts,
        first_marked_at=item.first_marked_at or now,
        now=now,
        is_function=item.channel is Channel.FUNCTION,
    )


def _attempts_left(one: _InDoubt) -> bool:
    return one.item.attempts < one.held.retry_for(one.item).attempts and not one.is_overdue_call


async def _ask(kernel: Kernel, shard: Shard, doubtful: Mapping[_InDoubt, AskProvider], now: datetime) -> None:
    if not doubtful:
        return
    assert_no_transaction()
    answers = await asyncio.gather(*(_look_up(kernel, one.item, now) for one in doubtful))
    facts: dict[_InDoubt, Fact] = {}
    absent: list[_InDoubt] = []
    later: dict[_InDoubt, datetime | None] = {}
    for (one, verdict), evidence in zip(doubtful.items(), answers, strict=True):
        match evidence:
            case Found(message_id):
                facts[one] = _fact(one, SUCCESS_STATUS[one.item.channel], message_id=message_id)
            case Absent():
                if not verdict.authoritative:
                    later[one] = None
                elif one.item.retry_at is None:
                    later[one] = now + verdict.settle  # the doubt is new: its waiting time has only begun
                else:
                    absent.append(one)
            case CannotTell():
                waited = now - (one.item.first_marked_at or now)
                later[one] = now + max(ASK_AGAIN, verdict.settle) if waited < ASK_FOR else None
            case _:
                assert_never(evidence)
    spent = [one for one in absent if not _attempts_left(one)]
    facts |= {one: _spent(one) for one in spent}
    await _record(kernel, shard, facts, now)
    await _clear(kernel, shard, [one for one in absent if one not in spent])
    await _schedule(kernel, shard, later)


def _spent(one: _InDoubt) -> Fact:
    """The fact for an item that is proven not to have arrived and has no attempt left."""
    return _fact(one, ItemStatus.FAILED, error=f"gave up after {one.item.attempts} attempts: none has arrived")


def _look_up(kernel: Kernel, item: Reserved, now: datetime) -> Awaitable[Evidence]:
    asked_since = item.first_marked_at or now
    doubtful = Doubtful(item.recipient, item.key, asked_since, item.payload or {}, item.workspace)
    return look_up(kernel.providers[item.provider], item.id, doubtful)


def _fact(one: _InDoubt, status: ItemStatus, *, message_id: str | None = None, error: str | None = None) -> Fact:
    return Fact(
        one.item.id,
        one.fence,
        one.item.marked_attempt,
        status,
        message_id=storable(message_id),
        error=error,
    )


async def _record(kernel: Kernel, shard: Shard, facts: Mapping[_InDoubt, Fact], now: datetime) -> None:
    if not facts:
        return
    await kernel.db.persist(
        lambda tx: finalize.finalize_items(tx, shard=shard, facts=list(facts.values()), now=now), alone=True
    )
    for one, fact in facts.items():
        one.held.learn(fact)


async def _clear(kernel: Kernel, shard: Shard, absent: Sequence[_InDoubt]) -> None:
    if not absent:
        return
    items, fences = [one.item for one in absent], [one.fence for one in absent]
    await kernel.db.persist(
        lambda tx: finalize.clear_doubtful_items(tx, shard=shard, items=items, fences=fences), alone=True
    )
    for one in absent:
        one.held.clear(one.item.id)


async def _schedule(kernel: Kernel, shard: Shard, later: Mapping[_InDoubt, datetime | None]) -> None:
    if not later:
        return
    schedule = partial(
        finalize.schedule_doubtful_items,
        shard=shard,
        items=[one.item for one in later],
        fences=[one.fence for one in later],
        retry_at=list(later.values()),
    )
    await kernel.db.persist(schedule, alone=True)
    for one, at in later.items():
        one.held.doubt(one.item.id, at)
