"""How much may leave through one connection, over all workers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

MOST = 1_000_000_000
EVERY_DOMAIN = "*"


@dataclass(frozen=True, slots=True)
class Period:
    """A time that a limit is about, counted in parts; see `take_places` in storage/schema.sql."""

    name: str
    part_ms: int
    own_parts: int

    @property
    def part_seconds(self) -> float:
        """How long a part is."""
        return self.part_ms / 1_000

    @property
    def parts(self) -> int:
        """How many parts are counted: two more than make up the period, so that it holds wherever the period begins."""
        return self.own_parts + 2


SECOND, MINUTE, DAY = Period("second", 200, 5), Period("minute", 5_000, 12), Period("day", 3_600_000, 24)
PERIODS = (SECOND, MINUTE, DAY)


@dataclass(frozen=True, slots=True)
class RateRule:
    """The most messages to a domain (all of them without a name) in a period."""

    domain: str
    period: Period
    most: int


class RateLimits(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """The most messages in any second, any minute, and any 24 hours; None is no limit."""

    per_second: int | None = None
    per_minute: int | None = None
    per_day: int | None = None

    def rules(self, domain: str) -> Iterator[RateRule]:
        """Yield these limits, for a domain."""
        for period, most in zip(PERIODS, (self.per_second, self.per_minute, self.per_day), strict=True):
            if most is not None:
                yield RateRule(domain, period, most)


class SendingLimits(RateLimits, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Those of a connection: also its calls under way, those for the addresses of a domain, and its first days."""

    concurrency: int | None = None
    """Calls under way at once."""
    per_domain: Mapping[str, RateLimits] = msgspec.field(default_factory=dict)
    """By the domain of an e-mail address; `*` is for each domain that is not named."""
    warm_up: list[int] = msgspec.field(default_factory=list)
    """The most messages on the first day, the second day, and so on; after the last there is no such limit."""
    overflow: bool = False
    """Whether messages take the next connection while a limit leaves no place, instead of waiting for one."""

    @property
    def has_rates(self) -> bool:
        """Whether messages need a place."""
        return bool(self.per_second or self.per_minute or self.per_day or self.per_domain or self.warm_up)

    def domain_of(self, recipient: str) -> str:
        """Return the domain whose limits a recipient falls under; empty when only the connection's own count."""
        if not self.per_domain:
            return ""
        domain = recipient.rpartition("@")[2].lower().rstrip(".") if "@" in recipient else ""
        return domain if domain and (domain in self.per_domain or EVERY_DOMAIN in self.per_domain) else ""

    def rules_for(self, domains: "list[str]") -> list[RateRule]:
        """Return every limit that messages to some domains fall under, each once."""
        found = list(self.rules(""))
        if self.warm_up and self.per_day is None:
            found.append(RateRule("", DAY, MOST))
        for domain in domains:
            if domain:
                found += (self.per_domain.get(domain) or self.per_domain[EVERY_DOMAIN]).rules(domain)
        return found

    @property
    def shortest_part(self) -> float:
        """Within how many seconds after its place was taken a call must begin."""
        rules = self.rules_for([*self.per_domain])
        return min((one.period.part_seconds for one in rules), default=DAY.part_seconds)


NO_LIMITS = SendingLimits()
