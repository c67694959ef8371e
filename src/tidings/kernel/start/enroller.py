"""Enroll contacts in one sequence, a chunk of a shard at a time.

Reached from enroll.py. Most chunks go in at once; contacts that are left out, because they are or were in the
sequence or have a new time zone, are looked at one by one. An id is made from the contact and the call, so that after
an unknown commit, or at a second try, each call recognises its own enrollments.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec

from tidings.domain.content.lacks import lacks_of
from tidings.domain.flow.execution import begin
from tidings.domain.flow.graph import CONTACT_ZONE, Delay, Graph
from tidings.domain.flow.ids import Bucket, Shard, Workspace, enrollment_id, milliseconds_of
from tidings.domain.flow.keys import key_scope
from tidings.domain.flow.queue import Lane
from tidings.domain.people.audience_filter import AudienceFilter
from tidings.kernel import crash_points
from tidings.kernel.kernel import Kernel
from tidings.storage import enroll
from tidings.storage.audience import Picked
from tidings.storage.database import Tx
from tidings.storage.enroll import EnrolledChunk, FoundEnrollment
from tidings.storage.load import frontier_to_json
from tidings.views.lacks import Lack

CHUNK = 10_000
"""Contacts in one transaction, which then takes some tenths of a second."""


@dataclass(frozen=True, slots=True)
class OpenSequence:
    """A published version that takes contacts."""

    workspace: Workspace
    workflow_id: UUID
    version_id: UUID
    graph: Graph
    allow_reentry: bool


@dataclass(slots=True)
class Enrolling:
    """The progress of one enroll call."""

    enrolled: int = 0
    reenrolled: int = 0
    """Those among the enrolled who had been cancelled before."""
    already_enrolled: int = 0
    completed_before: int = 0
    cancelled_before: int = 0
    not_found: int = 0
    lacking: Counter[str] = field(default_factory=Counter)
    """Of a dry run: how many of those who would be enrolled lack an attribute that a step prints, by its path."""

    def counts(self) -> dict[str, int]:
        """Every count by its name."""
        return {name: value for name, value in asdict(self).items() if isinstance(value, int)}

    @property
    def missing(self) -> list[Lack]:
        """The attributes that those who would be enrolled lack, as counts by path."""
        return lacks_of(self.lacking, self.enrolled)

    @property
    def skipped(self) -> int:
        """How many were meant and are not newly enrolled."""
        return self.already_enrolled + self.completed_before + self.cancelled_before + self.not_found


@dataclass(slots=True)
class EnrolledShare:
    """What became of some contacts: contact → enrollment."""

    new: dict[UUID, UUID] = field(default_factory=dict)
    again: set[UUID] = field(default_factory=set)  # had been cancelled, and is or would be in it anew
    live: dict[UUID, UUID] = field(default_factory=dict)  # already in it
    ended: dict[UUID, UUID] = field(default_factory=dict)  # has completed it, and may not enter again
    cancelled: dict[UUID, UUID] = field(default_factory=dict)  # was cancelled in it, and stays out
    gone: list[UUID] = field(default_factory=list)  # deleted since it was picked

    def left_alone(self, found: FoundEnrollment) -> None:
        """Note the state of a contact who is not enrolled anew."""
        kept = self.live if found.is_live else self.cancelled if found.was_cancelled else self.ended
        kept[found.contact_id] = found.id

    def add_to(self, counts: Enrolling) -> None:
        """Add these contacts to the counts of a call."""
        counts.enrolled += len(self.new)
        counts.reenrolled += len(self.again & self.new.keys())
        counts.already_enrolled += len(self.live)
        counts.completed_before += len(self.ended)
        counts.cancelled_before += len(self.cancelled)
        counts.not_found += len(self.gone)


class FirstTimes:
    """Where an enrollment begins and when it is due, computed once for each time zone; the first is for no zone."""

    def __init__(self, graph: Graph, now: datetime) -> None:
        self._graph, self._now = graph, now
        entry = graph.nodes[graph.entry]
        schedule = entry.schedule if isinstance(entry, Delay) else None
        self.by_zone = schedule is not None and schedule.zone == CONTACT_ZONE
        self._numbers: dict[str | None, int] = {}
        self.frontiers: list[Mapping[str, object]] = []
        self.due_at: list[datetime] = []
        self.number_of(None)

    @property
    def zones(self) -> Sequence[str | None]:
        """The zones that are known, in the order of their numbers."""
        return list(self._numbers)

    def number_of(self, zone: str | None) -> int:
        """The number of a zone's time, from 1 on as SQL counts."""
        zone = zone if self.by_zone else None
        if zone not in self._numbers:
            frontier = begin(self._graph, self._now, {"timeZone": zone})
            self.frontiers.append(frontier_to_json(frontier))
            self.due_at.append(frontier.ready[0].due_at)
            self._numbers[zone] = len(self.due_at)
        return self._numbers[zone]


class _Request(msgspec.Struct, frozen=True):
    """One contact to be enrolled for the n-th time."""

    person: Picked
    id: UUID
    number: int


class Enroller:
    """Enrolls in one sequence, as of one moment; with `include_cancelled` also those who were cancelled in it."""

    def __init__(
        self,
        kernel: Kernel,
        sequence: OpenSequence,
        triggered_by: str,
        now: datetime,
        *,
        include_cancelled: bool = False,
    ) -> None:
        self._kernel, self._sequence, self._triggered_by, self.now = kernel, sequence, triggered_by, now
        self._include_cancelled = include_cancelled
        self._times = FirstTimes(sequence.graph, now)
        home = sequence.workspace
        self._key_scope = key_scope(home.tenant, home.name, str(sequence.workflow_id))
        # Makes an id the same at each try: after an unknown commit the ids tell what this call enrolled.
        self._salt = str(kernel.new_id(Bucket(0), now))

    async def enroll_next(self, shard: Shard, wanted: AudienceFilter, after: UUID) -> EnrolledChunk:
        """Enroll the next contacts of a shard, and leave out those that need a second look."""

        async def write(tx: Tx) -> EnrolledChunk:
            workspace = self._sequence.workspace
            picked = await enroll.find_next_contacts(
                tx, shard=shard, workspace=workspace, wanted=wanted, now=self.now, after=after, limit=CHUNK
            )
            new = await self._enroll_first(tx, shard, picked)
            due_at = None if self._times.by_zone else self._times.due_at[0]
            await self._enqueue(tx, shard, new, due_at)
            crash_points.reach("before_enroll_commit")
            return EnrolledChunk(len(picked), picked[-1] if picked else None, len(new))

        chunk = await self._kernel.db.persist(write)
        crash_points.reach("after_enroll_chunk")
        return chunk

    async def _enroll_first(self, tx: Tx, shard: Shard, contact_ids: Sequence[UUID]) -> Collection[UUID]:
        sequence, times = self._sequence, self._times
        return await enroll.enroll_contacts(
            tx,
            shard=shard,
            workspace=sequence.workspace,
            contact_ids=contact_ids,
            workflow_id=sequence.workflow_id,
            key_scope=self._key_scope,
            version_id=sequence.version_id,
            milliseconds=milliseconds_of(self.now),
            salt=self._salt,
            by_zone=times.by_zone,
            zones=times.zones,
            frontiers=times.frontiers,
            cursor=sequence.graph.entry,
            triggered_by=self._triggered_by,
            now=self.now,
        )

    async def _enqueue(self, tx: Tx, shard: Shard, ids: Collection[UUID], due_at: datetime | None) -> None:
        await enroll.enqueue_enrollments(
            tx,
            shard=shard,
            lane=Lane.SEQUENCES,
            due_at=due_at,
            workspace_hash=self._sequence.workspace.hash,
            ids=list(ids),
        )

    async def enroll(self, shard: Shard, people: Sequence[Picked], *, dry_run: bool = False) -> EnrolledShare:
        """Enroll some contacts of one shard, in the order of their ids: two calls for the same ones never deadlock."""
        share = EnrolledShare()
        requests = [self._request(person, 1) for person in people]
        tried: set[UUID] = set()
        while requests:
            requests = await self._judge(shard, requests, share, tried)
            if dry_run:
                share.new |= {request.person.id: request.id for request in requests}
                return share
            stored = await self._store(shard, requests) if requests else set()
            share.new |= {request.person.id: request.id for request in requests if request.id in stored}
            tried |= {request.id for request in requests}
            requests = [request for request in requests if request.id not in stored]
        return share

    def _request(self, person: Picked, number: int) -> _Request:
        return _Request(person, enrollment_id(person.id, number, self._salt, self.now), number)

    async def _judge(
        self, shard: Shard, requests: Sequence[_Request], share: EnrolledShare, tried: set[UUID]
    ) -> list[_Request]:
        """Sort out contacts who are or were in the sequence; return the requests of those who may enter, or again."""
        latest = await self._latest(shard, [request.person.id for request in requests])
        may_come: list[_Request] = []
        for request in requests:
            contact, found = request.person.id, latest.get(request.person.id)
            if found and found.id == self._request(request.person, found.number).id:
                share.new[contact] = found.id
                continue
            if found and not self._may_come_again(found):
                share.left_alone(found)
                continue
            # Two calls at once request the same number: the unique index lets one of them in.
            again = self._request(request.person, found.number + 1 if found else 1)
            if again.id in tried:
                share.gone.append(contact)  # its key is free, but the contact does not exist
                continue
            may_come.append(again)
            share.again |= {contact} if found and found.was_cancelled else set()
        return may_come

    def _may_come_again(self, found: FoundEnrollment) -> bool:
        if found.is_live:
            return False
        return self._sequence.allow_reentry or (found.was_cancelled and self._include_cancelled)

    async def _store(self, shard: Shard, requests: Sequence[_Request]) -> set[UUID]:
        sequence, times = self._sequence, self._times
        plans = {request.id: times.number_of(request.person.time_zone) for request in requests}

        async def write(tx: Tx) -> set[UUID]:
            new = await enroll.insert_enrollments(
                tx,
                shard=shard,
                workspace=sequence.workspace,
                workflow_id=sequence.workflow_id,
                key_scope=self._key_scope,
                version_id=sequence.version_id,
                frontiers=times.frontiers,
                cursor=sequence.graph.entry,
                triggered_by=self._triggered_by,
                ids=list(plans),
                contact_ids=[request.person.id for request in requests],
                numbers=[str(request.number) for request in requests],
                plans=list(plans.values()),
                now=self.now,
            )
            await self._enqueue(tx, shard, new, due_at=None)
            crash_points.reach("before_enroll_commit")
            return new

        stored = await self._kernel.db.persist(write)
        crash_points.reach("after_enroll_chunk")
        return stored

    async def _latest(self, shard: Shard, contacts: Sequence[UUID]) -> Mapping[UUID, FoundEnrollment]:
        find = partial(
            enroll.find_enrollments, shard=shard, workflow_id=self._sequence.workflow_id, contact_ids=contacts
        )
        found = await self._kernel.db.persist(find, alone=True)
        return {one.contact_id: one for one in sorted(found, key=lambda one: one.number)}
