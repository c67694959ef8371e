"""Whose turn it is where more is due than can be claimed at once (rule 19).

Turns go round between tenants first, then between a tenant's workspaces (fair_order.py). One alone gets every turn.
kernel/flow/turns.py asks while claims come back full. Nothing here matters after a crash: every worker shares out what
it claims itself, and a sum of fair shares is fair.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop
from time import monotonic

from tidings.domain.flow.ids import Shard, tenant_part
from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.fair_order import MOST_REMEMBERED, FairOrder
from tidings.kernel.calls.weights import Weights

Place = tuple[Shard, Lane]
FIRST = -(2**63)
"""Before the first workspace's hash."""
LOOK_AGAIN_SECONDS = 0.25
"""How long a look at who has work is good for: a newcomer waits that long, and a backlog costs a look that often."""
SHARE_OF_TIME = 20
"""A look takes at most one twentieth of the time, however many workspaces there are."""
SHARE_WHEN_TOLD = 4
"""A fifth, while others' work is notified all the time."""
LITTLE = 10
"""Who has at most this part of a claim to do shares it with others who have as little."""


class LaneTurns:
    """The turns of one lane, in every shard: between tenants, and inside each between its workspaces."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._tenants = FairOrder()
        self._workspaces: dict[int, FairOrder] = {}

    def next_turn(self, due: Mapping[int, float], limit: int) -> list[int]:
        """Return who may claim together now: one that has much to do, or several that have little, all of it.

        It counts as served. Those with little share a batch, so that a thousand of them are not a thousand batches.
        """
        little, chosen = max(1, limit // LITTLE), list[int]()
        waiting = self._in_order(due, limit)
        while waiting and limit > 0:
            _, workspace = heappop(waiting)
            if due[workspace] > little and chosen:
                continue  # it has the next turn to itself
            chosen.append(workspace)
            limit -= self._serve(workspace, min(due[workspace], limit))
            if due[workspace] > little:
                break
        self._forget({tenant_part(workspace) for workspace in due})
        return chosen

    def _in_order(self, due: Mapping[int, float], limit: int) -> list[tuple[float, int]]:
        """The workspaces by where their turns begin: a tenant's second after what its first takes of its share."""
        inside = defaultdict[int, list[int]](list)
        for workspace in due:
            inside[tenant_part(workspace)].append(workspace)
        order = []
        for tenant, workspaces in inside.items():
            start, weight = self._tenants.start(tenant), self._weights.of_tenant(tenant)
            if len(workspaces) > 1:
                workspaces.sort(key=self._workspaces.setdefault(tenant, FairOrder()).start)
            for workspace in workspaces:
                order.append((start, workspace))
                start += min(due[workspace], limit) / weight
        heapify(order)
        return order

    def _serve(self, workspace: int, count: float) -> int:
        tenant = tenant_part(workspace)
        if inside := self._workspaces.get(tenant):  # one alone needs no order
            inside.serve(workspace, count / self._weights.of_workspace(workspace))
        self._tenants.serve(tenant, count / self._weights.of_tenant(tenant))
        return int(count)

    def _forget(self, waiting: set[int]) -> None:
        if len(self._workspaces) > MOST_REMEMBERED:
            self._workspaces = {tenant: one for tenant, one in self._workspaces.items() if tenant in waiting}


class DueWork:
    """Who has work in one shard and lane, as last looked up; looking goes on where the last look ended."""

    def __init__(self) -> None:
        self.is_contested = False
        """Whether more was due than one claim took, when it was last asked."""
        self.due: dict[int, float] = {}
        self.after = FIRST
        self._good_until = self._not_before = 0.0

    @property
    def is_old(self) -> bool:
        """Whether it is time to look again."""
        return monotonic() >= self._good_until

    def expire(self) -> None:
        """Have it looked up again as soon as looking may take more time: somebody may have come."""
        self._good_until = min(self._good_until, self._not_before)

    def note_full(self) -> None:
        """Note that a claim took as much as it could, so that there may be others who wait."""
        self.is_contested = self.is_contested or self.is_old

    def learn(self, due: Mapping[int, float], last: int | None, seconds: float) -> None:
        """Take over a look that found these from `after` up to `last`, or up to the end (None)."""
        end = last if last is not None else -FIRST
        self.due = {one: count for one, count in self.due.items() if not self.after < one <= end} | dict(due)
        self.after = FIRST if last is None else last
        self.is_contested = len(self.due) > 1
        self._not_before = monotonic() + SHARE_WHEN_TOLD * seconds
        self._good_until = monotonic() + max(LOOK_AGAIN_SECONDS, SHARE_OF_TIME * seconds)

    def took(self, wanted: Iterable[int], taken: Mapping[int, int], *, is_all: bool) -> None:
        """Note what a claim took of those whose turn it was; where it could have taken more, they have no more."""
        for workspace in wanted:
            self.due[workspace] = 0 if is_all else self.due.get(workspace, 0) - taken.get(workspace, 0)
            if self.due[workspace] <= 0:
                del self.due[workspace]


class Turns:
    """The turns of this process in every shard and lane."""

    def __init__(self, weights: Weights) -> None:
        self._lanes = {lane: LaneTurns(weights) for lane in Lane}
        self._work: dict[Place, DueWork] = defaultdict(DueWork)

    def work(self, place: Place) -> DueWork:
        """What is known of one shard and lane."""
        return self._work[place]

    def choose(self, place: Place, limit: int, may_claim: Callable[[int], bool]) -> list[int]:
        """Return whose turn it is, of those who have work and may have more of it under way here."""
        wanting = {one: count for one, count in self._work[place].due.items() if may_claim(one)}
        return self._lanes[place[1]].next_turn(wanting, limit) if wanting else []
