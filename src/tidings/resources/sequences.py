"""Sequences: write a draft of steps, publish, pause, resume. Every change is in the audit log.

A sequence is a workflow of its own kind. Its draft is in separate tables; publishing compiles it and freezes it as a
version through kernel/start/define.py. kernel/manage/change_version.py moves enrollments to another version.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec.structs import asdict, replace

from tidings.domain.caller import Caller
from tidings.domain.content.linking import frozen_in, link, without_frozen
from tidings.domain.errors import Conflict, DefinitionInvalid, InputInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first, page_of
from tidings.domain.sequences.form import (
    MAX_STEPS,
    InFlightChoice,
    SequenceStep,
    definition_of,
    is_placed,
    placed,
    read_settings,
    read_step,
    read_steps,
    settings_in,
)
from tidings.kernel.graphs import graph_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.manage.change_version import move_enrollments
from tidings.kernel.readiness import find_unrouted, require_ready
from tidings.kernel.start.define import SEQUENCE, WorkflowDraft, check_name, draft_of, freeze
from tidings.kernel.start.enroll import follow_pause
from tidings.kernel.templates import link_templates
from tidings.resources.in_flight import count_in_flight, has_live_enrollments, show_in_flight
from tidings.resources.sequence_check import problems_of_sequence
from tidings.resources.sequence_shown import (
    PublishedSequence,
    WrittenSequence,
    published_of,
    show_sequence,
    show_step,
    show_version,
    status_of,
    written_of,
)
from tidings.storage import define, resolve, sequences, workflows
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.define import Version
from tidings.storage.sequences import FoundSequence, LockedSequence
from tidings.views.pages import Page
from tidings.views.sequences import MoveCounts, PublishedVersion, SequenceSettings, SequenceStatus, Step
from tidings.views.sequences import Sequence as ShownSequence

Json = Mapping[str, object]
Problems = list[Problem]
Steps = list[SequenceStep]
Found = list[FoundSequence]
Written = list[WrittenSequence]
Shown = list[ShownSequence]
Versions = list[PublishedVersion]
Progress = Callable[[MoveCounts], None]
WriteStep = Callable[[Mapping[str, SequenceStep]], SequenceStep]
"""Makes a step of a draft, given the draft's steps by their ids."""


@dataclass(frozen=True, slots=True)
class _Update:
    """What one call changes of a sequence."""

    name: str | None
    settings: SequenceSettings
    steps: Sequence[SequenceStep]
    publish: WorkflowDraft | None
    pause: bool | None
    entries: Sequence[UUID]
    """The id of the audit entry, made once: a repeat after an unknown commit does not write it twice."""
    now: datetime


@for_caller
class Sequences:
    """The sequences of every workspace; a sequence of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(
        self, caller: Caller, name: str, settings: Json | None = None, steps: Sequence[Json] = ()
    ) -> ShownSequence:
        """Create a draft, with steps if some are given; raise Conflict if the name is taken."""
        check_name(name)
        linked = await link_templates(self._kernel, caller.workspace, {"steps": steps})
        problems = self.validate(settings or {}, [link(step, linked.frozen) for step in steps])
        if problems := [*linked.problems, *problems]:
            raise DefinitionInvalid(problems)
        read, now = read_settings(settings or {}), await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(name), now)
        entry = self._kernel.new_id(bucket_of_id(id), now)
        drafted = self._drafted(id, steps, now)

        async def write(tx: Tx) -> None:
            await define.insert_workflow(
                tx,
                id=id,
                workspace=caller.workspace,
                kind=SEQUENCE,
                name=name,
                description=None,
                active=True,
                created_by=caller.actor,
                now=now,
            )
            locked = await define.lock_workflow(tx, workspace=caller.workspace, kind=SEQUENCE, name=name)
            if locked is None or locked.id != id:
                raise Conflict(f"there is a sequence {name!r} already; change that one, or choose another name")
            await sequences.insert_sequence(tx, workspace=caller.workspace, id=id, settings=read.to_json())
            for step in drafted:
                await sequences.put_step(tx, workspace=caller.workspace, sequence_id=id, step=step, now=now)
            audit_entry = AuditEntry("sequence", id, "created", {"name": name, "steps": len(drafted)}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def update(
        self,
        caller: Caller,
        id: UUID,
        *,
        name: str | None = None,
        settings: Json | None = None,
        status: SequenceStatus | None = None,
        in_flight: InFlightChoice | None = None,
        on_progress: Progress | None = None,
    ) -> ShownSequence:
        """Rename, change the draft's settings, publish, pause or resume; all of it or nothing.

        `active` publishes a draft that was never published, and lets a paused sequence go on. A draft beside a
        published version is published when no contact is on the way, or when `in_flight` says what becomes of them.
        """
        if name is not None:
            check_name(name)
        if in_flight is not None and status is not SequenceStatus.ACTIVE:
            raise InputInvalid("inFlight is said when publishing: give status active with it")
        before = await self.read(caller.workspace, id)
        new = read_settings(settings or {}, before.settings)
        update = await self._plan_update(caller, before, name, new, status, in_flight)
        version = await self._kernel.db.persist(partial(self._write, caller=caller, before=before, update=update))
        if update.pause is not None and before.published:
            await follow_pause(self._kernel, id, paused=update.pause)
        moved = None
        if in_flight is InFlightChoice.MOVE and version is not None:
            moved = await self._move(caller, id, version, on_progress)
        return replace(await self.get(caller.workspace, id), moved=moved)

    async def get(self, workspace: Workspace, id: UUID, *, in_flight: bool = True) -> ShownSequence:
        """Return one sequence, or raise NotFound; with the contacts on their way, unless they are not wanted."""
        [shown] = await self._shown(workspace, [await self.read(workspace, id)])
        if not in_flight:
            return shown
        return replace(shown, in_flight=await show_in_flight(self._kernel, id) if shown.published else [])

    async def read(self, workspace: Workspace, id: UUID) -> WrittenSequence:
        """Return one sequence as the domain knows it, or raise NotFound."""
        found = await self._read(workspace, [id])
        if not found:
            raise NotFound(f"there is no sequence {id}")
        return found[0]

    async def find(self, workspace: Workspace, name: str) -> ShownSequence:
        """Return one sequence by name, or raise NotFound."""
        look = partial(sequences.find_sequence_named, workspace=workspace, name=name)
        id = await self._kernel.db.persist(look, alone=True)
        if id is None:
            raise NotFound(f"there is no sequence {name!r} in workspace {workspace.name!r}; create it first")
        return await self.get(workspace, id)

    async def list(
        self,
        workspace: Workspace,
        *,
        name: str | None = None,
        status: SequenceStatus | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownSequence]:
        """Return sequences, newest first, without the contacts on their way."""
        check_limit(limit)
        find = partial(
            sequences.list_sequences,
            workspace=workspace,
            name=name,
            status=status,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        page = page_of(await self._kernel.db.persist(find, alone=True), limit, lambda one: one)
        return Page(await self._shown(workspace, await self._read(workspace, page.items)), page.next_cursor)

    async def versions(self, workspace: Workspace, id: UUID) -> Versions:
        """Return everything that was ever published, newest first."""
        await self.read(workspace, id)
        list_all = partial(workflows.list_versions, workspace=workspace, workflow_id=id)
        found = await self._kernel.db.persist(list_all, alone=True)
        return [show_version(published_of(one.number, one.definition, one.created_at), id) for one in found]

    async def published(self, workspace: Workspace, id: UUID) -> PublishedSequence:
        """Return the version that contacts are enrolled into; raise Conflict for a draft, which has none."""
        found = next(iter(await self._find(workspace, [id])), None)
        if found is None:
            raise NotFound(f"there is no sequence {id}")
        if found.version_id is None or found.version is None or found.definition is None:
            raise Conflict(f"sequence {found.name!r} is a draft; publish it first")
        return PublishedSequence(
            workflow_id=found.id,
            version_id=found.version_id,
            version=found.version,
            name=found.name,
            graph=graph_of(self._kernel, found.version_id, found.definition),
            definition=found.definition,
            status=status_of(found),
            paused=found.paused,
            allow_reentry=settings_in(found.definition).allow_reentry,
        )

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Hide a sequence; raise Conflict while a contact is on the way through it."""
        name = (await self.read(caller.workspace, id)).found.name
        if await has_live_enrollments(self._kernel, id):
            raise Conflict(f"contacts are on the way through sequence {name!r}; cancel their enrollments first")
        now = await self._kernel.clock.now()
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return
            if not await sequences.delete_sequence(tx, id=id, now=now):
                raise NotFound(f"there is no sequence {id}")
            audit_entry = AuditEntry("sequence", id, "deleted", {"name": name}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def add_step(self, caller: Caller, id: UUID, given: Json) -> Step:
        """Add a new step to the draft; without `stepOrder` it comes last."""
        (await link_templates(self._kernel, caller.workspace, given)).require_found()
        now = await self._kernel.clock.now()
        step_id = self._new_step_id(id, now)  # made once: a repeat after an unknown commit writes the same step

        def added(steps: Mapping[str, SequenceStep]) -> SequenceStep:
            others = [step for step in steps.values() if step.id != step_id]
            if len(others) >= MAX_STEPS:
                raise InputInvalid(f"a sequence has at most {MAX_STEPS} steps")
            last = {"stepOrder": max((step.step_order for step in others), default=0) + 1}
            return read_step({**given, **({} if is_placed(given) else last), "id": step_id})

        return await self._write_step(caller, id, "step_added", added, now)

    async def update_step(self, caller: Caller, id: UUID, step_id: UUID, given: Json) -> Step:
        """Change the given fields of a step in the draft; null clears an optional field."""
        stored = (await self.read(caller.workspace, id)).steps
        before = next(({**one.to_json(), **given} for one in stored if one.id == str(step_id)), given)
        (await link_templates(self._kernel, caller.workspace, before)).require_found()

        def changed(steps: Mapping[str, SequenceStep]) -> SequenceStep:
            before = steps.get(str(step_id))
            if before is None:
                raise NotFound(f"there is no step {step_id} in this sequence")
            return read_step({**given, "id": before.id}, before)

        return await self._write_step(caller, id, "step_changed", changed, await self._kernel.clock.now())

    async def delete_step(self, caller: Caller, id: UUID, step_id: UUID) -> None:
        """Remove a step from the draft; published versions keep it."""
        now = await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            await self._lock(tx, caller.workspace, id)
            if await resolve.find_audit(tx, shard=self._kernel.shard_of(id), ids=[entry]):
                return
            if not await sequences.remove_step(tx, sequence_id=id, id=step_id):
                raise NotFound(f"there is no step {step_id} in this sequence")
            await define.touch_workflow(tx, workflow_id=id, now=now)
            audit_entry = AuditEntry("sequence", id, "step_deleted", {"stepId": str(step_id)}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def check(self, workspace: Workspace, settings: Json, steps: Sequence[Json]) -> Problems:
        """Return every problem that publishing these settings and steps would meet; nothing is stored."""
        return await problems_of_sequence(self._kernel, workspace, settings, steps)

    @staticmethod
    def validate(settings: Json, steps: Sequence[Json]) -> Problems:
        """Return every problem of the settings and steps of a new sequence; nothing is stored."""
        numbered = [placed(step, place) | {"id": str(place)} for place, step in enumerate(steps, start=1)]
        problems: list[Problem] = []
        for read in (partial(read_settings, settings), partial(read_steps, numbered)):
            try:
                read()
            except DefinitionInvalid as error:
                problems += error.problems
        return problems

    def _drafted(self, id: UUID, steps: Sequence[Json], now: datetime) -> Steps:
        if len(steps) > MAX_STEPS:
            raise InputInvalid(f"a sequence has at most {MAX_STEPS} steps")
        given = [placed(step, place) | {"id": self._new_step_id(id, now)} for place, step in enumerate(steps, start=1)]
        return read_steps(given)

    def _new_step_id(self, id: UUID, now: datetime) -> str:
        return str(self._kernel.new_id(bucket_of_id(id), now))

    async def _write_step(self, caller: Caller, id: UUID, event: str, written: WriteStep, now: datetime) -> Step:
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> SequenceStep:
            await self._lock(tx, caller.workspace, id)
            steps = (await sequences.list_steps(tx, ids=[id])).get(id, [])
            step = written({one.id: one for one in steps})
            await sequences.put_step(tx, workspace=caller.workspace, sequence_id=id, step=step, now=now)
            await define.touch_workflow(tx, workflow_id=id, now=now)
            audit_entry = AuditEntry("sequence", id, event, {"stepId": step.id, "stepOrder": step.step_order}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)
            return step

        return show_step(await self._kernel.db.persist(write), id)

    async def _plan_update(
        self,
        caller: Caller,
        before: WrittenSequence,
        name: str | None,
        settings: SequenceSettings,
        status: SequenceStatus | None,
        in_flight: InFlightChoice | None,
    ) -> _Update:
        """Decide what an update does, given the sequence as it is now."""
        is_new = before.published is None or not before.published.says(settings, before.steps)
        is_new = is_new or await self._has_newer_templates(caller.workspace, before)
        if status is SequenceStatus.DRAFT and before.published:
            raise Conflict("a sequence that was published does not become a draft again; pause it, or edit its steps")
        if status is SequenceStatus.PAUSED and before.published is None:
            raise Conflict("a draft sends nothing and cannot be paused; publish it first")
        draft = None
        if status is SequenceStatus.ACTIVE and is_new and await self._may_publish(before, in_flight):
            definition = definition_of(settings, before.steps, name or before.found.name)
            draft = await draft_of(self._kernel, caller, str(before.found.id), definition)
            await require_ready(self._kernel, caller.workspace, draft.graph.channels)
        now = await self._kernel.clock.now()
        entries = [self._kernel.new_id(bucket_of_id(before.found.id), now) for _ in range(4)]
        pause = None if status in {None, SequenceStatus.DRAFT} else status is SequenceStatus.PAUSED
        return _Update(name, settings, before.steps, draft, pause, entries, now)

    async def _has_newer_templates(self, workspace: Workspace, before: WrittenSequence) -> bool:
        """Return whether publishing the same again would take other versions of the templates it renders."""
        published = before.found.definition
        if published is None or not frozen_in(published):
            return False
        linked = await link_templates(self._kernel, workspace, without_frozen(published))
        return linked.frozen != frozen_in(published)

    async def _may_publish(self, before: WrittenSequence, in_flight: InFlightChoice | None) -> bool:
        """Return whether to publish a changed draft; contacts on their way need a choice of what becomes of them."""
        if before.published is None or in_flight is not None:
            return True
        if before.found.paused:
            return False  # the caller only asked it to go on
        counts = await count_in_flight(self._kernel, before.found.id)
        if waiting := sum(counts.values()):
            raise Conflict(
                f"{waiting} contacts are on the way through version {before.published.version}; say inFlight: leave to "
                "let them finish it, or move to take them to the new version"
            )
        return True

    async def _write(self, tx: Tx, *, caller: Caller, before: WrittenSequence, update: _Update) -> Version | None:
        """Write an update if the sequence is still what it was; return the version that is published then."""
        id, now = before.found.id, update.now
        locked = await self._lock(tx, caller.workspace, id)
        await self._check_unchanged(tx, locked, before, update)
        audit_entries = []
        if update.name is not None and update.name != locked.name:
            await workflows.rename_workflow(tx, id=id, name=update.name, now=now)
            audit_entries.append(
                AuditEntry("sequence", id, "renamed", {"from": locked.name, "to": update.name}, update.entries[0])
            )
        if update.settings != locked.settings:
            await sequences.change_settings(tx, id=id, settings=update.settings.to_json())
            await define.touch_workflow(tx, workflow_id=id, now=now)
            audit_entries.append(AuditEntry("sequence", id, "updated", update.settings.to_json(), update.entries[1]))
        version = await define.latest_version(tx, workflow_id=id)
        if update.publish:
            version, is_fresh = await freeze(tx, caller.workspace, id, update.publish)
            if is_fresh:
                await define.touch_workflow(tx, workflow_id=id, now=now)
                detail = {"version": version.number, "steps": len(update.steps)}
                audit_entries.append(AuditEntry("sequence", id, "published", detail, update.entries[2]))
        if update.pause is not None and await sequences.pause_sequence(tx, id=id, paused=update.pause, now=now):
            audit_entries.append(
                AuditEntry("sequence", id, "paused" if update.pause else "resumed", {}, update.entries[3])
            )
        await write_audit(self._kernel, tx, caller, audit_entries, now)
        return version

    async def _check_unchanged(self, tx: Tx, locked: LockedSequence, before: WrittenSequence, update: _Update) -> None:
        """Raise unless the draft is still what was checked: somebody may have written to it a moment ago."""
        steps = (await sequences.list_steps(tx, ids=[locked.id])).get(locked.id, [])
        # After an unknown commit our own settings may be there already.
        if steps != [*update.steps] or locked.settings not in (before.settings, update.settings):
            raise Conflict("somebody changed the draft at this very moment; look at it again, and try once more")

    async def _move(self, caller: Caller, id: UUID, version: Version, on_progress: Progress | None) -> MoveCounts:
        counts = await move_enrollments(self._kernel, id, version, on_progress)
        now = await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(id), now)
        audit_entry = AuditEntry("sequence", id, "moved", {"version": version.number, **asdict(counts)}, entry)
        await self._kernel.db.persist(lambda tx: write_audit(self._kernel, tx, caller, [audit_entry], now), alone=True)
        return counts

    async def _lock(self, tx: Tx, workspace: Workspace, id: UUID) -> LockedSequence:
        locked = await sequences.lock_sequence(tx, workspace=workspace, id=id)
        if locked is None:
            raise NotFound(f"there is no sequence {id}")
        return locked

    async def _find(self, workspace: Workspace, ids: Sequence[UUID]) -> Found:
        find = partial(sequences.find_sequences, workspace=workspace, ids=ids)
        return await self._kernel.db.persist(find, alone=True)

    async def _read(self, workspace: Workspace, ids: Sequence[UUID]) -> Written:
        found = await self._find(workspace, ids)
        steps = await self._kernel.db.persist(partial(sequences.list_steps, ids=[one.id for one in found]), alone=True)
        return [written_of(one, steps.get(one.id, [])) for one in found]

    async def _shown(self, workspace: Workspace, written: Sequence[WrittenSequence]) -> Shown:
        needed = {channel for one in written for channel in one.channels}
        unrouted = await find_unrouted(self._kernel, workspace, needed)
        return [show_sequence(one, unrouted) for one in written]
