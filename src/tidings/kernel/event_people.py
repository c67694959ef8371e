"""The contacts among an event's people: who they are now, and that nothing is kept of those deleted meanwhile.

Reached from events.py and products/events.py. A contact is in a shard of its own, so it is read beside the event's
transaction and not in it.
"""

from tidings.domain.errors import EventInvalid, Problem
from tidings.domain.event import Event
from tidings.domain.ids import Shard, Workspace
from tidings.domain.recipients import CONTACT_ID
from tidings.kernel.erase import erase_work
from tidings.kernel.kernel import Kernel
from tidings.kernel.people import find_deleted, find_nobody, load_people


async def meet_people(kernel: Kernel, event: Event) -> Event:
    """The event with its contacts as they are now; one that names none costs nothing."""
    if not event.contacts:
        return event
    return event.introduce(await load_people(kernel, [id for _, id in event.contacts]))


async def check_people(kernel: Kernel, workspace: Workspace, event: Event) -> None:
    """Raise EventInvalid for whoever says to be a contact and is none of the workspace."""
    nobody = await find_nobody(kernel, workspace, [id for _, id in event.contacts])
    problems = [
        Problem(f"{who}.{CONTACT_ID}", f"there is no contact {id} in this workspace; create it first, or leave it out")
        for who, id in event.contacts
        if id in nobody
    ]
    if problems:
        raise EventInvalid(problems)


async def forget_deleted(kernel: Kernel, shard: Shard, event: Event) -> None:
    """Erase what was just stored about contacts that are deleted by now: their deletion may have looked before."""
    if event.contacts:
        await erase_work(kernel, shard, await find_deleted(kernel, [id for _, id in event.contacts]))
