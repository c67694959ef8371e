"""How much each tenant and workspace has of something scarce, and how much more each may take (rule 19).

What can be had without end, slots for calls that may hang say, is not shared out by turns alone: who comes first would
have it all for as long as their calls hang. So each may take a slot only while it has fewer than sixteen times as many
as are free. One alone gets sixteen seventeenths of them, two get almost half each, and something is left for a newcomer
without knowing who may come (dynamic thresholds, Choudhury and Hahne 1998).
"""

from math import ceil

from tidings.domain.flow.ids import tenant_part
from tidings.kernel.calls.weights import Weights

GREED = 16
"""How many times as much as is free one may have, at a weight of 1."""
MOST_REMEMBERED = 1_000


class _Tenant:
    """What a tenant has."""

    __slots__ = ("count", "key")

    def __init__(self, key: int) -> None:
        self.key, self.count = key, 0


class _Account:
    """What a workspace has, and its tenant."""

    __slots__ = ("count", "tenant")

    def __init__(self, tenant: _Tenant) -> None:
        self.tenant, self.count = tenant, 0


class FairUse:
    """What is taken of one kind of thing, by workspace and tenant. Asked several times for each call."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._tenants: dict[int, _Tenant] = {}
        self._accounts: dict[int, _Account] = {}
        self.taken = 0

    def may_take(self, whose: int, free: int) -> bool:
        """Whether a workspace may take one more of what is free."""
        if free <= 0:
            return False
        # Who has no more than is free may take one by any weight: nearly always so.
        return self._account(whose).tenant.count <= free or self.more_for(whose, free) > 0

    def try_take(self, whose: int, free: int) -> bool:
        """Take one of what is free if a workspace may; both in one, since each call does it."""
        account = self._accounts.get(whose) or self._opened(whose)
        if free <= 0 or (account.tenant.count > free and self.more_for(whose, free) <= 0):
            return False
        account.count += 1
        account.tenant.count += 1
        self.taken += 1
        return True

    def more_for(self, whose: int, free: int) -> int:
        """How many more a workspace may take of what is free; what it takes makes less free."""
        account = self._account(whose)
        greed = GREED * self._weights.of_tenant(account.tenant.key)
        own = GREED * self._weights.of_workspace(whose)
        left = greed * free - account.tenant.count
        of_tenant = ceil(left / (1 + greed))
        of_workspace = ceil((own * left - account.count) / (1 + own))
        return max(0, min(of_tenant, of_workspace, free))

    def take(self, whose: int, count: int = 1) -> None:
        """Note that a workspace has taken some."""
        account = self._account(whose)
        account.count += count
        account.tenant.count += count
        self.taken += count

    def give_back(self, whose: int) -> None:
        """Note that a workspace has released one."""
        account = self._accounts[whose]
        account.count -= 1
        account.tenant.count -= 1
        self.taken -= 1

    def _account(self, whose: int) -> _Account:
        account = self._accounts.get(whose)
        return self._opened(whose) if account is None else account

    def _opened(self, whose: int) -> _Account:
        if len(self._accounts) >= MOST_REMEMBERED:
            self._accounts = {one: account for one, account in self._accounts.items() if account.count}
            self._tenants = {key: tenant for key, tenant in self._tenants.items() if tenant.count}
        key = tenant_part(whose)
        tenant = self._tenants.setdefault(key, _Tenant(key))
        account = self._accounts[whose] = _Account(tenant)
        return account
