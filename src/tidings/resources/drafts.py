"""Drafts of workflows: saved as they are, valid or not, and published when they are ready.

A new workflow may begin as a draft: it has its id and its name, and no version, so nothing lists or starts it.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec
from msgspec.structs import asdict

from tidings.domain.caller import Caller
from tidings.domain.content.linking import without_frozen
from tidings.domain.errors import Conflict, FieldsInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, newest_first
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.start.define import WORKFLOW, check_description, check_name
from tidings.kernel.start.publish import publish_draft
from tidings.resources.pages import newest
from tidings.resources.versions_in_flight import count_versions
from tidings.resources.workflows import Workflows
from tidings.storage import define, drafts
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.drafts import StoredDraft
from tidings.views.drafts import Drafted, ListedDraft, Publication
from tidings.views.pages import Page
from tidings.views.problems import ProblemPlace

__all__ = ["WorkflowDrafts"]

LARGEST_DRAFT = 500_000
"""Bytes of JSON."""
Json = Mapping[str, object]


@for_caller
class WorkflowDrafts:
    """The drafts of every workspace's workflows; one of another workspace is not found."""

    def __init__(self, kernel: Kernel, workflows: Workflows) -> None:
        self._kernel, self._workflows = kernel, workflows

    async def create(self, caller: Caller, name: str, definition: Json, *, description: str | None = None) -> Drafted:
        """Begin a workflow that has nothing but a draft; raise Conflict if the name is taken."""
        check_name(name)
        check_description(description)
        _check_size(definition)
        now = await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(name), now)

        async def write(tx: Tx) -> None:
            await define.insert_workflow(
                tx,
                id=id,
                workspace=caller.workspace,
                kind=WORKFLOW,
                name=name,
                description=description,
                active=True,
                created_by=caller.actor,
                now=now,
            )
            locked = await define.lock_workflow(tx, workspace=caller.workspace, kind=WORKFLOW, name=name)
            if locked is None or locked.id != id:
                raise Conflict(f"there is a workflow {name!r} already; change that one, or choose another name")
            if await drafts.show_draft(tx, workspace=caller.workspace, id=id) is None:
                await self._save(tx, caller, id, definition, 0, now)
                await write_audit(
                    self._kernel, tx, caller, [AuditEntry("workflow", id, "drafted", {"name": name})], now
                )

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def save(
        self, caller: Caller, id: UUID, definition: Json, *, base: int | None = None, revision: int | None = None
    ) -> Drafted:
        """Save a draft, whatever is wrong with it; raise Conflict if it is not at `revision` any more.

        A new draft is based on the newest version unless `base` names another; one that is there keeps its base.
        """
        _check_size(definition)
        now, written = await self._kernel.clock.now(), without_frozen(definition)

        async def write(tx: Tx) -> None:
            if await define.lock_workflow(tx, workspace=caller.workspace, kind=WORKFLOW, id=id) is None:
                raise NotFound(f"there is no workflow {id}")
            before = await drafts.show_draft(tx, workspace=caller.workspace, id=id)
            if before and _is_ours(before, caller, now, written) and base in (None, before.base):
                return  # saved already, by a commit whose answer was lost
            _check_revision(before, revision)
            latest = await define.latest_version(tx, workflow_id=id)
            begun = before.base if before else latest.number if latest else 0
            _check_base(base, latest.number if latest else 0)
            await self._save(tx, caller, id, definition, begun if base is None else base, now)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def get(self, workspace: Workspace, id: UUID) -> Drafted:
        """Return the draft of a workflow with its problems, or raise NotFound."""
        return await self._checked(workspace, await self._load(workspace, id))

    async def find(self, workspace: Workspace, name: str) -> Drafted:
        """Return the draft of the workflow of this name with its problems, or raise NotFound."""
        found = await self._kernel.db.persist(partial(drafts.show_draft, workspace=workspace, name=name), alone=True)
        if found is None:
            raise NotFound(f"workflow {name!r} has no draft")
        return await self._checked(workspace, found)

    async def _checked(self, workspace: Workspace, found: StoredDraft) -> Drafted:
        problems = await self._workflows.check(workspace, found.definition)
        errors = [ProblemPlace(place=one.place, message=one.message) for one in problems]
        return Drafted(**asdict(found), valid=not errors, errors=errors)

    async def list(
        self,
        workspace: Workspace,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ListedDraft]:
        """Return the drafts of a workspace, those of the newest workflows first."""
        find = partial(drafts.list_drafts, workspace=workspace)
        return await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Throw a draft away; of a workflow that was never published nothing stays."""
        found = await self._load(caller.workspace, id)
        now = await self._kernel.clock.now()

        async def write(tx: Tx) -> None:
            await define.lock_workflow(tx, workspace=caller.workspace, kind=WORKFLOW, id=id)
            if not await drafts.remove_draft(tx, workspace=caller.workspace, id=id):
                return  # done already
            await drafts.remove_unpublished(tx, workspace=caller.workspace, id=id)
            audit_entry = AuditEntry("workflow", id, "draft_deleted", {"name": found.name})
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def publish(self, caller: Caller, id: UUID, *, revision: int | None = None) -> Publication:
        """Make the draft the newest version; raise DraftOutdated if another was published since it was begun.

        `revision` is what the caller has seen: what was saved since is not published.
        """
        found = await self._load(caller.workspace, id)
        _check_revision(found, revision)
        defined = await publish_draft(self._kernel, caller, found)
        shown = await self._workflows.get(caller.workspace, id)
        return Publication(
            id=id,
            name=shown.name,
            version=defined.version.number,
            change=defined.change,
            active=shown.active,
            in_flight=await count_versions(self._kernel, caller.workspace, id),
            not_ready=shown.not_ready,
        )

    async def _load(self, workspace: Workspace, id: UUID) -> StoredDraft:
        find = partial(drafts.show_draft, workspace=workspace, id=id)
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"workflow {id} has no draft")
        return found

    async def _save(self, tx: Tx, caller: Caller, id: UUID, definition: Json, base: int, now: datetime) -> None:
        await drafts.put_draft(
            tx,
            workspace=caller.workspace,
            workflow_id=id,
            definition=without_frozen(definition),
            base=base,
            saved_by=caller.actor,
            now=now,
        )


def _is_ours(found: StoredDraft, caller: Caller, now: datetime, written: Json) -> bool:
    return (found.saved_at, found.saved_by, found.definition) == (now, caller.actor, written)


def _check_size(definition: Json) -> None:
    size = len(msgspec.json.encode(definition))
    if size > LARGEST_DRAFT:
        raise FieldsInvalid([Problem("definition", f"has {size:,} bytes; a draft has at most {LARGEST_DRAFT:,}")])


def _check_base(base: int | None, newest: int) -> None:
    if base is not None and not 0 <= base <= newest:
        raise FieldsInvalid([Problem("base", f"{base} is no version of this workflow; the newest is {newest}")])


def _check_revision(found: StoredDraft | None, revision: int | None) -> None:
    if revision is not None and revision != (found.revision if found else 0):
        by = f" by {found.saved_by}" if found else ""
        there = f"the draft is at revision {found.revision}, saved{by}" if found else "the draft is gone"
        raise Conflict(f"{there}, not at {revision}; read it, and say what of it is to stay")
