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
"""Marked's constructor, which the type checker keeps from everybody else: what it makes stands for a committed mark."""
