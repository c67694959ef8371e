"""Stored secrets as an operator sees them: which key sealed how many, and sealing all of them with the newest.

No secret is shown. Sealing anew is safe to repeat and to interrupt: each value is replaced by itself, and only where
nobody has set it meanwhile. Workers go on, as long as they have both keys.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial

from tidings.domain.errors import ConfigInvalid
from tidings.kernel.kernel import Kernel
from tidings.storage import reseal
from tidings.storage.acting import for_everyone
from tidings.storage.reseal import KINDS, PAGE, SealedValue
from tidings.views.secrets import Resealed, SealingKey, SecretsStatus

MOST_NAMED = 20
"""How many values that no key opens are named."""
Progress = Callable[[int], None]
"""Called with the number of values that were looked at so far."""


class Secrets:
    """The stored secrets of every workspace."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @for_everyone
    async def status(self) -> SecretsStatus:
        """Return how many secrets each of our keys has sealed, and which none of them opens."""
        counts, closed = Counter[int](), list[str]()
        async for value in self._every():
            number = self._kernel.vault.which_opens(value.sealed, value.place)
            if number is None:
                closed.append(str(value))
            else:
                counts[number] += 1
        names = self._kernel.vault.fingerprints
        keys = [SealingKey(key=name, secrets=counts[place], seals=place == 0) for place, name in enumerate(names)]
        return SecretsStatus(keys=keys, unopened=len(closed), unopened_places=closed[:MOST_NAMED])

    @for_everyone
    async def rotate(self, progress: Progress | None = None) -> Resealed:
        """Seal everything with the first key that another of our keys has sealed; what none opens stays as it is."""
        if not self._kernel.vault.has_key:
            raise ConfigInvalid(
                "without a key no secret opens: set TIDINGS_SECRET_KEY to the new key, a comma, the old"
            )
        self._kernel.vault.refresh()
        found = Counter[str]()
        async for value in self._every():
            found[await self._reseal(value)] += 1
            if progress and found.total() % PAGE == 0:
                progress(found.total())
        return Resealed(resealed=found["resealed"], already=found["already"], unopened=found["unopened"])

    async def _reseal(self, value: SealedValue) -> str:
        vault = self._kernel.vault
        number = vault.which_opens(value.sealed, value.place)
        if number is None:
            return "unopened"
        if number == 0:
            return "already"
        anew = vault.seal(vault.open(value.sealed, value.place), value.place)
        write = partial(reseal.reseal_value, value=value, resealed=anew)
        # What was set meanwhile was sealed by a process that has the new key first, or is found by the next rotation.
        return "resealed" if await self._kernel.db.persist(write, alone=True) else "already"

    async def _every(self) -> AsyncIterator[SealedValue]:
        for kind in KINDS:
            after: SealedValue | None = None
            while True:
                find = partial(reseal.list_sealed_values, kind=kind, after=after, limit=PAGE)
                page = await self._kernel.db.persist(find, alone=True)
                for value in page:
                    yield value
                if len(page) < PAGE:
                    break
                after = page[-1]
