"""Claim by turns where more is due than one claim takes: find out who has work, and whose turn it is (rule 19).

Reached from claim.py. While everything that is due fits into a claim, nothing here asks the database. Once it does not,
the workspaces with work are looked up a few times a second, each in one step through an index.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from math import inf
from time import monotonic

from tidings.domain.flow.queue import Claimed
from tidings.kernel import crash_points
from tidings.kernel.kernel import Kernel
from tidings.kernel.process.claim_turns import FIRST, Place
from tidings.kernel.readiness import refresh_weights
from tidings.storage import claim, turns
from tidings.storage.claim import Claim, ClaimScope
from tidings.storage.database import TransientFailure
from tidings.storage.turns import DueWorkspace

MOST_LOOKED_AT = 1_000
"""How many workspaces one look goes through; the next goes on behind them."""
LEAVING_SECONDS = 2.0
EVERYBODY = 0
"""Stands for no workspace: how far looks at all of them have come is remembered under it."""


async def whose_turn(kernel: Kernel, place: Place, limit: int) -> list[int] | None:
    """Return of which workspaces to claim; None where a claim may take whatever is due first."""
    work = kernel.turns.work(place)
    is_open = kernel.in_hand.is_open(place[1])
    if is_open and not work.is_contested:
        return None
    if work.is_old:
        await _look(kernel, place, limit)
        if is_open and not work.is_contested:
            return None
    chosen = kernel.turns.choose(place, limit, partial(kernel.in_hand.may_claim, place[1]))
    if not chosen:
        work.expire()  # what was known of is taken: the next claim looks again
    return chosen


async def claim_turn(kernel: Kernel, place: Place, whose: Sequence[int], limit: int) -> list[Claimed]:
    """Lease what is due of these workspaces; a claim whose answer was lost is read back by its own expiry time."""
    now, (shard, lane) = await kernel.clock.now(), place
    until = kernel.lease_until(now)
    since = min(kernel.claim_floor.to_claim((shard, lane, one), now) for one in whose)
    scope = ClaimScope(shard, lane, since, now, until, limit, kernel.elsewhere.notes(now))
    try:
        async with kernel.db.autocommit() as tx:
            claimed = (
                await turns.claim_due_of(tx, workspace_hash=whose[0], scope=scope)
                if len(whose) == 1
                else await turns.claim_due_of_some(tx, workspace_hashes=whose, scope=scope)
            )
    except TransientFailure:
        claimed = await read_back(kernel, place, until)
    _note(kernel, place, whose, claimed, is_all=len(claimed.leases) < limit, now=now)
    crash_points.reach("after_claim")
    return claimed.leases


async def read_back(kernel: Kernel, place: Place, until: datetime) -> Claim:
    """Read back a claim whose answer was lost, by its own expiry time, for as long as that takes.

    A worker that is to leave waits only a moment more for its database: what it may have claimed expires by itself.
    """
    shard, lane = place
    find = partial(claim.reread_claim, shard=shard, lane=lane, lease_until=until)
    reading = asyncio.ensure_future(kernel.db.persist(find, alone=True))
    leaving = asyncio.ensure_future(kernel.draining.wait())
    try:
        await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({reading}, timeout=LEAVING_SECONDS)
        return Claim(reading.result() if reading.done() else [], reached=None)
    finally:
        reading.cancel()
        leaving.cancel()
        await asyncio.gather(reading, leaving, return_exceptions=True)


def _note(kernel: Kernel, place: Place, whose: Sequence[int], claimed: Claim, *, is_all: bool, now: datetime) -> None:
    """Remember what is taken: who has nothing left, and where the next claims begin."""
    (shard, lane), floor = place, kernel.claim_floor
    places = [(shard, lane, one) for one in whose]
    if claimed.suspect_due_at:  # it was taken alone: everybody keeps what they have
        floor.suspected(place, claimed.suspect_due_at, now)
        for each in places:
            floor.suspected(each, claimed.suspect_due_at, now)
        return
    taken = Counter(lease.workspace_hash for lease in claimed.leases)
    kernel.turns.work(place).took(whose, taken, is_all=is_all)
    for each in places if claimed.reached and (is_all or len(places) == 1) else ():
        floor.took(each, claimed.reached or now, now)


async def _look(kernel: Kernel, place: Place, limit: int) -> None:
    await refresh_weights(kernel, await kernel.clock.now())
    (shard, lane), work, now = place, kernel.turns.work(place), await kernel.clock.now()
    since = kernel.claim_floor.to_look((shard, lane, EVERYBODY), now)
    started, is_whole = monotonic(), work.after == FIRST
    find = partial(
        turns.find_due_workspaces,
        shard=shard,
        lane=lane,
        after=work.after,
        since=since,
        now=now,
        most=limit,
        limit=MOST_LOOKED_AT,
    )
    found = await kernel.db.persist(find, alone=True)
    due = {one.workspace_hash: float(one.due) if one.due < limit else inf for one in found if one.due}
    last = found[-1].workspace_hash if len(found) == MOST_LOOKED_AT else None
    work.learn(due, last, monotonic() - started)
    if found and is_whole and last is None:
        _raise_floors(kernel, place, found, now)


def _raise_floors(kernel: Kernel, place: Place, found: Sequence[DueWorkspace], now: datetime) -> None:
    """Let claims and looks begin at the first row there is; a workspace's own begin no later than its first."""
    shard, lane = place
    for one in found:
        kernel.claim_floor.found((shard, lane, one.workspace_hash), one.due_at)
    earliest = min(one.due_at for one in found)
    for each in (place, (shard, lane, EVERYBODY)):
        kernel.claim_floor.took(each, min(earliest, now), now)
