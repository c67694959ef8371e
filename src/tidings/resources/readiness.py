"""Find the channels that something needs and that have no provider."""

from collections.abc import Iterable

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.kernel.kernel import Kernel
from tidings.kernel.readiness import find_unrouted


async def find_unready(kernel: Kernel, workspace: Workspace, channels: Iterable[Channel]) -> frozenset[Channel]:
    """Return those of the given channels that no provider is set up for."""
    return frozenset(await find_unrouted(kernel, workspace, set(channels)))
