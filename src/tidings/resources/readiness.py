"""Say of what people have written which of its channels no provider is set up for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from tidings.domain.flow.ids import Workspace
from tidings.kernel.calls.readiness import find_unrouted
from tidings.kernel.kernel import Kernel
from tidings.resources.sequence_shown import ShownSequence
from tidings.storage.campaigns import ShownCampaign
from tidings.storage.rules import ShownRule

Written = TypeVar("Written", ShownSequence, ShownCampaign, ShownRule)


async def with_readiness(kernel: Kernel, workspace: Workspace, shown: Sequence[Written]) -> list[Written]:
    """The same, each with those of its channels that are not ready; all of them by one look at the routes."""
    missing = set(await find_unrouted(kernel, workspace, {channel for one in shown for channel in one.channels}))
    if not missing:
        return list(shown)
    return [replace(one, not_ready=[channel for channel in one.channels if channel in missing]) for one in shown]
