"""Try a connection with one real message: a run of one item, which takes no other connection and keeps what was said.

Reached from connections.py. Nothing is sent past the outbox for that: a worker sends it, as it does everything.
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from time import monotonic
from uuid import UUID, uuid4

from tidings.domain.caller import Caller
from tidings.domain.channels import Channel
from tidings.domain.connections.connection import WorkspaceConnection
from tidings.domain.flow.ids import Workspace
from tidings.kernel.campaigns.start_run import Deployment, Recipient, deploy
from tidings.kernel.kernel import Kernel
from tidings.resources.runs import Runs
from tidings.storage import connections
from tidings.views.connections import ConnectionTest
from tidings.views.outbox import Item

LOOK_SECONDS = 0.1
SAYS = "This message tries out the connection {name}."
_CONTENT: Mapping[Channel, Mapping[str, str]] = {
    Channel.EMAIL: {"subject": "A test of {name}", "body": SAYS},
    Channel.PUSH: {"title": "A test", "body": SAYS},
    Channel.VOICE: {"script": SAYS},
}


class ConnectionTrials:
    """The tests of connections."""

    def __init__(self, kernel: Kernel, runs: Runs) -> None:
        self._kernel, self._runs = kernel, runs

    async def start(
        self, caller: Caller, one: WorkspaceConnection, to: str, content: Mapping[str, object] | None, wait: timedelta
    ) -> ConnectionTest:
        """Send one message, and wait a while for what becomes of it."""
        deployment = Deployment(
            campaign_id=one.id,
            idempotency_key=f"test:{one.id}:{uuid4()}",
            channel=one.channel,
            content=content or _content_of(one),
            recipients=[Recipient(to.strip())],
            is_test=True,
            provider=one.provider,
        )
        started = await deploy(self._kernel, caller, deployment)
        until = monotonic() + wait.total_seconds()
        while True:
            found = await self.look(caller.workspace, started.id)
            if found.done or monotonic() >= until:
                return found
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self, workspace: Workspace, run_id: UUID) -> ConnectionTest:
        """Return what has become of a test so far."""
        item = await self._item_of(workspace, run_id)
        if item is None:
            return ConnectionTest(run_id=run_id)
        shard = self._kernel.shard_of(item.id)
        read = partial(connections.read_dialogue, shard=shard, workspace=workspace, id=item.id)
        said = await self._kernel.db.persist(read, alone=True)
        if said is not None:
            # It may have been answered between these two. What was said is stored together with what became of it, so
            # an item that had ended before has its words, and one whose words are there has its end.
            item = await self._item_of(workspace, run_id) or item
        return ConnectionTest(
            run_id=run_id,
            item_id=item.id,
            status="in_doubt" if item.in_doubt else item.status,
            done=said is not None or item.status != "queued" or item.in_doubt,
            error=item.error,
            dialogue=said or (),
        )

    async def _item_of(self, workspace: Workspace, run_id: UUID) -> Item | None:
        items = (await self._runs.items(workspace, run_id)).items
        return items[0] if items else None


def _content_of(one: WorkspaceConnection) -> Mapping[str, object]:
    content = _CONTENT.get(one.channel, {"body": SAYS})
    return {name: text.format(name=one.name) for name, text in content.items()}
