"""The front door: everything Tidings does, on one page.

define ─▶ start ─▶ claim ─▶ plan ─▶ reserve ─▶ (mark ─▶ deliver ─▶ finalize) ─▶ release ─▶ observe

`trigger` and `deploy` start work; `work` moves what is due. Read kernel/flow/executions.py next: it is the flow, step
by step. The rest of the kernel is one file per step. What people manage, list and control is in resources/: each call
is for one workspace, and never sees or touches what is another's.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import assert_never

from tidings.domain.caller import Caller
from tidings.domain.errors import RendererUnavailable
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Claimed, Kind, Lane
from tidings.kernel.campaigns import start_run
from tidings.kernel.campaigns.rollup import work_runs
from tidings.kernel.campaigns.start_run import Deployment, Recipient
from tidings.kernel.flow.claim import claim_due, give_back, next_due
from tidings.kernel.flow.executions import work_executions
from tidings.kernel.flow.jobs import work_jobs
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage import observe
from tidings.kernel.manage.observe import Check
from tidings.kernel.manage.resolve import Resolution
from tidings.kernel.process.together import all_of
from tidings.kernel.start import define, trigger
from tidings.kernel.start.check import Trigger
from tidings.kernel.start.trigger import Started
from tidings.kernel.start.trigger_batch import BatchKey, TriggerBatches
from tidings.resources.access import Access
from tidings.resources.campaigns import Campaigns
from tidings.resources.contacts import Contacts
from tidings.resources.enrollments import Enrollments
from tidings.resources.events import Events
from tidings.resources.executions import Executions
from tidings.resources.functions import Functions
from tidings.resources.health import Health
from tidings.resources.outbox import Outbox
from tidings.resources.providers import Providers
from tidings.resources.rules import Rules
from tidings.resources.runs import Runs
from tidings.resources.secrets import Secrets
from tidings.resources.segments import Segments
from tidings.resources.sequences import Sequences
from tidings.resources.waiting import Waiting
from tidings.resources.workflows import Workflows
from tidings.resources.workspaces import TenancySettings
from tidings.storage.define import Version

__all__ = ["Check", "Deployment", "Engine", "Recipient", "Resolution", "Started", "Trigger", "Version", "Workspace"]

DEFAULT = Workspace()


class Engine:
    """Defines, starts and moves work; its resources show and control it. Safe to use from many tasks at once."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.trigger_batches = TriggerBatches(kernel)
        self.workflows = Workflows(kernel)
        self.executions = Executions(kernel, self.trigger_batches)
        self.contacts = Contacts(kernel)
        self.sequences = Sequences(kernel)
        self.enrollments = Enrollments(kernel, self.sequences)
        self.rules = Rules(kernel)
        self.events = Events(kernel)
        self.segments = Segments(kernel)
        self.campaigns = Campaigns(kernel)
        self.runs = Runs(kernel)
        self.outbox = Outbox(kernel)
        self.functions = Functions(kernel)
        self.secrets = Secrets(kernel)
        self.providers = Providers(kernel)
        self.waiting = Waiting(kernel)
        self.health = Health(kernel)
        self.access = Access(kernel)
        self.workspaces = TenancySettings(kernel)

    async def define(self, name: str, definition: Mapping[str, object], workspace: Workspace = DEFAULT) -> Version:
        """Check a workflow and freeze it as a new version; the same definition again changes nothing."""
        return (await define.define_workflow(self.kernel, Caller(workspace, "engine"), name, definition)).version

    async def trigger(
        self, workflow: str, data: Mapping[str, object], idempotency_key: str, workspace: Workspace = DEFAULT
    ) -> Started:
        """Start one execution; the same key again returns the same execution."""
        key = BatchKey(workspace, workflow, Lane.TRANSACTIONAL, None)
        return await self.trigger_batches.start(key, Trigger(idempotency_key, data))

    async def trigger_many(
        self, workflow: str, triggers: Sequence[Trigger], workspace: Workspace = DEFAULT
    ) -> list[Started]:
        """Start many executions, one transaction per shard; safe to repeat."""
        return await trigger.trigger(self.kernel, workspace, workflow, triggers)

    async def deploy(self, deployment: Deployment, workspace: Workspace = DEFAULT) -> Started:
        """Start a run of a campaign; the same key again returns the same run."""
        return await start_run.deploy(self.kernel, Caller(workspace, "engine"), deployment)

    async def claim(self, shard: Shard, lane: Lane, limit: int = 100) -> list[Claimed]:
        """Lease what is due in one shard and lane."""
        return await claim_due(self.kernel, shard, lane, limit)

    async def next_due(self, shard: Shard) -> Mapping[Lane, datetime]:
        """Return when each lane of a shard has work next."""
        return await next_due(self.kernel, shard)

    async def move(self, shard: Shard, lane: Lane, claimed: Sequence[Claimed]) -> None:
        """Do for each lease what comes next, and end it."""
        by_kind: dict[Kind, list[Claimed]] = {}
        for lease in claimed:
            by_kind.setdefault(lease.kind, []).append(lease)
        moves = [self._move(shard, lane, kind, leases) for kind, leases in by_kind.items()]
        await all_of(*moves)  # at the same time, so that slow calls of one kind hold up none of another

    async def _move(self, shard: Shard, lane: Lane, kind: Kind, leases: Sequence[Claimed]) -> None:
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

    async def verify(self) -> list[Check]:
        """Check the promises on the live database."""
        return await observe.verify_promises(self.kernel)

    async def close(self) -> None:
        """Release slots, connections, providers and the rendering process."""
        await self.kernel.shares.give_back()
        await self.kernel.notifier.close()
        for provider in self.kernel.providers.values():
            await provider.close()
        await self.kernel.renderer.close()
        await self.kernel.db.close()
