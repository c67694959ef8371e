"""Read whom a simulation is for: an audience, and the contacts whose messages are shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from tidings.domain.errors import ScenarioInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.audience import Audience, read_audience
from tidings.domain.people.contact import ContactReference
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.references import find_contacts, name_audience, no_contact
from tidings.resources.segments import together
from tidings.storage.acting import for_workspace


@dataclass(frozen=True, slots=True)
class CrowdNames:
    """The names of the two fields or options, for error messages."""

    contacts: str = "contacts"
    messages_of: str = "messagesOf"


@for_workspace
async def read_crowd(
    kernel: Kernel,
    workspace: Workspace,
    contacts: Mapping[str, object] | None,
    messages_of: Sequence[ContactReference],
    names: CrowdNames | None = None,
) -> tuple[Audience | None, tuple[UUID, ...]]:
    """Return the audience, if any, and the ids of the contacts to show; raise ScenarioInvalid with every problem."""
    names = names or CrowdNames()
    found = await find_contacts(kernel, workspace, messages_of)
    problems = [
        no_contact(f"{names.messages_of}[{place}]", one) for place, one in enumerate(messages_of) if one not in found
    ]
    audience = None
    if contacts is not None:
        named = await name_audience(kernel, workspace, contacts, names.contacts)
        audience, wrong = read_audience(named.given, names.contacts, segments=False)
        problems += together(named, wrong)
    if problems:
        raise ScenarioInvalid(problems)
    return audience, tuple(dict.fromkeys(found[one] for one in messages_of))
