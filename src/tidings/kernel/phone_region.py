"""Which country's the phone numbers of a workspace are that are written without a country's code.

Read anew within a second of a change. Reached from wherever such numbers are read: resources/, start/event.py and
flow/plan.py.
"""

from collections.abc import Collection
from datetime import datetime
from functools import partial

from tidings.domain.flow.ids import Workspace
from tidings.domain.people.address import NumbersOf
from tidings.kernel.kernel import Kernel
from tidings.storage import workspaces as storage
from tidings.storage.acting import EVERYONE, act_for


async def know_regions(kernel: Kernel, workspaces: Collection[Workspace], now: datetime) -> None:
    """Refresh the countries of these workspaces if they are stale."""
    if stale := kernel.regions.stale(workspaces, now):
        with act_for(EVERYONE):  # what is known is the whole process's
            found = await kernel.db.persist(partial(storage.read_phone_regions, workspaces=stale), alone=True)
        kernel.regions.update(found, now)


async def numbers_of(kernel: Kernel, workspace: Workspace) -> NumbersOf:
    """Return what to read a workspace's numbers with, as it is now."""
    await know_regions(kernel, [workspace], await kernel.clock.now())
    return NumbersOf(kernel.regions.of(workspace))
