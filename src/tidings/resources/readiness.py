"""Say of what people have written which of its channels no provider is set up for."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.kernel.kernel import Kernel
from tidings.kernel.readiness import find_unrouted
from tidings.storage.workflows import ShownWorkflow


async def with_readiness(kernel: Kernel, workspace: Workspace, shown: Sequence[ShownWorkflow]) -> list[ShownWorkflow]:
    """The same, each with those of its channels that are not ready; all of them by one look at the routes."""
    missing = set(await find_unrouted(kernel, workspace, {channel for one in shown for channel in one.channels}))
    if not missing:
        return list(shown)
    return [replace(one, not_ready=[channel for channel in one.channels if channel in missing]) for one in shown]


async def find_unready(kernel: Kernel, workspace: Workspace, channels: Iterable[Channel]) -> frozenset[Channel]:
    """Those of some channels that no provider is set up for."""
    return frozenset(await find_unrouted(kernel, workspace, set(channels)))
