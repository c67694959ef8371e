"""Workflows: create, change, activate, deactivate and delete them. Every change is in the audit log.

kernel/start/define.py checks and freezes a definition; an execution keeps its version for ever, whatever happens here.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from msgspec.structs import asdict, replace

from tidings.domain.caller import Caller
from tidings.domain.content.linking import frozen_in, without_frozen
from tidings.domain.errors import Conflict, DefinitionInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.flow.item import Channel
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, newest_first
from tidings.domain.workflows.definition import parse_own_workflow
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.readiness import find_unrouted
from tidings.kernel.start.define import Change, define_workflow, redefine_workflow
from tidings.kernel.templates import link_templates
from tidings.resources.pages import newest
from tidings.resources.versions_in_flight import count_versions
from tidings.storage import resolve, workflows
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.workflows import StoredWorkflow
from tidings.views.pages import Page
from tidings.views.workflows import Workflow, WorkflowVersion

__all__ = ["Change", "Workflows"]

Json = Mapping[str, object]
Versions = list[WorkflowVersion]
Shown = list[Workflow]
Problems = list[Problem]


@for_caller
class Workflows:
    """The workflows of every workspace; a workflow of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(
        self, caller: Caller, name: str, definition: Json, *, description: str | None = None, active: bool = True
    ) -> Workflow:
        """Create a workflow with its first version; raise Conflict if the name is taken."""
        defined = await define_workflow(
            self._kernel, caller, name, definition, description=description, active=active, must_be_new=True
        )
        return await self.get(caller.workspace, defined.workflow_id)

    async def update(
        self, caller: Caller, id: UUID, definition: Json, *, name: str | None = None, description: str | None = None
    ) -> Workflow:
        """Change a workflow; a definition that says something new becomes a new version."""
        await redefine_workflow(self._kernel, caller, id, definition, name=name, description=description)
        return await self.get(caller.workspace, id)

    async def apply(
        self, caller: Caller, name: str, definition: Json, *, description: str | None = None
    ) -> tuple[Workflow, Change]:
        """Create the workflow of this name, or change it to this definition."""
        defined = await define_workflow(self._kernel, caller, name, definition, description=description)
        return await self.get(caller.workspace, defined.workflow_id), defined.change

    async def get(self, workspace: Workspace, id: UUID) -> Workflow:
        """Return one workflow by id, or raise NotFound."""
        found = await self._show(workspace, id=id)
        if found is None:
            raise NotFound(f"there is no workflow {id}")
        return found

    async def find(self, workspace: Workspace, name: str) -> Workflow:
        """Return one workflow by name, or raise NotFound."""
        found = await self._show(workspace, name=name)
        if found is None:
            raise NotFound(f"there is no workflow {name!r} in workspace {workspace.name!r}; define it first")
        return found

    async def list(
        self,
        workspace: Workspace,
        *,
        name: str | None = None,
        active: bool | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Workflow]:
        """Return workflows, newest first."""
        find = partial(workflows.list_workflows, workspace=workspace, name=name, active=active)
        page = await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)
        return Page(await self._shown(workspace, page.items), page.next_cursor)

    async def versions(self, workspace: Workspace, id: UUID) -> Versions:
        """Return the versions of a workflow, newest first, and how many executions go by each."""
        await self.get(workspace, id)
        list_all = partial(workflows.list_versions, workspace=workspace, workflow_id=id)
        found = await self._kernel.db.persist(list_all, alone=True)
        live = {one.version: one.count for one in await count_versions(self._kernel, workspace, id)}
        return [replace(one, **as_written(one.definition), in_flight=live.get(one.number, 0)) for one in found]

    async def activate(self, caller: Caller, id: UUID) -> Workflow:
        """Let a workflow be triggered."""
        return await self._switch(caller, id, active=True)

    async def deactivate(self, caller: Caller, id: UUID) -> Workflow:
        """Let a workflow start nothing new; what runs already goes on."""
        return await self._switch(caller, id, active=False)

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Hide a workflow; raise Conflict if it is active and was triggered.

        A trigger at this very moment comes either before or after: an execution that gets in still has its version.
        """
        shown = await self.get(caller.workspace, id)
        has_executions = await self._has_executions(caller.workspace, id)  # even if it is not active at this moment
        now = await self._kernel.clock.now()
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return
            if not await workflows.delete_workflow(
                tx, workspace=caller.workspace, id=id, has_executions=has_executions, now=now
            ):
                raise Conflict(f"workflow {shown.name!r} is active and was triggered; deactivate it first")
            audit_entry = AuditEntry("workflow", id, "deleted", {"name": shown.name}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def check(self, workspace: Workspace, definition: object) -> Problems:
        """Return every problem of a definition, however large; nothing is stored."""
        if not isinstance(definition, Mapping):
            return self.validate(definition)
        try:
            linked = await link_templates(self._kernel, workspace, definition)
            linked.read(parse_own_workflow)
        except DefinitionInvalid as error:
            return [*error.problems]
        return []

    @staticmethod
    def validate(definition: object) -> Problems:
        """Return every problem of a definition, found in this very process, which may not know what it renders."""
        try:
            parse_own_workflow(definition)
        except DefinitionInvalid as error:
            return [*error.problems]
        return []

    async def _show(self, workspace: Workspace, id: UUID | None = None, name: str | None = None) -> Workflow | None:
        find = partial(workflows.show_workflow, workspace=workspace, id=id, name=name)
        found = await self._kernel.db.persist(find, alone=True)
        return (await self._shown(workspace, [found]))[0] if found else None

    async def _shown(self, workspace: Workspace, found: Sequence[StoredWorkflow]) -> Shown:
        """Return workflows, each with those of its channels that have no provider; looks at the routes once."""
        missing = await find_unrouted(self._kernel, workspace, {channel for one in found for channel in one.channels})
        return [_shown(one, [channel for channel in one.channels if channel in missing]) for one in found]

    async def _switch(self, caller: Caller, id: UUID, *, active: bool) -> Workflow:
        now = await self._kernel.clock.now()

        async def write(tx: Tx) -> None:
            if await workflows.activate_workflow(tx, workspace=caller.workspace, id=id, active=active, now=now):
                event = "activated" if active else "deactivated"
                await write_audit(self._kernel, tx, caller, [AuditEntry("workflow", id, event, {})], now)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def _has_executions(self, workspace: Workspace, id: UUID) -> bool:
        for shard in self._kernel.every_shard():
            look = partial(workflows.has_executions, shard=shard, workspace=workspace, workflow_id=id)
            if await self._kernel.db.persist(look, alone=True):
                return True
        return False


def _shown(found: StoredWorkflow, not_ready: Sequence[Channel]) -> Workflow:
    fields = asdict(found)
    del fields["channels"]
    return Workflow(**fields | as_written(found.definition) | {"not_ready": not_ready})


def as_written(definition: Json) -> dict[str, object]:
    """Return a stored definition as it was written, and the versions of the templates that it keeps."""
    versions = {name: one.version for name, one in frozen_in(definition).items()}
    return {"definition": without_frozen(definition), "templates": versions}
