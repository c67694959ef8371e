"""Limit how fast each tenant may ask, in this process, and share that between its workspaces and their keys."""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from tidings.http.errors import TooManyRequests
from tidings.resources.identity import Identity

ACTIVE_SECONDS = 10.0
"""How long after its last request a workspace or key has a share kept for it."""
MOST_TENANTS = 10_000
PLENTY = 50
"""Of fewer tokens than that every single one is accounted for."""


@dataclass(slots=True)
class _Tokens:
    """The tokens of a tenant, of one of its workspaces, or of a key; and those among whom it is shared."""

    left: float
    at: float
    parts: "OrderedDict[Hashable, _Tokens]" = field(default_factory=OrderedDict)

    def refill(self, now: float, per_second: float) -> None:
        """Add what has come since; a second's worth may be kept."""
        self.left = min(max(per_second, 1.0), self.left + (now - self.at) * per_second)
        self.at = now

    def part_of(self, name: Hashable, now: float) -> "_Tokens":
        """Return the part of one that asks now, at first a single token; forget those that have not asked for long."""
        parts = self.parts
        while parts and next(iter(parts.values())).at < now - ACTIVE_SECONDS:
            parts.popitem(last=False)
        part = parts.get(name)
        if part is None:
            part = parts[name] = _Tokens(1.0, now)
        parts.move_to_end(name)
        return part


class RateLimit:
    """Tokens return to a tenant at `per_second`; a second's worth may be spent at once. 0 means no limit.

    Each workspace that asks, and each of its keys and people, has an equal part of them kept for it, and may spend what
    the others leave. What is kept may be spent ahead of the tenant's own tokens, by a second's worth, so that a flood
    that has just spent them all makes nobody wait.
    """

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._clock = clock
        self._tenants: dict[str, _Tokens] = {}

    def spend(self, identity: Identity) -> None:
        """Take one token, or say when there will be one."""
        if not self._per_second:
            return
        now, most = self._clock(), max(self._per_second, 1.0)
        tenant = self._tenant(identity.workspace.tenant, now)
        tenant.refill(now, self._per_second)
        if tenant.left > max(most / 2, PLENTY):  # enough for everybody, and no need to know who asks
            tenant.left -= 1
            return
        workspace, key, share = self._parts(tenant, identity, now)
        if key.left >= 1 and tenant.left > -most:
            charged = [key, workspace, tenant]
        elif workspace.left >= 1 and tenant.left > -most:
            charged = [workspace, tenant]
        elif tenant.left >= 1:
            charged = [tenant]
        else:
            raise self._too_many((1 - key.left) / share)
        for one in charged:
            one.left -= 1

    def _parts(self, tenant: _Tokens, identity: Identity, now: float) -> tuple[_Tokens, _Tokens, float]:
        """Return the tokens of the workspace and the key, and the tokens a second that are the key's."""
        workspace = tenant.part_of(identity.workspace.name, now)
        rate = self._per_second / len(tenant.parts)
        workspace.refill(now, rate)
        key = workspace.part_of(identity.id, now)
        rate /= len(workspace.parts)
        key.refill(now, rate)
        return workspace, key, rate

    def _tenant(self, name: str, now: float) -> _Tokens:
        if name not in self._tenants and len(self._tenants) >= MOST_TENANTS:
            idle = now - ACTIVE_SECONDS
            self._tenants = {one: tokens for one, tokens in self._tenants.items() if tokens.at >= idle}
        return self._tenants.get(name) or self._tenants.setdefault(name, _Tokens(max(self._per_second, 1.0), now))

    def _too_many(self, seconds: float) -> TooManyRequests:
        wait = max(1, math.ceil(seconds))
        return TooManyRequests(
            f"this tenant may ask {self._per_second:g} times a second, shared by workspaces and keys; wait {wait} s",
            wait,
        )
