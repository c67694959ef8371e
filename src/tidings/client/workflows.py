"""`client.workflows`: the workflows that can be triggered."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tidings.client.errors import Conflict
from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.node_types import NodeTypes
from tidings.views.pages import Everything
from tidings.views.previews import Preview
from tidings.views.problems import ProblemPlace
from tidings.views.workflows import Validated, Workflow, WorkflowVersion

PATH = "/v1/workflows"
Definition = Mapping[str, Any]


class Applied(Struct, frozen=True, kw_only=True):
    """A workflow that now is as asked for, and what had to be done."""

    workflow: Workflow
    change: Literal["created", "updated", "unchanged"]


class Workflows:
    """Creates, changes and looks up workflows."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self, name: str, definition: Definition, *, description: str | None = None, active: bool = True
    ) -> Workflow:
        """Create a workflow and return it; raise Conflict if the name is taken."""
        body = {"name": name, "description": description, "active": active, "definition": definition}
        return await self._transport.ask(ApiRequest("POST", PATH, body, repeatable=False), Workflow)

    async def preview(
        self,
        id: UUID | str,
        data: Mapping[str, Any] | None = None,
        *,
        part: str | None = None,
        contact_id: UUID | str | None = None,
    ) -> Sequence[Preview]:
        """Return what its messages would say, or one of them: a node by its id."""
        given = {"data": data, "part": part, "contactId": str(contact_id) if contact_id else None}
        body = {name: value for name, value in given.items() if value is not None}
        found = await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "preview"), body), Everything[Preview])
        return found.items

    async def get(self, id: UUID | str) -> Workflow:
        """Return one workflow."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), Workflow)

    async def find(self, name: str) -> Workflow | None:
        """Return the workflow of this name, or None."""
        async for workflow in self.list(name=name):
            if workflow.name == name:
                return workflow
        return None

    def list(
        self,
        *,
        name: str | None = None,
        active: bool | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Workflow]:
        """Yield every workflow; each page is fetched as the iterator needs it."""
        return pages(
            self._transport,
            PATH,
            {"name": name, "active": active, "limit": page_size},
            Workflow,
            created_after,
            created_before,
        )

    async def update(
        self, id: UUID | str, definition: Definition, *, name: str | None = None, description: str | None = None
    ) -> Workflow:
        """Change a workflow's definition and return it; a definition that differs becomes a new version."""
        given = {"name": name, "description": description}
        body = {key: value for key, value in given.items() if value is not None} | {"definition": definition}
        return await self._transport.ask(ApiRequest("PUT", path_to(PATH, id), body), Workflow)

    async def apply(self, name: str, definition: Definition, *, description: str | None = None) -> Applied:
        """Create the workflow of this name, or change it to this definition; safe to repeat."""
        before = await self.find(name)
        if before is None:
            try:
                created = await self.create(name, definition, description=description)
                return Applied(workflow=created, change="created")
            except Conflict:  # another program was faster, or the answer to our own first attempt was lost
                before = await self.find(name)
                if before is None:
                    raise
        after = await self.update(before.id, definition, description=description)
        is_same = (before.version, before.description) == (after.version, after.description)
        return Applied(workflow=after, change="unchanged" if is_same else "updated")

    async def delete(self, id: UUID | str) -> None:
        """Remove a workflow; raise Conflict while it is active and has executions."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id), repeatable=False))

    async def activate(self, id: UUID | str) -> Workflow:
        """Let a workflow be triggered."""
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "activate")), Workflow)

    async def deactivate(self, id: UUID | str) -> Workflow:
        """Stop a workflow from being triggered; what was started goes on."""
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, id, "deactivate")), Workflow)

    async def versions(self, id: UUID | str) -> Sequence[WorkflowVersion]:
        """Return every version."""
        request = ApiRequest("GET", path_to(PATH, id, "versions"))
        return (await self._transport.ask(request, Everything[WorkflowVersion])).items

    async def node_types(self) -> NodeTypes:
        """Return what an editor's forms are made of: each node type, each channel's content, and Liquid's words."""
        return await self._transport.ask(ApiRequest("GET", "/v1/node-types"), NodeTypes)

    async def check(self, definition: Definition, *, node: str | None = None) -> Validated:
        """Return every problem of a definition and the names that it may use, or that are known at one node."""
        request = ApiRequest("POST", f"{PATH}/validate", {"definition": definition}, query={"node": node})
        return await self._transport.ask(request, Validated)

    async def validate(self, definition: Definition) -> Sequence[ProblemPlace]:
        """Return every problem of a definition, each with its place; nothing is stored."""
        request = ApiRequest("POST", f"{PATH}/validate", {"definition": definition})
        return (await self._transport.ask(request, Validated)).errors
