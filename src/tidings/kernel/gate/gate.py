"""The gate: may this leave now? One question, asked before every mark, and again before a call that has waited.

Reached from windows.py, which acts on its answers. Adding a reason is adding a GateCheck to the list.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.hosts import HOSTED_CHANNELS
from tidings.domain.flow.item import Marked, Reserved
from tidings.domain.flow.queue import Lane
from tidings.domain.people.contact import LoadedContact
from tidings.kernel.gate.answer import Later, Never, Now
from tidings.kernel.gate.check import GateCheck, Item, Recheck
from tidings.kernel.gate.consents import Consents
from tidings.kernel.gate.erased import ErasedItems
from tidings.kernel.gate.lateness import Lateness
from tidings.kernel.gate.limits import SendingPlaces
from tidings.kernel.gate.paused_sequences import PausedSequences
from tidings.kernel.gate.providers import ProviderReadiness
from tidings.kernel.gate.rules import RulesOfItems
from tidings.kernel.gate.stopped import StoppedOwners
from tidings.kernel.kernel import Kernel


class Gate:
    """The checks of one batch; each reads for all items at once, and only what is too old."""

    def __init__(
        self,
        kernel: Kernel,
        lane: Lane,
        people: Mapping[UUID, LoadedContact],
        now: datetime,
        *,
        rules: RulesOfItems | None = None,
        paused: PausedSequences | None = None,
    ) -> None:
        self._draining = kernel.draining
        self.stopped = StoppedOwners(kernel.stops, lane)
        self.lateness = Lateness()
        self.providers = ProviderReadiness(kernel, lane)
        self.paused = paused or PausedSequences(kernel)
        self.places = SendingPlaces(kernel)
        consents = Consents(kernel, people, now)
        self._rechecks: Sequence[Recheck] = (rules, consents) if rules else (consents,)
        # The first check that objects to an item answers: checks that end it come before those that make it wait.
        ends = (ErasedItems(), *self._rechecks, self.lateness)
        self._checks: Sequence[GateCheck] = (*ends, self.providers, self.paused, self.places)

    def watch(self, items: Sequence[Item]) -> None:
        """From now on ask only the checks that can object to these items, which are all that the batch will mark."""
        self._checks = [check for check in self._checks if check.concerns(items)]
        self._rechecks = [check for check in self._rechecks if check.concerns(items)]

    async def ask(self, items: Sequence[Item], now: datetime) -> Mapping[UUID, Later | Never]:
        """Return what must not be marked now, and why; items that are not in the answer may be."""
        asks = [ask for check in self._checks if (ask := await check.prepare(items, now))]
        answers: dict[UUID, Later | Never] = {}
        for item in items if asks else ():
            for ask in asks:
                if not isinstance(answer := ask(item), Now):
                    answers[item.id] = answer
                    break
        return answers

    def still_allows(self, marked: Marked, item: Reserved, now: datetime) -> bool:
        """Whether a call may begin now, by the answers given before its mark and what was learned since.

        False is no refusal: its mark is taken back, and it is asked about anew.
        """
        if (
            self._draining.is_set()
            or self.stopped.is_stopped(marked)
            or self.places.is_spent(marked.id, now)
            or self.providers.outages.is_out(marked.provider, now)
            or (marked.channel in HOSTED_CHANNELS and self.providers.outages.hosts.is_resting(marked, now))
        ):
            return False
        for check in self._rechecks:  # noqa: SIM110 – any() would make a generator for each call
            if check.is_old_for(item):
                return False
        return True
