"""Write whom a message is from into it, before its payload is frozen: the sender that it names, or the default.

Read anew within a second of a change, so a new address counts for everything that is written from then on. Reached
from wherever messages are rendered: flow/plan.py, flow/jobs.py and start/event_drafts.py.
"""

from collections.abc import Collection
from datetime import datetime
from functools import partial

from tidings.domain.channels import SENDER
from tidings.domain.content.message import MessageContent
from tidings.domain.content.sender import WorkspaceSenders, with_sender
from tidings.domain.content.template import RenderFailed
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Payload
from tidings.kernel.kernel import Kernel
from tidings.kernel.render.renderer import Rendered
from tidings.storage import senders
from tidings.storage.acting import EVERYONE, act_for


async def know_senders(kernel: Kernel, workspaces: Collection[Workspace], now: datetime) -> None:
    """Refresh the senders of these workspaces if they are stale."""
    if stale := kernel.senders.stale(workspaces, now):
        with act_for(EVERYONE):  # what is known is the whole process's
            found = await kernel.db.persist(partial(senders.read_senders, workspaces=stale), alone=True)
        kernel.senders.update(found, now)


async def find_senders(kernel: Kernel, workspace: Workspace) -> WorkspaceSenders:
    """Return the senders of a workspace as they are at this moment."""
    read = partial(senders.read_senders, workspaces=[workspace])
    return (await kernel.db.persist(read, alone=True))[workspace]


def sent_by(
    kernel: Kernel, workspace: Workspace, message: MessageContent, result: Rendered | RenderFailed
) -> Payload | RenderFailed:
    """Return what a provider gets of a message that was rendered, or why nothing; know_senders has been called."""
    made = message.payload(result.fields) if isinstance(result, Rendered) else result
    named = message.content.get(SENDER)
    if isinstance(made, RenderFailed):
        return made
    try:
        return with_sender(made, kernel.senders.of(workspace).fields(message.channel, str(named) if named else None))
    except ValueError as error:
        return RenderFailed(f"sender: {error}")
