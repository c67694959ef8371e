"""The log of one execution: what each node saw and produced, how long it took, and its error, in the order of time.

A send's outbox items say what it did; execution_log says what other nodes did; the execution itself says what ended it
before its node could do anything.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.flow.graph import Graph, NodeType
from tidings.domain.flow.item import SUCCESSES, ItemStatus
from tidings.domain.flow.node_result import PARTIAL
from tidings.domain.flow.readiness import is_printing
from tidings.resources.node_context import bounded_context, results_before
from tidings.storage.executions import FoundExecution, LoggedItem, LoggedNode
from tidings.views.executions import Attempt, LogItem, LogLine

Json = Mapping[str, object]
Attempts = Mapping[UUID, Sequence[Attempt]]


def log_lines(
    execution: FoundExecution,
    graph: Graph,
    kinds: Mapping[str, str],
    nodes: Sequence[LoggedNode],
    items: Sequence[LoggedItem],
    attempts: Attempts,
) -> list[LogLine]:
    """Return one line for each node that did anything; `kinds` are the types of all nodes of its graph, in their order.

    An enrollment that was moved has been at nodes that its version does not have: a wait, or a message over a channel.
    """
    gone = dict.fromkeys((one.node for one in nodes), "delay") | {one.node: one.channel for one in items}
    kinds = {**{node: kind for node, kind in gone.items() if node not in kinds}, **kinds}
    lines = [_node_line(one, kinds) for one in nodes]
    for node, own in groupby(sorted(items, key=lambda item: item.node), key=lambda item: item.node):
        shown = [_item(one, attempts.get(one.id, ())) for one in own]
        lines.append(_item_line(node, kinds, shown, execution.vars.get(node)))
    told = {line.node for line in lines}
    if execution.error_node and execution.error_node not in told:
        lines.append(_end_line(execution, execution.error_node, kinds))
    order = {node: place for place, node in enumerate(kinds)}
    lines.sort(key=lambda line: (line.started_at or line.ended_at or execution.created_at, order[line.node]))
    beside = {one.node: one.seen or () for one in nodes} | {one.node: one.seen or () for one in items}
    return _with_contexts(lines, execution, graph, beside)


def _with_contexts(
    lines: Sequence[LogLine], execution: FoundExecution, graph: Graph, beside: Mapping[str, Collection[str]]
) -> list[LogLine]:
    """Add to each line the context that its node saw."""
    shown: list[LogLine] = []
    told: set[str] = set()
    for line in lines:
        results = results_before(graph, line.node, told, beside.get(line.node, ()), execution.vars)
        shown.append(_with_context(line, execution.input, results))
        told.add(line.node)
    return shown


def _with_context(line: LogLine, given: Json, results: Json) -> LogLine:
    """Add to a line what its node saw; a branch's row holds the contact as it was, or an older copy of it all."""
    if line.kind != NodeType.BRANCH:
        return replace(line, context=bounded_context(given, results))
    saw = line.saw or {}
    copied = saw if saw.keys() == {"data", "vars"} else {"data": {**given, **saw}, "vars": results}
    context = bounded_context(_object(copied["data"]), _object(copied["vars"]))
    return replace(line, context=context, saw={"data": context.data, "vars": context.vars})


def _object(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _node_line(logged: LoggedNode, kinds: Mapping[str, str]) -> LogLine:
    return LogLine(
        node=logged.node,
        kind=kinds[logged.node],
        status=logged.status,
        attempts=1,
        started_at=logged.started_at,
        ended_at=logged.at,
        duration_ms=_milliseconds(logged.started_at, logged.at),
        saw=logged.saw,
        produced=logged.output,
        error=logged.error,
    )


def _item_line(node: str, kinds: Mapping[str, str], items: Sequence[LogItem], result: object) -> LogLine:
    """Show, of several recipients, the one that went best, or that not all were reached, as `vars` does."""
    best = min(items, key=lambda item: _rank(item.status))
    started_at = min((item.started_at for item in items if item.started_at), default=None)
    ends = [item.ended_at for item in items if item.ended_at]
    ended_at = max(ends) if len(ends) == len(items) else None
    told = _object(result)
    is_partial = told.get("status") == PARTIAL
    return LogLine(
        node=node,
        kind=kinds[node],
        status=PARTIAL if is_partial else best.status,
        attempts=max(item.attempts for item in items),
        started_at=started_at,
        ended_at=ended_at,
        duration_ms=_milliseconds(started_at, ended_at),
        saw=best.saw,
        produced=best.produced,
        error=str(told.get("error")) if is_partial else next((item.error for item in items if item.error), None),
        items=items,
    )


def _rank(status: str) -> tuple[bool, bool, str]:
    return status not in SUCCESSES, status != "in_doubt", status


def _item(item: LoggedItem, failed: Sequence[Attempt]) -> LogItem:
    # An item that was never called for ended the moment it was written.
    started_at = item.first_marked_at or (item.finalized_at and item.created_at)
    return LogItem(
        id=item.id,
        channel=item.channel,
        provider=item.provider,
        printed=is_printing(item.provider),
        recipient=item.recipient,
        status="in_doubt" if item.in_doubt else item.status,
        attempts=item.attempts,
        saw=item.payload,
        produced=_produced(item),
        message_id=item.message_id,
        error=item.error,
        started_at=started_at,
        ended_at=item.finalized_at,
        duration_ms=_milliseconds(started_at, item.finalized_at),
        failed_attempts=failed,
    )


def _produced(item: LoggedItem) -> Mapping[str, object] | None:
    if item.result is not None:
        return {"status": item.status, "result": item.result}
    if item.status in SUCCESSES:
        return {"status": item.status, "messageId": item.message_id}
    return None


def _end_line(execution: FoundExecution, node: str, kinds: Mapping[str, str]) -> LogLine:
    return LogLine(
        node=node,
        kind=kinds[node],
        status=ItemStatus.FAILED,
        attempts=0,
        started_at=None,
        ended_at=execution.ended_at,
        duration_ms=None,
        saw=None,
        produced=None,
        error=execution.error,
    )


def _milliseconds(start: datetime | None, end: datetime | None) -> int | None:
    return (end - start) // timedelta(milliseconds=1) if start and end else None
