"""What the contacts of a batch allow (rule 14). An item that names no contact costs nothing."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.item import Reserved
from tidings.domain.people.contact import LoadedContact
from tidings.kernel.gate.answer import NOW, Answer, Never
from tidings.kernel.gate.check import FRESH, Ask, Item
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.contacts import read_consents

NOT_THERE = "there is no such contact"


class Consents:
    """What contacts allow, never older than two seconds when a mark is made or a call starts."""

    def __init__(self, kernel: Kernel, known: Mapping[UUID, LoadedContact], read_at: datetime) -> None:
        self._kernel, self._known, self._read_at = kernel, known, read_at

    def concerns(self, items: Sequence[Item]) -> bool:
        """Whether any of the items is for a contact."""
        return any(item.contact_id is not None for item in items)

    async def prepare(self, items: Sequence[Item], _now: datetime) -> Ask | None:
        """Read what the items' contacts allow, unless that was done a moment ago."""
        named = {item.contact_id for item in items if item.contact_id}
        if not named:
            return None
        if self._are_old() or not named <= self._known.keys():
            self._read_at = self._kernel.clock.carried()
            self._known = await read_consents(self._kernel, named)
        return self._answer

    def is_old_for(self, item: Reserved) -> bool:
        """Whether the consents of an item's contact, if it has one, must be read once more before it leaves."""
        return item.contact_id is not None and self._are_old()

    def _answer(self, item: Item) -> Answer:
        refusal = self._refusal(item)
        return Never(refusal) if refusal else NOW

    def _refusal(self, item: Item) -> str | None:
        if item.contact_id is None:
            return None
        person = self._known.get(item.contact_id)
        return person.refusal(item.channel) if person else NOT_THERE

    def _are_old(self) -> bool:
        return self._kernel.clock.carried() - self._read_at > FRESH
