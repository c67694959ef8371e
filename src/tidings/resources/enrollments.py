"""Contacts in sequences: enroll one or many, watch, pause, resume and cancel. Every change is in the audit log.

Enrolling and stopping are kernel/start/enroll.py's; here is whose it is, and how it is shown. The logs of steps come
from the outbox (step_logs.py), and "why" from all of it (why.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from heapq import merge
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import ChannelNotReady, Conflict, EnrollmentInvalid, NotFound, Problem
from tidings.domain.flow.ids import Shard, Workspace, bucket_of_id
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.paging import (
    ANY_TIME,
    DEFAULT_LIMIT,
    EVERYTHING,
    LARGEST_LIMIT,
    Created,
    Span,
    check_limit,
    newest_first,
    page_of,
)
from tidings.domain.people.audience import read_audience
from tidings.domain.people.audience_filter import Where, both
from tidings.domain.people.contact import ContactReference
from tidings.domain.sequences.enrollment import EnrollmentStatus
from tidings.domain.sequences.form import WAIT, SequenceStatus
from tidings.kernel.calls.readiness import find_unrouted, require_ready
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import Deed, write_audit
from tidings.kernel.people.contacts import load_people
from tidings.kernel.people.references import find_contact, find_contacts, name_audience, no_contact
from tidings.kernel.start import enroll
from tidings.kernel.start.enroll import Choice, Enroller, Enrolling, OpenSequence, Told
from tidings.resources import why
from tidings.resources.enrollment_status import shown_of
from tidings.resources.names import name_contacts
from tidings.resources.sequence_shown import ShownSequence
from tidings.resources.sequences import Sequences
from tidings.resources.shown_enrollments import (
    Enrolled,
    EnrollmentFilter,
    ShownEnrollment,
    StepLog,
    Why,
)
from tidings.resources.step_logs import StepLogs, know_graphs
from tidings.storage import enrollments
from tidings.storage.database import Tx
from tidings.storage.enroll import stop_enrollments
from tidings.storage.enrollments import StepItem, StepTally, StoredEnrollment
from tidings.views.pages import Page

__all__ = ["Enrolled", "EnrollmentFilter", "EnrollmentStatus", "Enrollments", "ShownEnrollment", "StepLog", "Why"]

STOPS: Mapping[EnrollmentStatus, Stop | None] = {
    EnrollmentStatus.ACTIVE: None,
    EnrollmentStatus.PAUSED: Stop.PAUSE,
    EnrollmentStatus.CANCELLED: Stop.CANCEL,
}
"""What is asked of an enrollment that is to have a status; to be completed, nobody can ask."""
EVENTS: Mapping[Stop | None, str] = {None: "resumed", Stop.PAUSE: "paused", Stop.CANCEL: "cancelled"}
Items = list[StepItem]
Shown = list[ShownEnrollment]
Find = Callable[..., Awaitable[list[StoredEnrollment]]]


class Enrollments:
    """The enrollments of every workspace; what is another's is not found."""

    def __init__(self, kernel: Kernel, sequences: Sequences) -> None:
        self._kernel = kernel
        self._sequences = sequences
        self.logs = StepLogs(kernel, sequences)

    async def enroll(
        self, caller: Caller, sequence_id: UUID, contact_id: ContactReference, *, triggered_by: str = "api"
    ) -> Enrolled:
        """Enroll one contact, anew if it was cancelled; one that is in the sequence, or has been through it and may not
        come again, stays as it is."""
        sequence = await self._open(caller.workspace, sequence_id)
        contact = (await find_contacts(self._kernel, caller.workspace, [contact_id])).get(contact_id)
        if contact is None:
            raise EnrollmentInvalid([no_contact("contactId", contact_id)])
        shard, now = self._kernel.shard_of(contact), await self._kernel.clock.now()
        people = await enroll.find_people(self._kernel, shard, caller.workspace, [contact])
        missing = await find_unrouted(self._kernel, caller.workspace, sequence.graph.channels)
        enroller = Enroller(self._kernel, sequence, triggered_by, now, include_cancelled=True)
        share = await enroller.enroll(shard, people, dry_run=bool(missing))
        if missing and share.new:  # who is enrolled already is shown, as ever
            raise ChannelNotReady(missing)
        if contact not in (entered := {**share.new, **share.live, **share.ended}):
            raise EnrollmentInvalid([no_contact("contactId", contact_id)])  # deleted since it was found
        id = entered[contact]
        if share.new:
            deed = Deed("enrollment", id, "enrolled", {"sequence": str(sequence_id), "contact": str(contact)})
            await self._audit(caller, deed)
            self._kernel.notifier.tell(shard, Lane.SEQUENCES)
        return Enrolled(await self.get(caller.workspace, id), duplicate=not share.new)

    async def batch_enroll(
        self,
        caller: Caller,
        sequence_id: UUID,
        given: object,
        *,
        include_cancelled: bool = False,
        dry_run: bool = False,
        refuse_unknown: bool = False,
        triggered_by: str = "api",
        on_progress: Told | None = None,
    ) -> Enrolling:
        """Enroll everybody who is meant, or only count; safe to repeat, which enrolls only who is missing.

        With `include_cancelled` those are enrolled anew who were cancelled in the sequence. A contact that is named and
        not there is counted as not found, unless nobody else is meant or `refuse_unknown`.
        """
        named = await name_audience(self._kernel, caller.workspace, given, "")
        audience, problems = read_audience(named.known, "", segments=False)
        # Whom the others leave may be enrolled without them; where they were all that was named, nobody is left.
        unknown = [*(named.unknown if refuse_unknown or problems else ()), *named.unknown_exclusions]
        if problems or unknown:
            raise EnrollmentInvalid([*unknown, *problems])
        sequence = await self._open(caller.workspace, sequence_id)
        if not dry_run:
            await require_ready(self._kernel, caller.workspace, sequence.graph.channels)
        done = await enroll.enroll_audience(
            self._kernel,
            sequence,
            audience,
            triggered_by=triggered_by,
            include_cancelled=include_cancelled,
            dry_run=dry_run,
            on_progress=on_progress,
        )
        done.not_found += len({one.message for one in named.unknown})
        if not dry_run:
            detail = {"audience": audience.shown(), **done.counts()}
            await self._audit(caller, Deed("sequence", sequence_id, "batch_enrolled", detail))
        return done

    async def get(self, workspace: Workspace, id: UUID) -> ShownEnrollment:
        """One enrollment, or NotFound."""
        [shown] = await self._shown(workspace, [await self._find(workspace, id)])
        return shown

    async def list(
        self,
        workspace: Workspace,
        sequence_id: UUID,
        *,
        status: EnrollmentStatus | None = None,
        step_id: str | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownEnrollment]:
        """The enrollments in a sequence, newest first: one query in each shard, merged by id."""
        await self._sequences.get(workspace, sequence_id, in_flight=False)
        check_limit(limit)
        find = partial(
            enrollments.list_enrollments,
            tenant=workspace.tenant,
            workspace=workspace.name,
            workflow_id=sequence_id,
            statuses=status and status.stored(),
            cursors=_cursors(step_id),
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        shards = await asyncio.gather(
            *(self._kernel.db.persist(partial(find, shard=shard), alone=True) for shard in self._kernel.every_shard())
        )
        found = [*merge(*shards, key=lambda one: one.id, reverse=True)][: limit + 1]
        return page_of(await self._shown(workspace, found), limit, lambda one: one.id)

    async def list_of_contact(
        self,
        workspace: Workspace,
        contact_id: ContactReference,
        *,
        sequence_id: UUID | None = None,
        status: EnrollmentStatus | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownEnrollment]:
        """A contact's enrollments, in whatever sequence, newest first."""
        check_limit(limit)
        id = await find_contact(self._kernel, workspace, contact_id)
        find = self._of_contact(workspace, id, sequence_id, status, newest_first(cursor, created), limit + 1)
        found = await self._kernel.db.persist(find, alone=True)
        return page_of(await self._shown(workspace, found), limit, lambda one: one.id)

    async def set_status(self, caller: Caller, id: UUID, status: EnrollmentStatus) -> ShownEnrollment:
        """Pause, resume or cancel an enrollment; one that has ended stays so."""
        stop = _stop_for(status)
        before = await self.get(caller.workspace, id)
        if before.status.has_ended and before.status is not status:
            raise Conflict(f"enrollment {id} has ended: it is {before.status}; enroll the contact anew")
        shard, now = self._kernel.shard_of(id), await self._kernel.clock.now()
        deed = Deed("enrollment", id, EVENTS[stop], {}, self._kernel.new_id(bucket_of_id(id), now))

        async def write(tx: Tx) -> None:
            if await stop_enrollments(tx, shard=shard, ids=[id], stop=stop, now=now):
                await write_audit(self._kernel, tx, caller, [deed], now)

        await self._kernel.db.persist(write)
        if stop:
            await self._kernel.notifier.tell_stopped([id])
        self._kernel.notifier.tell(shard, Lane.SEQUENCES)
        after = await self.get(caller.workspace, id)
        if after.status is not status:
            raise Conflict(f"enrollment {id} is {after.status}, so it cannot be made {status}")
        return after

    async def set_status_of_many(
        self, caller: Caller, sequence_id: UUID, where: EnrollmentFilter, status: EnrollmentStatus
    ) -> int:
        """Pause, resume or cancel every live enrollment of a sequence that matches; give for how many that was new."""
        stop = _stop_for(status)
        _check_filter(where)
        await self._sequences.get(caller.workspace, sequence_id, in_flight=False)
        choice = Choice(
            await self._chosen_contacts(caller.workspace, where),
            None if where.status is None else where.status is EnrollmentStatus.PAUSED,
            _cursors(where.step_id),
            both(*(Where(name, value) for name in ("company", "tag") if (value := getattr(where, name)) is not None)),
        )
        changed = await enroll.stop_chosen(self._kernel, sequence_id, choice, stop)
        detail = {"where": _given(where), "count": changed}
        await self._audit(caller, Deed("sequence", sequence_id, f"enrollments_{EVENTS[stop]}", detail))
        return changed

    async def why(self, workspace: Workspace, sequence_id: UUID, contact: ContactReference) -> Why:
        """Whether a contact is in a sequence, and for each step what happened, what will, or why not.

        Of several times in the sequence, the last one is told.
        """
        sequence = await self._sequences.get(workspace, sequence_id, in_flight=False)
        id = await find_contact(self._kernel, workspace, contact)
        told = await self._why(workspace, sequence, id)
        names = await name_contacts(self._kernel, workspace, [id])
        return replace(told, contact=names.get(id), sequence_name=sequence.name)

    async def _why(self, workspace: Workspace, sequence: ShownSequence, contact_id: UUID) -> Why:
        sequence_id = sequence.id
        shard = self._kernel.shard_of(contact_id)
        find = self._of_contact(workspace, contact_id, sequence_id, None, EVERYTHING, LARGEST_LIMIT)
        found = max(await self._kernel.db.persist(find, alone=True), key=lambda one: one.number, default=None)
        if found is None:
            await find_contact(self._kernel, workspace, contact_id, deleted=False)
        if sequence.published is None:
            return why.of_draft(contact_id, sequence_id, sequence.steps)
        person = (await load_people(self._kernel, [contact_id]))[contact_id]
        graph = (await self._sequences.published(workspace, sequence_id)).graph
        items: Items = []
        shown = None
        if found is not None:
            [shown], graph = await self._shown(workspace, [found]), self._kernel.graphs[found.version_id]
            list_items = partial(enrollments.list_step_items, shard=shard, execution_id=found.id)
            items = await self._kernel.db.persist(list_items, alone=True)
        case = why.Case(graph, person, shown, items)
        is_in = shown is not None and not shown.status.has_ended
        return Why(contact_id, sequence_id, is_in, why.reason_of(case), shown, list(why.fates(case)))

    async def _open(self, workspace: Workspace, sequence_id: UUID) -> OpenSequence:
        """The version that contacts are enrolled in, or Conflict when the sequence takes nobody."""
        found = await self._sequences.published(workspace, sequence_id)
        if found.status is not SequenceStatus.ACTIVE:
            raise Conflict(f"sequence {found.name!r} is {found.status}, so nobody can be enrolled; resume it first")
        return OpenSequence(workspace, found.workflow_id, found.version_id, found.graph, found.allow_reentry)

    async def _find(self, workspace: Workspace, id: UUID) -> StoredEnrollment:
        find = partial(
            enrollments.show_enrollments,
            shard=self._kernel.shard_of(id),
            tenant=workspace.tenant,
            workspace=workspace.name,
            ids=[id],
        )
        found = await self._kernel.db.persist(find, alone=True)
        if not found:
            raise NotFound(f"there is no enrollment {id}")
        return found[0]

    def _of_contact(
        self,
        workspace: Workspace,
        contact_id: UUID,
        sequence_id: UUID | None,
        status: EnrollmentStatus | None,
        span: Span,
        limit: int,
    ) -> Find:
        return partial(
            enrollments.list_enrollments_of_contact,
            shard=self._kernel.shard_of(contact_id),
            tenant=workspace.tenant,
            workspace=workspace.name,
            contact_id=contact_id,
            workflow_id=sequence_id,
            statuses=status and status.stored(),
            span=span,
            limit=limit,
        )

    async def _shown(self, workspace: Workspace, found: Sequence[StoredEnrollment]) -> Shown:
        """Each as a person sees it; the graphs of their versions tell which step is which."""
        await know_graphs(self._kernel, [one.version_id for one in found])
        contacts = await name_contacts(self._kernel, workspace, [one.contact_id for one in found])
        tallies = await self._tally([one.id for one in found])
        return [
            shown_of(one, contacts.get(one.contact_id), self._kernel.graphs[one.version_id], tallies.get(one.id, ()))
            for one in found
        ]

    async def _tally(self, ids: Sequence[UUID]) -> Mapping[UUID, Sequence[StepTally]]:
        """What the messages of these enrollments have come to, in one statement for each shard."""
        shares: dict[Shard, list[UUID]] = {}
        for id in ids:
            shares.setdefault(self._kernel.shard_of(id), []).append(id)
        tallies: dict[UUID, Sequence[StepTally]] = {}
        for shard, share in shares.items():
            read = partial(enrollments.tally_messages, shard=shard, ids=share)
            tallies |= await self._kernel.db.persist(read, alone=True)
        return tallies

    async def _chosen_contacts(self, workspace: Workspace, where: EnrollmentFilter) -> Sequence[UUID] | None:
        if where.contact_ids is None:
            return None
        found = await find_contacts(self._kernel, workspace, where.contact_ids, deleted=True)
        unknown = [(place, one) for place, one in enumerate(where.contact_ids) if one not in found]
        if unknown:
            raise EnrollmentInvalid([no_contact(f"where.contactIds[{place}]", one) for place, one in unknown])
        return [found[one] for one in where.contact_ids]

    async def _audit(self, caller: Caller, deed: Deed) -> None:
        now = await self._kernel.clock.now()
        lasting = replace(deed, entry=self._kernel.new_id(bucket_of_id(deed.id), now))
        await self._kernel.db.persist(lambda tx: write_audit(self._kernel, tx, caller, [lasting], now), alone=True)


def _stop_for(status: EnrollmentStatus) -> Stop | None:
    if status not in STOPS:
        raise EnrollmentInvalid([Problem("status", f"is {status}; use {', '.join(STOPS)}")])
    return STOPS[status]


def _cursors(step_id: str | None) -> list[str] | None:
    """The nodes at which an enrollment stands that comes to a step next."""
    return None if step_id is None else [f"{WAIT}{step_id}", step_id]


def _check_filter(where: EnrollmentFilter) -> None:
    given = _given(where)
    if not given:
        names = "status, stepId, contactIds, company, tag"
        raise EnrollmentInvalid([Problem("where", f"names nobody: give one of {names}; for everyone {{all: true}}")])
    if where.all and len(given) > 1:
        raise EnrollmentInvalid([Problem("where.all", "says everyone, and the rest only some: leave one of them out")])
    if where.status is not None and where.status.has_ended:
        raise EnrollmentInvalid([Problem("where.status", f"is {where.status}: what has ended stays so")])


def _given(where: EnrollmentFilter) -> dict[str, object]:
    return {name: value for name, value in asdict(where).items() if value not in (None, False)}
