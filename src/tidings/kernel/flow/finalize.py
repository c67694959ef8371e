"""Record the answers of providers: facts by their mark, even if the lease was lost.

Reached from commit.py inside the transaction that also marks the next window; release.py moves the owner afterwards.
Safe to repeat.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import assert_never

from tidings.domain.flow.doubt import AskProvider, CallAgain, GiveUp, Hold, Spent, judge
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import SUCCESS_STATUS, Channel, ItemStatus, Marked
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, ProviderClass
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.retry import Exhausted, TryAgain, after_refusal, tried_in_vain
from tidings.domain.storable import storable, storable_json
from tidings.kernel.flow.deliver import Answered
from tidings.kernel.gate.outages import outlasted_outage
from tidings.kernel.kernel import Kernel
from tidings.log import log
from tidings.storage import finalize
from tidings.storage.database import Tx
from tidings.storage.finalize import Fact, FailedAttempt


def fact_of(kernel: Kernel, answered: Answered, lane: Lane) -> Fact:
    """Turn an outcome into the fact to store."""
    item, outcome = answered.delivered.item, answered.delivered.outcome
    match outcome:
        case Accepted():
            return _success(item, outcome)
        case Rejected(reason):
            return _after_rejection(kernel, answered, reason)
        case RetryLater():
            return _after_refusal(kernel, answered, outcome)
        case Unavailable():
            return _after_outage(kernel, answered, lane, outcome)
        case Unknown(reason):
            return _after_unknown(kernel, answered, reason)
        case _:
            assert_never(outcome)


def _success(item: Marked, said: Accepted) -> Fact:
    # The most frequent end: by position, and without checking fields that cannot be set.
    result = None if said.result is None else storable_json(said.result)
    status, message_id = SUCCESS_STATUS[item.channel], storable(said.message_id)
    return Fact(item.id, item.fence, item.attempt, status, False, True, None, message_id, None, result)


def _fact(
    item: Marked,
    status: ItemStatus,
    *,
    unknown: bool = False,
    uses_attempt: bool = True,
    retry_at: datetime | None = None,
    error: str | None = None,
) -> Fact:
    return Fact(item.id, item.fence, item.attempt, status, unknown, uses_attempt, retry_at, error=storable(error))


def _failed(item: Marked, reason: str) -> Fact:
    return _fact(item, ItemStatus.FAILED, error=reason)


def _after_rejection(kernel: Kernel, answered: Answered, reason: str) -> Fact:
    """The fact after a final refusal: failed, unless an earlier call may have arrived and only this one was refused."""
    item = answered.delivered.item
    if answered.outgoing.item.in_doubt and isinstance(_class_of(kernel, answered), Blind):
        return _fact(item, ItemStatus.QUEUED, unknown=True, error=reason)
    log.warning("permanent_failure", **item.line)
    return _failed(item, reason)


def _after_refusal(kernel: Kernel, answered: Answered, outcome: RetryLater) -> Fact:
    item, now = answered.delivered.item, answered.delivered.ended_at
    decision = after_refusal(
        answered.outgoing.retry,
        outcome,
        attempts=item.attempts,
        first_marked_at=answered.outgoing.item.first_marked_at or answered.delivered.started_at,
        now=now,
        spread=kernel.spread(),
    )
    match decision:
        case TryAgain(at):
            log.info("retry_scheduled", **item.line, retry_at=at)
            return _fact(item, ItemStatus.QUEUED, uses_attempt=outcome.uses_attempt, retry_at=at, error=outcome.reason)
        case Exhausted(reason):
            log.warning("retries_exhausted", **item.line)
            # An earlier call of an item in doubt may have arrived: it stays in doubt rather than count as failed.
            if answered.outgoing.item.in_doubt:
                return _after_unknown(kernel, answered, reason, spent=reason)
            return _failed(item, reason)
        case _:
            assert_never(decision)


def _after_outage(kernel: Kernel, answered: Answered, lane: Lane, outcome: Unavailable) -> Fact:
    """The fact of a call that could not begin: the item is as before its mark, unless it has waited too long."""
    item, now, reason = answered.delivered.item, answered.delivered.ended_at, outcome.reason
    if given_up := outlasted_outage(kernel, answered.outgoing.item, lane, answered.outgoing.retry, reason, now):
        log.warning("outage_outlasted", item=str(item.id), provider=item.provider, reason=answered.delivered.told)
        return (
            _after_unknown(kernel, answered, given_up) if answered.outgoing.item.in_doubt else _failed(item, given_up)
        )
    # An item in doubt without a time would be held for a person.
    retry_at = answered.outgoing.item.retry_at or (now if answered.outgoing.item.in_doubt else None)
    return _fact(item, ItemStatus.QUEUED, uses_attempt=False, retry_at=retry_at, error=reason)


def _class_of(kernel: Kernel, answered: Answered) -> ProviderClass:
    called_at = answered.outgoing.item.first_marked_at or answered.delivered.started_at
    return kernel.class_of(answered.delivered.item.provider, called_at)


def _after_unknown(kernel: Kernel, answered: Answered, reason: str, spent: str | None = None) -> Fact:
    item, now = answered.delivered.item, answered.delivered.ended_at
    verdict = judge(
        _class_of(kernel, answered),
        kernel.limits.doubt_policy,
        attempts_left=item.attempts < answered.outgoing.retry.attempts and not answered.is_last,
        resends_left=item.attempt < answered.outgoing.retry.attempts and not answered.is_last,
        first_marked_at=answered.outgoing.item.first_marked_at or answered.delivered.started_at,
        now=now,
        is_function=item.channel is Channel.FUNCTION,
    )
    match verdict:
        case Spent():
            log.warning("retries_exhausted", **item.line)
            return _failed(item, spent or (reason if answered.is_last else f"{tried_in_vain(item.attempts)}{reason}"))
        case CallAgain(settle):
            wait = answered.outgoing.retry.wait_after(item.attempts, kernel.spread())
            retry_at: datetime | None = now + max(wait, settle)
        case AskProvider(settle):
            retry_at = now + settle
        case GiveUp():
            retry_at = now + timedelta(microseconds=1)  # doubt.py gives it up at the next look
        case Hold():
            retry_at = None
        case _:
            assert_never(verdict)
    log.warning("in_doubt", **item.line, reason=answered.delivered.told)
    return _fact(item, ItemStatus.QUEUED, unknown=True, retry_at=retry_at, error=reason)


async def record_facts(
    tx: Tx, shard: Shard, facts: Sequence[Fact], attempts: Sequence[FailedAttempt], now: datetime
) -> None:
    """Write facts, results and failed attempts."""
    if results := [fact for fact in facts if fact.result is not None]:
        await finalize.keep_results(tx, shard=shard, facts=results)
    await finalize.finalize_items(tx, shard=shard, facts=facts, now=now)
    if attempts:
        await finalize.insert_attempts(tx, shard=shard, attempts=attempts)
