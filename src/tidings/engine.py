"""The front door: everything Tidings does, on one page.

define ─▶ start ─▶ claim ─▶ plan ─▶ reserve ─▶ (mark ─▶ deliver ─▶ finalize) ─▶ release ─▶ observe

`trigger` and `deploy` start work; `work` moves what is due. Read kernel/flow/executions.py next: it is the flow, step
by step. The rest of the kernel is one file per step. What people manage, list and control is in resources/: each call
is for one workspace, and never sees or touches what is another's.

Each call imports what it uses when it is first made: a process that only looks has no use for the flow.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, assert_never

from tidings.domain.caller import Caller
from tidings.domain.errors import RendererUnavailable
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Claimed, Kind, Lane
from tidings.resources.every import Resources
from tidings.storage.define import Version

if TYPE_CHECKING:
    from tidings.kernel.campaigns.start_run import Deployment, Recipient
    from tidings.kernel.manage.observe import Check
    from tidings.kernel.manage.resolve import Resolution
    from tidings.kernel.start.check import Trigger
    from tidings.kernel.start.trigger import Started

__all__ = ["Check", "Deployment", "Engine", "Recipient", "Resolution", "Started", "Trigger", "Version", "Workspace"]

DEFAULT = Workspace()
_FLOW = ("tidings.kernel.campaigns.rollup", "tidings.kernel.flow.executions", "tidings.kernel.flow.jobs")
_HOMES = {
    "Check": "tidings.kernel.manage.observe",
    "Deployment": "tidings.kernel.campaigns.start_run",
    "Recipient": "tidings.kernel.campaigns.start_run",
    "Resolution": "tidings.kernel.manage.resolve",
    "Started": "tidings.kernel.start.trigger",
    "Trigger": "tidings.kernel.start.check",
}


def __getattr__(name: str) -> object:
    """Import what callers hand in and get back when it is first named."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tidings.engine' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


class Engine(Resources):
    """Defines, starts and moves work; its resources show and control it. Safe to use from many tasks at once."""

    def import_everything(self) -> None:
        """Import now what the first calls would: a service must not stop for that once it has begun."""
        self.make_all()
        for module in _FLOW:
            import_module(module)

    async def define(self, name: str, definition: Mapping[str, object], workspace: Workspace = DEFAULT) -> Version:
        """Check a workflow and freeze it as a new version; the same definition again changes nothing."""
        from tidings.kernel.start.define import define_workflow

        return (await define_workflow(self.kernel, Caller(workspace, "engine"), name, definition)).version

    async def trigger(
        self, workflow: str, data: Mapping[str, object], idempotency_key: str, workspace: Workspace = DEFAULT
    ) -> "Started":
        """Start one execution; the same key again returns the same execution."""
        from tidings.kernel.start.check import Trigger
        from tidings.kernel.start.trigger_batch import BatchKey

        key = BatchKey(workspace, workflow, Lane.TRANSACTIONAL, None)
        return await self.trigger_batches.start(key, Trigger(idempotency_key, data))

    async def trigger_many(
        self, workflow: str, triggers: "Sequence[Trigger]", workspace: Workspace = DEFAULT
    ) -> "list[Started]":
        """Start many executions, one transaction per shard; safe to repeat."""
        from tidings.kernel.start.trigger import trigger

        return await trigger(self.kernel, workspace, workflow, triggers)

    async def deploy(self, deployment: "Deployment", workspace: Workspace = DEFAULT) -> "Started":
        """Start a run of a campaign; the same key again returns the same run."""
        from tidings.kernel.campaigns.start_run import deploy

        return await deploy(self.kernel, Caller(workspace, "engine"), deployment)

    async def claim(self, shard: Shard, lane: Lane, limit: int = 100) -> list[Claimed]:
        """Lease what is due in one shard and lane."""
        from tidings.kernel.flow.claim import claim_due

        return await claim_due(self.kernel, shard, lane, limit)

    async def next_due(self, shard: Shard) -> Mapping[Lane, datetime]:
        """Return when each lane of a shard has work next."""
        from tidings.kernel.flow.claim import next_due

        return await next_due(self.kernel, shard)

    async def move(self, shard: Shard, lane: Lane, claimed: Sequence[Claimed]) -> None:
        """Do for each lease what comes next, and end it."""
        from tidings.kernel.process.together import all_of

        by_kind: dict[Kind, list[Claimed]] = {}
        for lease in claimed:
            by_kind.setdefault(lease.kind, []).append(lease)
        moves = [self._move(shard, lane, kind, leases) for kind, leases in by_kind.items()]
        await all_of(*moves)  # at the same time, so that slow calls of one kind hold up none of another

    async def _move(self, shard: Shard, lane: Lane, kind: Kind, leases: Sequence[Claimed]) -> None:
        from tidings.kernel.campaigns.rollup import work_runs
        from tidings.kernel.flow.claim import give_back
        from tidings.kernel.flow.executions import work_executions
        from tidings.kernel.flow.jobs import work_jobs

        try:
            match kind:
                case Kind.EXECUTION:
                    await work_executions(self.kernel, shard, lane, leases)
                case Kind.JOB:
                    await work_jobs(self.kernel, shard, lane, leases)
                case Kind.RUN:
                    await work_runs(self.kernel, shard, leases)
                case _:
                    assert_never(kind)
        except RendererUnavailable:
            await give_back(self.kernel, shard, leases)  # this machine's trouble must not count against the work
            raise

    async def work(self, shard: Shard, lane: Lane, limit: int = 100) -> int:
        """Move what is due in one shard and lane; return how many rows were claimed."""
        claimed = await self.claim(shard, lane, limit)
        await self.move(shard, lane, claimed)
        return len(claimed)

    async def work_everything(self, limit: int = 100) -> int:
        """Move whatever is due until nothing is, in this task alone; for tests, examples and small scripts."""
        moved = 0
        while True:
            round_ = [
                await self.work(shard, lane, limit) for shard in self.kernel.every_shard() for lane in reversed(Lane)
            ]
            if not any(round_):
                return moved
            moved += sum(round_)

    async def verify(self) -> "list[Check]":
        """Check the promises on the live database."""
        from tidings.kernel.manage.observe import verify_promises

        return await verify_promises(self.kernel)

    async def close(self) -> None:
        """Release slots, connections, providers and the rendering process."""
        await self.kernel.shares.give_back()
        await self.kernel.call_counts.close()
        await self.kernel.notifier.close()
        for provider in self.kernel.providers.values():
            await provider.close()
        await self.kernel.connections.close()
        await self.kernel.renderer.close()
        await self.kernel.db.close()
