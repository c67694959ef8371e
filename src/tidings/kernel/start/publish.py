"""Publish the draft of a workflow: freeze it as a version, unless somebody else has published one meanwhile.

Reached from resources/drafts.py. The draft goes in the transaction that writes the version, so a repeat finds either
both or neither.
"""

from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, DraftOutdated, NotFound
from tidings.domain.workflows.definition import parse_own_workflow
from tidings.kernel.kernel import Kernel
from tidings.kernel.start.define import WORKFLOW, Defined, WorkflowDraft, draft_of, write_change
from tidings.storage import define, drafts
from tidings.storage.database import Tx
from tidings.storage.define import LockedWorkflow, Version
from tidings.storage.drafts import StoredDraft


async def publish_draft(kernel: Kernel, caller: Caller, drafted: StoredDraft) -> Defined:
    """Freeze a draft as the next version and remove it; raise DraftOutdated if its base is not the newest any more."""
    draft = await draft_of(kernel, caller, str(drafted.id), drafted.definition, parse_own_workflow)

    async def write(tx: Tx) -> Defined:
        locked = await define.lock_workflow(tx, workspace=caller.workspace, kind=WORKFLOW, id=drafted.id)
        if locked is None:
            raise NotFound(f"there is no workflow {drafted.id}")
        latest = await define.latest_version(tx, workflow_id=drafted.id)
        if latest and latest.id == draft.version_id:
            return Defined(drafted.id, latest, "updated" if latest.number > 1 else "created")  # our own lost answer
        _require_base(locked, drafted, latest)
        if not await drafts.remove_draft(tx, workspace=caller.workspace, id=drafted.id, revision=drafted.revision):
            return _found_published(drafted.id, draft, latest)
        return await write_change(kernel, tx, caller, locked, draft, None, is_new=latest is None)

    return await kernel.db.persist(write)


def _require_base(locked: LockedWorkflow, drafted: StoredDraft, latest: Version | None) -> None:
    newest = latest.number if latest else 0
    if newest != drafted.base:
        raise DraftOutdated(
            f"version {newest} of workflow {locked.name!r} was published after this draft was begun from version "
            f"{drafted.base}; take over what it changed, and save the draft with base {newest}",
            version=newest,
            published=latest.definition if latest else {},
            draft=drafted.definition,
        )


def _found_published(id: UUID, draft: WorkflowDraft, latest: Version | None) -> Defined:
    """Return what was published already, the same, by a commit whose answer was lost."""
    if latest and latest.definition == draft.definition:
        return Defined(id, latest, "unchanged")
    raise Conflict("the draft was saved or removed at this moment; look at it and publish it again")
