"""Reopen a failed execution where it failed: the only way back from failed to queued.

What was sent stays sent, and what may have been sent is left alone; only items whose calls are known to have come to
nothing are tried again, and calls of functions that are declared idempotent. Pure: kernel/manage/replay.py reads, asks
here, and writes.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tidings.domain.flow.execution import Frontier, Ready
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Lane


class FailedExecution(msgspec.Struct, frozen=True):
    """What deciding needs to know of a failed execution."""

    frontier: Frontier
    vars: Mapping[str, object]
    error: str | None
    error_node: str | None
    lane: Lane
    version_id: UUID | None = None
    idempotent: frozenset[str] = frozenset()
    """The nodes whose calls may be repeated whatever became of them."""


class TriedItem(msgspec.Struct, frozen=True):
    """What deciding needs to know of an item of a failed execution."""

    id: UUID
    node: str
    status: ItemStatus
    in_doubt: bool
    marks: int
    """How many calls were ever marked for it."""
    is_uncertain: bool
    """Its last call has no certain answer, whatever was decided about it since."""

    @property
    def may_have_arrived(self) -> bool:
        """Whether a further call could deliver twice."""
        return self.in_doubt or (self.status is ItemStatus.FAILED and self.is_uncertain)


class Reopening(msgspec.Struct, frozen=True):
    """What a reopened execution looks like, and what becomes of its items."""

    frontier: Frontier
    cursor: str | None
    vars: Mapping[str, object]
    requeued: Sequence[UUID]
    """Tried again with the payload they have, and fresh attempts."""
    forgotten: Sequence[UUID]
    """Never called for, and perhaps never rendered: their node is planned anew."""


class ReplayRefused(msgspec.Struct, frozen=True):
    """Why an execution is not reopened."""

    reason: str


def reopen(failed: FailedExecution, items: Sequence[TriedItem], due_at: datetime) -> Reopening | ReplayRefused:
    """Decide about one failed execution and its items; the node that failed is due at the given time.

    An item in doubt of an idempotent function stays so: the worker that claims the execution next calls for it again.
    """
    if failed.error_node not in failed.idempotent and (refused := _doubt_about(failed.error_node, items)):
        return refused
    frontier, node = failed.frontier, failed.error_node
    requeued, forgotten = _again(items, {ready.node for ready in frontier.ready}, failed.idempotent)
    ready = tuple(Ready(one.node, due_at) if one.node == node else one for one in frontier.ready)
    first = min(ready, key=lambda one: (one.due_at, one.node != node), default=None)
    return Reopening(
        frontier=Frontier(ready, frontier.arrived, frontier.dead),
        cursor=first.node if first else None,
        vars={name: value for name, value in failed.vars.items() if name != node},
        requeued=requeued,
        forgotten=forgotten,
    )


def _doubt_about(node: str | None, items: Sequence[TriedItem]) -> ReplayRefused | None:
    """Why the node that failed must not be tried again, if all it failed to do may have arrived."""
    own = [item for item in items if item.node == node]
    undone = [item for item in own if item.status is ItemStatus.FAILED] or own
    if not own or not all(item.may_have_arrived for item in undone):
        return None
    if any(item.in_doubt for item in own):
        return ReplayRefused(f"what {node!r} sent is in doubt; resolve its items first")
    return ReplayRefused(f"nobody knows whether what {node!r} sent has arrived; trigger anew if it must be sent again")


def _again(
    items: Sequence[TriedItem], standing: Collection[str], idempotent: Collection[str]
) -> tuple[list[UUID], list[UUID]]:
    """The items that are tried again, and those that are forgotten so that their node is planned anew.

    Of every node the execution stands at, not only of the one that failed: giving an execution up fails them all.
    """
    requeued: list[UUID] = []
    forgotten: list[UUID] = []
    for node in standing:
        own = [item for item in items if item.node == node]
        # Items that exist are the plan of their node, so they are forgotten all together or not at all.
        if all(item.status is ItemStatus.FAILED and item.marks == 0 for item in own):
            forgotten += [item.id for item in own]
        else:
            failed = [item for item in own if item.status is ItemStatus.FAILED]
            requeued += [item.id for item in failed if node in idempotent or not item.may_have_arrived]
    return requeued, forgotten
