"""The one way to make a Marked. Used by mark.py after its commit, and by tidings.testing for tests of providers."""

from collections.abc import Callable
from typing import cast

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, Fence, ItemId, Marked, OwnerId, Payload

MakeMarked = Callable[
    [ItemId, OwnerId, Fence, int, int, Channel, str, str, Payload, bytes, Workspace],
    Marked,
]
make_marked = cast("MakeMarked", Marked)
"""The constructor of Marked, which the type checker denies to others: a Marked stands for a committed mark."""
