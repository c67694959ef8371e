"""Whether an item is now too late to be sent, by its author's limit (domain/flow/lateness.py)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.item import Reserved
from tidings.domain.flow.lateness import Appointment
from tidings.kernel.gate.answer import NOW, Answer, Never
from tidings.kernel.gate.check import Ask, Item


class Lateness:
    """When the items of one batch were to leave, for those that have a limit."""

    def __init__(self) -> None:
        self.appointments: dict[UUID, Appointment] = {}  # by item

    def concerns(self, _items: Sequence[Item]) -> bool:
        """Whether any of the batch's items may be too late."""
        return bool(self.appointments)

    async def prepare(self, _items: Sequence[Item], now: datetime) -> Ask | None:
        """Ask only where something may be too late; what may have arrived already is not judged."""
        if not self.appointments:
            return None

        def answer(item: Item) -> Answer:
            appointment = self.appointments.get(item.id)
            if appointment is None or (isinstance(item, Reserved) and item.in_doubt):
                return NOW
            reason = appointment.lateness(now)
            return Never(reason) if reason else NOW

        return answer
