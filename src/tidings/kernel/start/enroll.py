"""Enroll contacts in a sequence by the thousand, and pause, resume, cancel or wake many enrollments at once.

An enrollment is an execution with a contact, in the contact's shard, under the key `<contact>:<n>`: n grows with each
re-entry, and the unique index lets a contact be in a sequence once at a time. Reached from resources/enrollments.py.
Everything is done in chunks, each one transaction of one shard and safe to repeat, so a crash in the middle leaves the
rest to a second try.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.content.lacks import attributes_in
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.people.audience import Audience
from tidings.domain.people.audience_filter import NamedContacts, both
from tidings.domain.workflows.requirements import templates_in
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.audience_chunks import count_lacking, pick
from tidings.kernel.start.enroller import CHUNK, Enroller, Enrolling, OpenSequence
from tidings.kernel.templates import know_stored_templates
from tidings.storage import enroll
from tidings.storage.audience import Picked
from tidings.storage.enroll import Choice, EnrolledChunk

LOOK_CHUNK = 2_000
"""Enrollments looked at in one statement when many are paused, resumed, cancelled or woken."""
SHARDS_AT_ONCE = 4
"""The shards worked on at once, however many there are: the other connections are for other work."""
FIRST = UUID(int=0)
__all__ = [
    "Choice",
    "Enroller",
    "Enrolling",
    "OpenSequence",
    "Told",
    "enroll_audience",
    "find_people",
    "follow_pause",
    "stop_chosen",
    "unpark",
]


Told = Callable[[Enrolling], None]


async def enroll_audience(
    kernel: Kernel,
    sequence: OpenSequence,
    audience: Audience,
    *,
    triggered_by: str,
    include_cancelled: bool = False,
    dry_run: bool = False,
    on_progress: Told | None = None,
) -> Enrolling:
    """Enroll an audience, or only count what that would do; each shard on its own, a chunk at a time."""
    now = await kernel.clock.now()
    enroller = Enroller(kernel, sequence, triggered_by, now, include_cancelled=include_cancelled)
    await know_stored_templates(kernel, sequence.workspace, templates_in(sequence.graph))
    printed = attributes_in(templates_in(sequence.graph))
    batch = _EnrolledBatch(kernel, sequence.workspace, audience, enroller, dry_run, on_progress, printed)
    await in_every_shard(kernel, batch.enroll_shard)
    return batch.counts


@dataclass(slots=True)
class _EnrolledBatch:
    """One audience on its way into a sequence."""

    kernel: Kernel
    workspace: Workspace
    audience: Audience
    enroller: Enroller
    dry_run: bool
    on_progress: Told | None
    printed: Collection[str]
    """The attributes of a contact that the steps print."""
    counts: Enrolling = field(default_factory=Enrolling)

    async def enroll_shard(self, shard: Shard) -> None:
        """Enroll the named contacts of a shard, then those who match and were not named."""
        excluded = set(self.audience.exclude_contact_ids)
        named = [id for id in self.audience.contact_ids if self.kernel.shard_of(id) == shard and id not in excluded]
        for ids in _chunks(named, CHUNK):
            people = await find_people(self.kernel, shard, self.workspace, ids)
            self.counts.not_found += len(ids) - len(people)
            await self._enroll(shard, await self._included(shard, people))
        if self.audience.has_filter:
            await self._enroll_matching(shard, excluded | set(named))

    async def _included(self, shard: Shard, people: Sequence[Picked]) -> Sequence[Picked]:
        """Return those of some named contacts whom no filter excludes."""
        if not self.audience.without:
            return people
        wanted = both(NamedContacts(tuple(one.id for one in people)), *self.audience.without)
        now = self.enroller.now
        return await pick(self.kernel, shard, self.workspace, wanted, now=now, after=None, limit=len(people))

    async def _enroll_matching(self, shard: Shard, without: Collection[UUID]) -> None:
        """Enroll the contacts that match, a chunk at a time; look one by one at those it leaves out."""
        wanted, after = self.audience.filter, FIRST
        while True:
            chunk = EnrolledChunk(CHUNK, None, 0)
            if not (without or self.dry_run):
                chunk = await self.enroller.enroll_next(shard, wanted, after)
            if chunk.enrolled < chunk.picked:
                page = await pick(
                    self.kernel,
                    shard,
                    self.workspace,
                    wanted,
                    now=self.enroller.now,
                    made_by=await self.kernel.clock.now(),
                    after=after,
                    limit=CHUNK,
                )
                await self._enroll(shard, [person for person in page if person.id not in without])
                chunk = EnrolledChunk(len(page), page[-1].id if page else None, 0)
            else:
                self.counts.enrolled += chunk.enrolled
                self._tell(shard)
            if chunk.picked < CHUNK or chunk.last is None:
                return
            after = chunk.last

    async def _enroll(self, shard: Shard, people: Sequence[Picked]) -> None:
        share = await self.enroller.enroll(shard, people, dry_run=self.dry_run)
        share.add_to(self.counts)
        if self.dry_run:
            self.counts.lacking.update(await count_lacking(self.kernel, shard, list(share.new), self.printed))
        self._tell(shard)

    def _tell(self, shard: Shard) -> None:
        if not self.dry_run:
            self.kernel.notifier.tell(shard, Lane.SEQUENCES)
        if self.on_progress:
            self.on_progress(self.counts)


async def in_every_shard(kernel: Kernel, work: Callable[[Shard], Awaitable[None]]) -> None:
    """Run something in all shards, a few at a time."""
    room = asyncio.Semaphore(SHARDS_AT_ONCE)

    async def one(shard: Shard) -> None:
        async with room:
            await work(shard)

    tasks = [asyncio.create_task(one(shard)) for shard in kernel.every_shard()]
    try:
        await asyncio.gather(*tasks)
    finally:  # a failure in one shard ends the whole; a repeat does the rest
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def find_people(kernel: Kernel, shard: Shard, workspace: Workspace, ids: Sequence[UUID]) -> Sequence[Picked]:
    """Return those of these contacts that exist in this workspace, in the order of their ids."""
    now = await kernel.clock.now()
    return await pick(kernel, shard, workspace, NamedContacts(tuple(ids)), now=now, after=None, limit=len(ids))


async def stop_chosen(kernel: Kernel, workflow_id: UUID, choice: Choice, stop: Stop | None) -> int:
    """Pause, cancel or (None) resume every chosen enrollment; return for how many that was new."""
    now = await kernel.clock.now()
    stopped = 0

    async def stop_shard(shard: Shard) -> None:
        nonlocal stopped
        async for page in _chosen(kernel, shard, workflow_id, choice, now):
            ids = [id for id, meant in page.items() if meant]
            asked = await stop_some(kernel, shard, ids, stop, now) if ids else set()
            stopped += len(asked)  # not in one expression with the await: shards add up concurrently

    await in_every_shard(kernel, stop_shard)
    if stop and stopped:
        await kernel.notifier.tell_sequences_stopped()
    return stopped


async def stop_some(kernel: Kernel, shard: Shard, ids: Sequence[UUID], stop: Stop | None, now: datetime) -> set[UUID]:
    """Pause, cancel or resume these enrollments of one shard; return those for which that is new."""
    ask = partial(enroll.stop_enrollments, shard=shard, ids=ids, stop=stop, now=now)
    asked = await kernel.db.persist(ask, alone=True)
    kernel.notifier.tell(shard, Lane.SEQUENCES)
    return asked


async def _chosen(
    kernel: Kernel, shard: Shard, workflow_id: UUID, choice: Choice, now: datetime
) -> AsyncIterator[Mapping[UUID, bool]]:
    if choice.contact_ids is None:
        look = partial(enroll.choose_enrollments, choice=choice, now=now)
        async for page in _walk(kernel, shard, workflow_id, look):
            yield page
        return
    for ids in _chunks([id for id in choice.contact_ids if kernel.shard_of(id) == shard], LOOK_CHUNK):
        find = partial(
            enroll.choose_enrollments_of_contacts,
            shard=shard,
            workflow_id=workflow_id,
            choice=choice,
            now=now,
            contact_ids=ids,
        )
        yield await kernel.db.persist(find, alone=True)


def _chunks(ids: Sequence[UUID], size: int) -> Iterable[Sequence[UUID]]:
    return (ids[first : first + size] for first in range(0, len(ids), size))


async def follow_pause(kernel: Kernel, workflow_id: UUID, *, paused: bool) -> None:
    """After a sequence is paused, have its marks taken back; after it is resumed, let waiting enrollments go on."""
    if paused:
        await kernel.notifier.tell_sequences_stopped()
    else:
        await unpark(kernel, workflow_id)


async def unpark(kernel: Kernel, workflow_id: UUID) -> int:
    """After a sequence is resumed, make due the enrollments that wait beyond their planned time; return how many.

    Safe to repeat, and no enrollment depends on it alone: what is parked comes due again within the hour.
    """
    now = await kernel.clock.now()
    woken = 0

    async def wake_shard(shard: Shard) -> None:
        nonlocal woken
        async for page in _walk(kernel, shard, workflow_id, enroll.find_parked_enrollments):
            ids = [id for id, parked in page.items() if parked]
            if ids:
                wake = partial(enroll.wake_enrollments, shard=shard, ids=ids, now=now)
                live = await kernel.db.persist(wake, alone=True)
                woken += live
                kernel.notifier.tell(shard, Lane.SEQUENCES)

    await in_every_shard(kernel, wake_shard)
    return woken


async def _walk(
    kernel: Kernel, shard: Shard, workflow_id: UUID, look: Callable[..., Awaitable[dict[UUID, bool]]]
) -> AsyncIterator[Mapping[UUID, bool]]:
    """Yield every enrollment of a sequence in one shard, by id, a bounded statement at a time."""
    after = FIRST
    while True:
        find = partial(look, shard=shard, workflow_id=workflow_id, after=after, limit=LOOK_CHUNK)
        page = await kernel.db.persist(find, alone=True)
        if page:
            yield page
            after = next(reversed(page))
        if len(page) < LOOK_CHUNK:
            return
