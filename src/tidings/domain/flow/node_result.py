"""The result of a node that acts, from its items: its failure, and what `vars` shows of it.

Reached from execution.py, once nothing of the node is open any more.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tidings.domain.flow.graph import Doer, Function, Send
from tidings.domain.flow.item import SUCCESSES, ItemStatus
from tidings.domain.timing import shown_time

if TYPE_CHECKING:
    from tidings.domain.flow.execution import ItemState

PARTIAL = "partial"
"""The status, in `vars` and in the log, of a node that reached only some of its recipients."""


def failure_of(node: Doer, items: Sequence["ItemState"]) -> str | None:
    """Why a node has failed, if so: one that reached only some of its recipients has."""
    failed = [item for item in items if item.status is ItemStatus.FAILED]
    if not failed:
        return None
    error = failed[0].error or "failed"
    if not any(item.status in SUCCESSES or item.in_doubt for item in items):
        return error
    # Several addresses of the one contact: reached at one of them, it is reached.
    return f"{len(failed)} of {len(items)} recipients failed: {error}" if isinstance(node, Send) and node.to else None


def result_of(node: Doer, items: Sequence["ItemState"], now: datetime) -> object:
    """What `vars.<node>` shows: a function's own result; for several recipients, the best result.

    Where results differ it shows the count of each, and `partial` where some failed.
    """
    best = items[0] if len(items) == 1 else min(items, key=_badness)
    if isinstance(node, Function) and best.status in SUCCESSES:
        return best.result
    shown: dict[str, object] = {"status": _word(best), "messageId": best.message_id, "at": shown_time(now)}
    error = best.error
    if len(items) > 1 and len(counts := Counter(map(_word, items))) > 1:
        shown["recipients"] = dict(counts)
        if best.status is not ItemStatus.FAILED and (failure := failure_of(node, items)):
            shown["status"], error = PARTIAL, failure
    return shown | {"error": error} if error else shown


def _word(item: "ItemState") -> str:
    return "in_doubt" if item.in_doubt else str(item.status)


def _badness(item: "ItemState") -> tuple[bool, bool, ItemStatus]:
    return item.status not in SUCCESSES, not item.in_doubt, item.status
