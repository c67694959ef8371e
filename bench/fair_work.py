"""What the ten tenants of the fairness measurement do: the nine something small each second, the tenth far too much."""

from collections.abc import Mapping
from uuid import uuid4

from bench.database import STORE_AT_ONCE, Fresh
from bench.function_server import HOST, FunctionServer
from tidings.domain.caller import Caller
from tidings.domain.flow.item import Channel
from tidings.engine import Deployment, Recipient, Trigger, Workspace

NINE = [Workspace(f"small{number}") for number in range(9)]
FLOOD = "flood"
"""How the labels of everything that the tenth does begin, and its tenant's name."""
SMALL_CAMPAIGN = 3
CAMPAIGN_EVERY_SECONDS = 3

OPEN_LOOPBACK = """
insert into workspaces (tenant_id, workspace_id, private_addresses, updated_at) values ($1, $2, $3, now())
on conflict (tenant_id, workspace_id) do update set private_addresses = excluded.private_addresses
"""
LOOPS = "{% for a in (1..9999) %}{% for b in nobody %}{% endfor %}{% endfor %}" * 100
"""A template that takes more CPU time than one may."""
LIST = "{% for name in names %}{{ name | upcase }}{% unless forloop.last %}, {% endunless %}{% endfor %}"


def _message(body: str) -> Mapping[str, object]:
    node = {"id": "hello", "type": "email", "to": "{{ label }}@example.com", "subject": "Hello", "body": body}
    return {"entryNodeId": "hello", "nodes": [node], "edges": []}


def _call(function: str) -> Mapping[str, object]:
    payload = {"label": "{{ label }}"}
    return {"steps": [{"name": "call", "function": function, "action": "run", "payload_template": payload}]}


WORKFLOWS = {
    "message": _message("Good to see you, {{ label }}."),
    "liquid": _message(f"Good to see you, {LIST}."),
    "loops": _message(LOOPS),
    "quick": _call("quick"),
    "hang": _call("hang"),
}


def tenth(spread: int) -> list[Workspace]:
    """The workspaces that the tenth tenant has its work in."""
    return [Workspace(FLOOD, f"w{number}") for number in range(spread)]


class FairWork:
    """Starts work for the ten in one database; everything it starts has a label, under which its call is noted."""

    def __init__(self, fresh: Fresh, server: FunctionServer) -> None:
        self._fresh, self._engine, self._server = fresh, fresh.engine, server

    async def define(self, workflow: str, workspaces: list[Workspace]) -> None:
        """Have a workflow in some workspaces; `campaign` is none, and needs nothing."""
        for workspace in workspaces if workflow in WORKFLOWS else ():
            if workflow in {"quick", "hang"}:
                await self._open_loopback(workspace)
                await self._engine.functions.set(Caller(workspace, "bench"), workflow, self._server.url(workflow))
            await self._engine.define(workflow, WORKFLOWS[workflow], workspace)

    async def _open_loopback(self, workspace: Workspace) -> None:
        """Let a workspace have functions on this machine, where each has its own list of private addresses."""
        if await self._fresh.sql.fetchval("select to_regclass('workspaces')"):
            await self._fresh.sql.execute(OPEN_LOOPBACK, workspace.tenant, workspace.name, [HOST])

    async def start_one(self, workflow: str, workspace: Workspace, label: str) -> list[str]:
        """Trigger once, or deploy a small campaign; return the labels to wait for."""
        if workflow == "campaign":
            return await self._deploy(workspace, label, SMALL_CAMPAIGN)
        await self._engine.trigger(workflow, _data(label), label, workspace)
        return [label]

    async def start_flood(self, workflow: str, workspaces: list[Workspace], count: int) -> None:
        """Start the tenth's work, a part in each of its workspaces."""
        each = count // len(workspaces)
        for workspace in workspaces:
            prefix = f"{FLOOD}-{workspace.name}"
            if workflow == "campaign":
                await self._deploy(workspace, prefix, each)
            else:
                await self.start_backlog(workflow, workspace, prefix, each)

    async def start_backlog(self, workflow: str, workspace: Workspace, prefix: str, count: int) -> None:
        """Trigger so many times in one workspace, thousands at once."""
        for first in range(0, count, STORE_AT_ONCE):
            labels = [f"{prefix}-{number}" for number in range(first, min(count, first + STORE_AT_ONCE))]
            await self._engine.trigger_many(workflow, [Trigger(label, _data(label)) for label in labels], workspace)

    async def _deploy(self, workspace: Workspace, label: str, people: int) -> list[str]:
        labels = [f"{label}-{number}" for number in range(people)]
        recipients = [Recipient(f"{one}@example.com", {"name": one}) for one in labels]
        content = {"subject": "Hello", "body": "Good to see you, {{ name }}."}
        await self._engine.deploy(Deployment(uuid4(), label, Channel.EMAIL, content, recipients), workspace)
        return labels


def _data(label: str) -> dict[str, object]:
    return {"label": label, "names": ["ada", "grace", "mary"]}
