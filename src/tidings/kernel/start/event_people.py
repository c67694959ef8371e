"""The contacts among an event's people: reads them as they are now, and keeps nothing of those deleted meanwhile.

Reached from event.py and resources/events.py. A contact is in a shard of its own, so it is read beside the event's
transaction and not in it.
"""

from tidings.domain.errors import EventInvalid
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.people.recipients import CONTACT_ID
from tidings.domain.rules.event import IncomingEvent
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.contacts import find_deleted, load_people
from tidings.kernel.people.erase import erase_work
from tidings.kernel.people.references import find_contacts, no_contact


async def meet_people(kernel: Kernel, event: IncomingEvent) -> IncomingEvent:
    """Return the event with its contacts as they are now; one that names none costs nothing."""
    if not event.contacts:
        return event
    return event.attach_contacts(await load_people(kernel, [id for _, id in event.contacts]))


async def find_people(kernel: Kernel, workspace: Workspace, event: IncomingEvent) -> IncomingEvent:
    """Return the event with the ids of its contacts; raise EventInvalid for a person whose contact does not exist."""
    named = event.named_contacts
    found = await find_contacts(kernel, workspace, named.values())
    problems = [no_contact(f"{who}.{CONTACT_ID}", one) for who, one in named.items() if one not in found]
    if problems:
        raise EventInvalid(problems)
    return event.with_contacts({who: found[one] for who, one in named.items() if one != str(found[one])})


async def forget_deleted(kernel: Kernel, shard: Shard, event: IncomingEvent) -> None:
    """Erase what was just stored about contacts that are deleted by now: their deletion may have run before that."""
    if event.contacts:
        await erase_work(kernel, shard, await find_deleted(kernel, [id for _, id in event.contacts]))
