"""Triggers that come one by one, stored together when they come at once.

Reached from engine.py and resources/; trigger.py stores them. A lone trigger is stored at once. Those
that arrive while others of the same workflow are being stored go into the next transaction together: the busier, the
larger.
"""

import asyncio
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.queue import Lane
from tidings.kernel.kernel import Kernel
from tidings.kernel.start.check import Trigger, check_triggers, find_workflow
from tidings.kernel.start.trigger import Started, store_triggers
from tidings.storage.outage import is_hurried

MOST_AT_ONCE = 500
Waiting = tuple[Trigger, asyncio.Future[Started]]


class BatchKey(NamedTuple):
    """What triggers must have in common to be stored together."""

    workspace: Workspace
    workflow: UUID | str
    lane: Lane
    triggered_by: str | None
    correlated: bool = False  # keys of the workspace, not of the workflow
    is_hurried: bool = False  # a caller that can wait for the database must not fail with one that cannot


class TriggerBatches:
    """The triggers of one process that wait to be stored."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._waiting: dict[BatchKey, list[Waiting]] = {}
        self._storing: dict[BatchKey, asyncio.Task[None]] = {}

    async def start(self, key: BatchKey, trigger: Trigger) -> Started:
        """Start one execution; the same key again returns the same execution."""
        key = key._replace(is_hurried=is_hurried())
        answer: asyncio.Future[Started] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append((trigger, answer))
        if key not in self._storing:
            self._storing[key] = asyncio.create_task(self._store(key))
        return await answer

    async def _store(self, key: BatchKey) -> None:
        try:
            while batch := self._take(key):
                await self._store_batch(key, batch)
        finally:
            del self._storing[key]

    def _take(self, key: BatchKey) -> list[Waiting]:
        """Take the next triggers to store together, no two with one key: the second must find what the first did."""
        batch: dict[str, Waiting] = {}
        left: list[Waiting] = []
        for one in self._waiting.pop(key, []):
            is_taken = len(batch) < MOST_AT_ONCE and batch.setdefault(one[0].idempotency_key, one) is one
            if not is_taken:
                left.append(one)
        if left:
            self._waiting[key] = left
        return list(batch.values())

    async def _store_batch(self, key: BatchKey, batch: list[Waiting]) -> None:
        """Store a batch and answer each trigger by itself; a wrong one does not affect the others."""
        try:
            answers = await self._answers(key, [trigger for trigger, _ in batch])
        except Exception as error:  # every waiting caller must get the error, whatever it is
            answers = [error] * len(batch)
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue  # the caller is gone
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    async def _answers(self, key: BatchKey, triggers: list[Trigger]) -> list[Started | Exception]:
        workflow = await find_workflow(self._kernel, key.workspace, key.workflow)
        checked, wrong = await check_triggers(
            self._kernel, key.workspace, workflow, triggers, correlated=key.correlated
        )
        good = [one for place, one in enumerate(triggers) if place not in wrong]
        fresh = {one.idempotency_key: one for one in good if one.idempotency_key in checked.fresh}
        sound = replace(checked, requests=good, fresh=fresh)
        started = iter(
            await store_triggers(self._kernel, key.workspace, sound, lane=key.lane, triggered_by=key.triggered_by)
        )
        return [wrong[place] if place in wrong else next(started) for place in range(len(triggers))]
