"""Check a workflow and freeze it as a version. The first step: everything later names a version for ever (rule 16).

A version keeps the templates that it renders, as they are at this moment; defining the same again takes newer ones.

Reached from engine.py and resources/workflows.py, and from resources/sequences.py, which publishes drafts. Only one
process writes a workflow at a time: the row is locked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec

from tidings.domain.caller import Caller
from tidings.domain.content.linking import with_frozen
from tidings.domain.errors import Conflict, FieldsInvalid, InputInvalid, NotFound, Problem
from tidings.domain.flow.graph import Delay, Form, Graph
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.readiness import channels_needing_routes
from tidings.domain.names import problem_of_name
from tidings.domain.sequences.form import is_wait_of_step
from tidings.domain.storable import is_storable
from tidings.domain.workflows.definition import parse_own_workflow, parse_workflow
from tidings.domain.workflows.requirements import required_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.templates import link_templates
from tidings.storage import define, workflows
from tidings.storage.database import Tx
from tidings.storage.define import LockedWorkflow, Version

LONGEST_DESCRIPTION = 10_000
WORKFLOW, SEQUENCE = "workflow", "sequence"
"""The kinds of a workflow; each has names of its own."""

Json = Mapping[str, object]
Change = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class Defined:
    """A workflow as it is now, and what a definition has changed about it."""

    workflow_id: UUID
    version: Version
    change: Change


@dataclass(frozen=True, slots=True)
class WorkflowDraft:
    """A checked definition, and what its next version would be called."""

    definition: Json
    graph: Graph
    version_id: UUID
    now: datetime


async def define_workflow(
    kernel: Kernel,
    caller: Caller,
    name: str,
    definition: Json,
    *,
    description: str | None = None,
    active: bool = True,
    must_be_new: bool = False,
) -> Defined:
    """Make the workflow of this name say this: a new version, unless the newest one says the same already."""
    check_name(name)
    check_description(description)
    draft = await draft_of(kernel, caller, name, definition, parse_own_workflow)
    new_id = kernel.new_id(caller.workspace.bucket_of(name), draft.now)  # made once: a repeat finds its own by it

    async def write(tx: Tx) -> Defined:
        await define.insert_workflow(
            tx,
            id=new_id,
            workspace=caller.workspace,
            kind=WORKFLOW,
            name=name,
            description=description,
            active=active,
            created_by=caller.actor,
            now=draft.now,
        )
        locked = await define.lock_workflow(tx, workspace=caller.workspace, kind=WORKFLOW, name=name)
        if locked is None:
            raise AssertionError("the workflow was inserted or there in this very transaction")
        if must_be_new and locked.id != new_id:
            raise Conflict(f"there is a workflow {name!r} already; change that one, or choose another name")
        return await write_change(kernel, tx, caller, locked, draft, description, is_new=locked.id == new_id)

    return await kernel.db.persist(write)


async def redefine_workflow(
    kernel: Kernel, caller: Caller, id: UUID, definition: Json, *, name: str | None, description: str | None
) -> Defined:
    """Make the workflow with this id say this, under another name if one is given."""
    if name is not None:
        check_name(name)
    check_description(description)
    draft = await draft_of(kernel, caller, str(id), definition, parse_own_workflow)

    async def write(tx: Tx) -> Defined:
        locked = await define.lock_workflow(tx, workspace=caller.workspace, kind=WORKFLOW, id=id)
        if locked is None:
            raise NotFound(f"there is no workflow {id}")
        return await write_change(kernel, tx, caller, locked, draft, description, name=name)

    return await kernel.db.persist(write)


async def draft_of(
    kernel: Kernel, caller: Caller, unique: str, definition: Json, parse: Callable[[object], Graph] = parse_workflow
) -> WorkflowDraft:
    """Check a definition, or raise DefinitionInvalid."""
    linked = await link_templates(kernel, caller.workspace, definition)
    graph = linked.read(parse)
    try:
        stored = with_frozen(definition, linked.frozen)
        plain = msgspec.json.decode(msgspec.json.encode(stored), type=dict[str, object])
    except (TypeError, ValueError, RecursionError) as error:
        raise InputInvalid(f"the definition is not JSON: {error}") from error
    now = await kernel.clock.now()
    return WorkflowDraft(plain, graph, kernel.new_id(caller.workspace.bucket_of(unique), now), now)


async def write_change(
    kernel: Kernel,
    tx: Tx,
    caller: Caller,
    locked: LockedWorkflow,
    draft: WorkflowDraft,
    description: str | None,
    *,
    name: str | None = None,
    is_new: bool = False,
) -> Defined:
    """Freeze a draft of a workflow that is locked, under another name or description if they are given."""
    version, is_fresh = await freeze(tx, caller.workspace, locked.id, draft)
    renamed = name is not None and name != locked.name
    if name is not None and renamed:
        await workflows.rename_workflow(tx, id=locked.id, name=name, now=draft.now)
    described = description is not None and bool(
        await workflows.describe_workflow(tx, id=locked.id, description=description, now=draft.now)
    )
    if is_fresh or renamed or described:
        await define.touch_workflow(tx, workflow_id=locked.id, now=draft.now)
        detail = {"name": name or locked.name, "version": version.number}
        audit_entry = AuditEntry("workflow", locked.id, "created" if is_new else "updated", detail)
        await write_audit(kernel, tx, caller, [audit_entry], draft.now)
    if is_new:
        return Defined(locked.id, version, "created")
    # An existing version with our own id is ours, written by a commit whose answer was lost.
    changed = version.id == draft.version_id or renamed or described
    return Defined(locked.id, version, "updated" if changed else "unchanged")


async def freeze(tx: Tx, workspace: Workspace, workflow_id: UUID, draft: WorkflowDraft) -> tuple[Version, bool]:
    """Make the newest version say what the draft says; return it, and whether it is new."""
    latest = await define.latest_version(tx, workflow_id=workflow_id)
    if latest and latest.definition == draft.definition:
        return latest, False
    version = Version(draft.version_id, latest.number + 1 if latest else 1, draft.definition)
    await define.insert_version(
        tx,
        id=version.id,
        workspace=workspace,
        workflow_id=workflow_id,
        number=version.number,
        definition=draft.definition,
        form=draft.graph.form,
        required=sorted(required_of(draft.graph)),
        entry=draft.graph.entry,
        entry_wait=_entry_wait(draft.graph),
        total_steps=sum(not is_wait_of_step(node) for node in draft.graph.nodes),
        lane=Lane.SEQUENCES if draft.graph.form is Form.SEQUENCE else Lane.TRANSACTIONAL,
        channels=channels_needing_routes(draft.graph.channels),
        now=draft.now,
    )
    return version, True


def _entry_wait(graph: Graph) -> timedelta | None:
    """How long an execution waits before its first node; a time to wait for is evaluated when the node is due."""
    entry = graph.nodes[graph.entry]
    return entry.wait or None if isinstance(entry, Delay) else None


def check_name(name: str) -> None:
    """Refuse a string that cannot be the name of a workflow or a sequence."""
    if wrong := problem_of_name(name):
        raise FieldsInvalid([Problem("name", wrong)])


def check_description(description: str | None) -> None:
    """Refuse a string that cannot be a workflow's description."""
    if description is not None and (len(description) > LONGEST_DESCRIPTION or not is_storable(description)):
        raise InputInvalid(
            f"the description is too long: use at most {LONGEST_DESCRIPTION} characters, none of them NUL"
        )
