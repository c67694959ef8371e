"""How much may leave through one connection, over all workers."""

from collections.abc import Mapping

import msgspec

MOST = 1_000_000_000


class RateLimits(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """The most messages in any second, any minute, and any 24 hours; None is no limit."""

    per_second: int | None = None
    per_minute: int | None = None
    per_day: int | None = None


class SendingLimits(RateLimits, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Those of a connection: also its calls under way, those for the addresses of a domain, and its first days."""

    concurrency: int | None = None
    """Calls under way at once."""
    per_domain: Mapping[str, RateLimits] = msgspec.field(default_factory=dict)
    """By the domain of an e-mail address; `*` is for each domain that is not named."""
    warm_up: list[int] = msgspec.field(default_factory=list)
    """The most messages on the first day, the second day, and so on; after the last there is no such limit."""


NO_LIMITS = SendingLimits()
