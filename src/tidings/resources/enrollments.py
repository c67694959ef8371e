"""Contacts in sequences: enroll one or many, watch, pause, resume and cancel. Every change is in the audit log.

kernel/start/enroll.py enrolls and stops; this module checks whose an enrollment is and shows it. The logs of steps come
from the outbox (step_logs.py); why.py explains from all of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as changed
from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec.structs import asdict as fields_of
from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import ChannelNotReady, Conflict, EnrollmentInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, EVERYTHING, LARGEST_LIMIT, Created, newest_first
from tidings.domain.people.audience import read_audience
from tidings.domain.people.audience_filter import EVERYONE, AudienceFilter, Where, both
from tidings.domain.people.contact import ContactReference
from tidings.domain.people.filter_reader import read_filter
from tidings.domain.sequences.form import WAIT
from tidings.domain.words import states_of_enrollment
from tidings.domain.workflows.requirements import templates_in
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.people.contacts import load_people
from tidings.kernel.people.references import find_contact, find_contacts, name_audience, no_contact
from tidings.kernel.readiness import find_unrouted, require_ready
from tidings.kernel.start import enroll
from tidings.kernel.start.enroll import Choice, Enroller, Enrolling, OpenSequence, Told
from tidings.kernel.templates import know_stored_templates
from tidings.resources import why
from tidings.resources.by_shard import read_in_their_shards
from tidings.resources.enrollment_status import shown_of
from tidings.resources.funnel import show_funnel
from tidings.resources.names import name_contacts
from tidings.resources.pages import ListAll, newest, newest_in_all_shards
from tidings.resources.sequences import Sequences
from tidings.resources.step_logs import StepLogs, know_graphs
from tidings.storage import enrollments
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.enroll import stop_enrollments
from tidings.storage.enrollments import StepItem, StoredEnrollment
from tidings.views.enrollments import (
    EnrolledContact,
    EnrolledCounts,
    Enrollment,
    EnrollmentStatus,
    SkippedCounts,
    Why,
)
from tidings.views.pages import Page
from tidings.views.sequences import Funnel, SequenceStatus
from tidings.views.sequences import Sequence as ShownSequence

STOPS: Mapping[EnrollmentStatus, Stop | None] = {
    EnrollmentStatus.ACTIVE: None,
    EnrollmentStatus.PAUSED: Stop.PAUSE,
    EnrollmentStatus.CANCELLED: Stop.CANCEL,
}
"""The action that leads to each status; nobody can ask for `completed`."""
EVENTS: Mapping[Stop | None, str] = {None: "resumed", Stop.PAUSE: "paused", Stop.CANCEL: "cancelled"}
Items = list[StepItem]
Shown = list[Enrollment]


@dataclass(frozen=True, slots=True)
class EnrollmentFilter:
    """Which enrollments of a sequence; every condition that is given must hold, and `all` stands for no condition."""

    all: bool = False
    status: EnrollmentStatus | None = None
    step_id: str | None = None
    contact_ids: Sequence[ContactReference] | None = None
    company: str | None = None
    tag: str | None = None
    contacts: Mapping[str, object] | None = None
    """A filter on the contacts, as audiences have it."""

    @property
    def of_contacts(self) -> AudienceFilter:
        """What must hold for the contacts."""
        leaves = [Where(name, value) for name in ("company", "tag") if (value := getattr(self, name)) is not None]
        return both(*leaves, read_filter(self.contacts, "where.contacts")[0] if self.contacts else EVERYONE)


@for_caller
class Enrollments:
    """The enrollments of every workspace; an enrollment of another workspace is not found."""

    def __init__(self, kernel: Kernel, sequences: Sequences) -> None:
        self._kernel = kernel
        self._sequences = sequences
        self.logs = StepLogs(kernel, sequences)

    async def funnel(self, workspace: Workspace, sequence_id: UUID, *, since: datetime | None = None) -> Funnel:
        """Return how many wait before each step of a sequence, what became of its messages, and who ended there."""
        await self._sequences.read(workspace, sequence_id)
        return await show_funnel(self._kernel, workspace, sequence_id, since)

    async def enroll(
        self, caller: Caller, sequence_id: UUID, contact_id: ContactReference, *, triggered_by: str = "api"
    ) -> EnrolledContact:
        """Enroll one contact, again if its enrollment was cancelled.

        A contact stays as it is who is in the sequence now, or has been through it and may not enter it again.
        """
        sequence = await self._open(caller.workspace, sequence_id)
        contact = (await find_contacts(self._kernel, caller.workspace, [contact_id])).get(contact_id)
        if contact is None:
            raise EnrollmentInvalid([no_contact("contactId", contact_id)])
        shard, now = self._kernel.shard_of(contact), await self._kernel.clock.now()
        people = await enroll.find_people(self._kernel, shard, caller.workspace, [contact])
        missing = await find_unrouted(self._kernel, caller.workspace, sequence.graph.channels)
        enroller = Enroller(self._kernel, sequence, triggered_by, now, include_cancelled=True)
        done = await enroller.enroll(shard, people, dry_run=bool(missing))
        if missing and done.new:  # a contact who is enrolled already is shown, as always
            raise ChannelNotReady(missing)
        if contact not in (entered := {**done.new, **done.live, **done.ended}):
            raise EnrollmentInvalid([no_contact("contactId", contact_id)])  # deleted since it was found
        id = entered[contact]
        if done.new:
            audit_entry = AuditEntry(
                "enrollment", id, "enrolled", {"sequence": str(sequence_id), "contact": str(contact)}
            )
            await self._audit(caller, audit_entry)
            self._kernel.notifier.tell(shard, Lane.SEQUENCES)
        shown = await self.get(caller.workspace, id)
        return EnrolledContact(**fields_of(shown), duplicate=not done.new)

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
        """Enroll a whole audience, or only count it; a repeated call enrolls only contacts who are missing.

        `include_cancelled` enrolls again those whose enrollment in the sequence was cancelled. A named contact that
        does not exist is counted as not found, unless the audience has nobody else or `refuse_unknown` is set.
        """
        named = await name_audience(self._kernel, caller.workspace, given, "")
        audience, problems = read_audience(named.known, "", segments=False)
        # Contacts that exist are enrolled without the unknown ones; if only unknown ones were named, nobody is left.
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
            await self._audit(caller, AuditEntry("sequence", sequence_id, "batch_enrolled", detail))
        return done

    async def get(self, workspace: Workspace, id: UUID) -> Enrollment:
        """Return one enrollment, or raise NotFound."""
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
    ) -> Page[Enrollment]:
        """Return the enrollments in a sequence, newest first."""
        await self._sequences.read(workspace, sequence_id)
        find = partial(
            enrollments.list_enrollments,
            workflow_id=sequence_id,
            statuses=status and states_of_enrollment(status),
            cursors=_cursors(step_id),
        )
        span = newest_first(cursor, created)
        page = await newest_in_all_shards(self._kernel, workspace, find, span=span, limit=limit)
        return Page(await self._shown(workspace, page.items), page.next_cursor)

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
    ) -> Page[Enrollment]:
        """Return a contact's enrollments in all sequences, newest first."""
        id = await find_contact(self._kernel, workspace, contact_id)
        find = self._of_contact(workspace, id, sequence_id, status)
        page = await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)
        return Page(await self._shown(workspace, page.items), page.next_cursor)

    async def set_status(self, caller: Caller, id: UUID, status: EnrollmentStatus) -> Enrollment:
        """Pause, resume or cancel an enrollment; one that has ended stays so."""
        stop = _stop_for(status)
        before = await self.get(caller.workspace, id)
        if before.status.has_ended and before.status is not status:
            raise Conflict(f"enrollment {id} has ended: it is {before.status}; enroll the contact anew")
        shard, now = self._kernel.shard_of(id), await self._kernel.clock.now()
        audit_entry = AuditEntry("enrollment", id, EVENTS[stop], {}, self._kernel.new_id(bucket_of_id(id), now))

        async def write(tx: Tx) -> None:
            if await stop_enrollments(tx, shard=shard, ids=[id], stop=stop, now=now):
                await write_audit(self._kernel, tx, caller, [audit_entry], now)

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
        """Pause, resume or cancel every live enrollment that matches; return how many that changed."""
        stop = _stop_for(status)
        _check_filter(where)
        await self._sequences.read(caller.workspace, sequence_id)
        choice = Choice(
            await self._chosen_contacts(caller.workspace, where),
            None if where.status is None else where.status is EnrollmentStatus.PAUSED,
            _cursors(where.step_id),
            where.of_contacts,
        )
        changed = await enroll.stop_chosen(self._kernel, sequence_id, choice, stop)
        detail = {"where": _given(where), "count": changed}
        await self._audit(caller, AuditEntry("sequence", sequence_id, f"enrollments_{EVENTS[stop]}", detail))
        return changed

    async def why(self, workspace: Workspace, sequence_id: UUID, contact: ContactReference) -> Why:
        """Explain whether a contact is in a sequence, and for each step what happened, what will, or why not.

        Of several enrollments in the sequence, the last one is explained.
        """
        sequence = await self._sequences.get(workspace, sequence_id, in_flight=False)
        id = await find_contact(self._kernel, workspace, contact)
        told = await self._why(workspace, sequence, id)
        names = await name_contacts(self._kernel, workspace, [id])
        return replace(told, contact=names.get(id), sequence_name=sequence.name)

    async def _why(self, workspace: Workspace, sequence: ShownSequence, contact_id: UUID) -> Why:
        sequence_id = sequence.id
        shard = self._kernel.shard_of(contact_id)
        of_contact = self._of_contact(workspace, contact_id, sequence_id, None)
        find = partial(of_contact, span=EVERYTHING, limit=LARGEST_LIMIT)
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
        await know_stored_templates(self._kernel, workspace, templates_in(graph))
        facts = why.WhyFacts(graph, person, shown, items)
        return Why(
            contact_id=contact_id,
            sequence_id=sequence_id,
            enrolled=shown is not None and not shown.status.has_ended,
            reason=why.reason_of(facts),
            enrollment=shown,
            steps=list(why.fates(facts)),
        )

    async def _open(self, workspace: Workspace, sequence_id: UUID) -> OpenSequence:
        """Return the version that contacts are enrolled into, or raise Conflict when the sequence takes nobody."""
        found = await self._sequences.published(workspace, sequence_id)
        if found.status is not SequenceStatus.ACTIVE:
            raise Conflict(f"sequence {found.name!r} is {found.status}, so nobody can be enrolled; resume it first")
        return OpenSequence(workspace, found.workflow_id, found.version_id, found.graph, found.allow_reentry)

    async def _find(self, workspace: Workspace, id: UUID) -> StoredEnrollment:
        find = partial(enrollments.show_enrollments, shard=self._kernel.shard_of(id), workspace=workspace, ids=[id])
        found = await self._kernel.db.persist(find, alone=True)
        if not found:
            raise NotFound(f"there is no enrollment {id}")
        return found[0]

    def _of_contact(
        self, workspace: Workspace, contact_id: UUID, sequence_id: UUID | None, status: EnrollmentStatus | None
    ) -> ListAll[StoredEnrollment]:
        """Read a contact's enrollments, which are all in its shard."""
        return partial(
            enrollments.list_enrollments_of_contact,
            shard=self._kernel.shard_of(contact_id),
            workspace=workspace,
            contact_id=contact_id,
            workflow_id=sequence_id,
            statuses=status and states_of_enrollment(status),
        )

    async def _shown(self, workspace: Workspace, found: Sequence[StoredEnrollment]) -> Shown:
        """Return enrollments as a person sees them; the graphs of their versions tell which step is which."""
        await know_graphs(self._kernel, [one.version_id for one in found])
        contacts = await name_contacts(self._kernel, workspace, [one.contact_id for one in found])
        tallies = await read_in_their_shards(self._kernel, [one.id for one in found], enrollments.tally_messages)
        return [
            shown_of(one, contacts.get(one.contact_id), self._kernel.graphs[one.version_id], tallies.get(one.id, ()))
            for one in found
        ]

    async def _chosen_contacts(self, workspace: Workspace, where: EnrollmentFilter) -> Sequence[UUID] | None:
        if where.contact_ids is None:
            return None
        found = await find_contacts(self._kernel, workspace, where.contact_ids, deleted=True)
        unknown = [(place, one) for place, one in enumerate(where.contact_ids) if one not in found]
        if unknown:
            raise EnrollmentInvalid([no_contact(f"where.contactIds[{place}]", one) for place, one in unknown])
        return [found[one] for one in where.contact_ids]

    async def _audit(self, caller: Caller, audit_entry: AuditEntry) -> None:
        now = await self._kernel.clock.now()
        lasting = changed(audit_entry, line_id=self._kernel.new_id(bucket_of_id(audit_entry.id), now))
        await self._kernel.db.persist(lambda tx: write_audit(self._kernel, tx, caller, [lasting], now), alone=True)


def show_counts(done: Enrolling, *, dry_run: bool) -> EnrolledCounts:
    """Return the result of enrolling."""
    return EnrolledCounts(
        enrolled_count=done.enrolled,
        reenrolled_count=done.reenrolled,
        skipped_count=done.skipped,
        skipped=SkippedCounts(
            already_enrolled=done.already_enrolled,
            completed_before=done.completed_before,
            cancelled_before=done.cancelled_before,
            not_found=done.not_found,
        ),
        dry_run=dry_run,
        missing=done.missing,
    )


def _stop_for(status: EnrollmentStatus) -> Stop | None:
    if status not in STOPS:
        raise EnrollmentInvalid([Problem("status", f"is {status}; use {', '.join(STOPS)}")])
    return STOPS[status]


def _cursors(step_id: str | None) -> list[str] | None:
    """Return the nodes at which an enrollment is when this step comes next."""
    return None if step_id is None else [f"{WAIT}{step_id}", step_id]


def _check_filter(where: EnrollmentFilter) -> None:
    given = _given(where)
    if not given:
        names = "status, stepId, contactIds, company, tag, contacts"
        raise EnrollmentInvalid([Problem("where", f"names nobody: give one of {names}; for everyone {{all: true}}")])
    if where.all and len(given) > 1:
        raise EnrollmentInvalid([Problem("where.all", "says everyone, and the rest only some: leave one of them out")])
    if where.status is not None and where.status.has_ended:
        raise EnrollmentInvalid([Problem("where.status", f"is {where.status}: what has ended stays so")])
    problems = [] if where.contacts is None else read_filter(where.contacts, "where.contacts")[1]
    if problems:
        raise EnrollmentInvalid(problems)


def _given(where: EnrollmentFilter) -> dict[str, object]:
    return {name: value for name, value in asdict(where).items() if value not in (None, False)}
