"""What is known of the calls for one item, and what is done next about it. Used by outbox.py.

The workers decide when the time has come (kernel/flow/doubt.py); this asks the same question of the same provider
classes, of an item that still has attempts left.
"""

from datetime import datetime
from typing import assert_never

from tidings.domain.flow.doubt import AskProvider, CallAgain, GiveUp, Hold, Spent, Verdict, judge
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.provider import CLASS_NAMES, ProviderClass
from tidings.kernel.kernel import Kernel
from tidings.kernel.readiness import know_providers, live_workers
from tidings.storage.items import Mark
from tidings.views.outbox import Evidence, ItemDetail, NextStep


async def evidence_about(kernel: Kernel, item: ItemDetail, mark: Mark) -> Evidence | None:
    """Return what is known of the calls for an item; None if it was never called for."""
    if not mark.calls:
        return None
    called_at, now = item.first_called_at or item.created_at, await kernel.clock.now()
    found = await _class_of(kernel, item.provider, called_at, now)
    is_open = item.status is ItemStatus.QUEUED
    under_way = is_open and mark.marked_at is not None
    ends = [one.started_at for one in item.failed_attempts]
    return Evidence(
        provider_class=CLASS_NAMES[type(found)] if found else await _class_elsewhere(kernel, item.provider),
        doubt_policy=kernel.limits.doubt_policy,
        calls=mark.calls,
        last_called_at=mark.marked_at or max(ends, default=item.first_called_at),
        under_way=under_way,
        next=_next(kernel, item, found, max(item.retry_at or now, now)) if is_open and not under_way else None,
        next_at=item.retry_at if is_open and not under_way else None,
    )


def _next(kernel: Kernel, item: ItemDetail, found: ProviderClass | None, at: datetime) -> NextStep | None:
    if not item.in_doubt:
        return NextStep.REPEAT  # what went before is known to have come to nothing
    if item.retry_at is None:
        return NextStep.PERSON
    if found is None:
        return None
    verdict = judge(
        found,
        kernel.limits.doubt_policy,
        attempts_left=True,
        resends_left=True,
        first_marked_at=item.first_called_at or at,
        now=at,
    )
    return _word(verdict)


def _word(verdict: Verdict) -> NextStep:
    match verdict:
        case CallAgain():
            return NextStep.REPEAT
        case AskProvider():
            return NextStep.LOOK_UP
        case GiveUp() | Spent():
            return NextStep.GIVE_UP
        case Hold():
            return NextStep.PERSON
        case _:
            assert_never(verdict)


async def _class_of(kernel: Kernel, provider: str, called_at: datetime, now: datetime) -> ProviderClass | None:
    """Return the class of a provider that this process knows, or of a connection that it can serve."""
    await know_providers(kernel, [provider], now)
    return kernel.class_of(provider, called_at) if provider in kernel.providers else None


async def _class_elsewhere(kernel: Kernel, provider: str) -> str | None:
    """Return what a live worker says that the class of its provider is."""
    for worker in await live_workers(kernel):
        if provider in worker.serves:
            return worker.serves[provider].provider_class
    return None
