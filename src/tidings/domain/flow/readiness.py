"""Which provider serves a channel, and why work waits although it is due. Pure; kernel/readiness.py reads the
facts.

Whether a channel is ready is configuration, never liveness: a route to a provider's name. Whether its work is done now
depends on the live workers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from tidings.domain.channels import MESSAGE_CHANNELS, Channel
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.queue import Lane

FUNCTIONS = "functions"
"""The provider of functions: it comes with every worker, so its channel needs no route."""
PRINTING = "console-"
"""How the names of providers begin that print messages instead of sending them; no other provider may be named so."""
LIVE_FOR = timedelta(seconds=30)
"""How long after it was last seen a worker counts as live: several heartbeats, and a pause of a busy machine."""
NO_WORKER = "no worker is running"


@dataclass(frozen=True, slots=True)
class Service:
    """What a worker can call through one provider."""

    provider_class: str
    channels: tuple[Channel, ...]
    concurrency: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Staff:
    """Of the live workers: which lanes they work on, and which providers they serve on which lanes."""

    lanes: frozenset[Lane]
    serving: frozenset[tuple[Lane, str]]

    def serves(self, provider: str, lane: Lane | None = None) -> bool:
        """Whether a worker can call a provider for work of a lane, or of any lane."""
        names = (provider, every_of_kind(provider.partition("/")[0]))
        return any(name in names and lane in (None, its_lane) for its_lane, name in self.serving)

    def lack_of_lane(self, *lanes: Lane) -> str | None:
        """Why no worker does the work of these lanes, if so."""
        if not self.lanes:
            return NO_WORKER
        missing = sorted(set(lanes) - self.lanes)
        return f"no worker works on the lane {missing[0].name.lower()}" if missing else None

    def lack_of(self, provider: str, lane: Lane | None = None) -> str | None:
        """Why no worker can call a provider for work of a lane, or of any lane, if so."""
        if not self.lanes:
            return NO_WORKER
        if not self.serves(provider):
            return f"no worker serves {provider}"
        if lane is not None and not self.serves(provider, lane):
            return f"no worker serves {provider} on the lane {lane.name.lower()}"
        return None


def every_of_kind(kind: str) -> str:
    """Return the name under which a worker says that it serves every connection of a kind."""
    return f"{kind}/*"


def is_printing(provider: str) -> bool:
    """Whether what goes through this provider is only printed."""
    return provider.startswith(PRINTING)


def channels_needing_routes(channels: Iterable[Channel]) -> list[Channel]:
    """Those of some channels that need a route, each once, in the order in which channels are listed."""
    wanted = set(channels)
    return [channel for channel in MESSAGE_CHANNELS if channel in wanted]


def find_route(
    routes: Mapping[tuple[Workspace | None, Channel], str], workspace: Workspace, channel: Channel
) -> str | None:
    """The provider that serves a channel in a workspace: its own, or else every workspace's."""
    own = FUNCTIONS if channel is Channel.FUNCTION else None
    return routes.get((workspace, channel)) or routes.get((None, channel)) or own
