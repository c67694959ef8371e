"""How late a send may be: what would leave later than its author wants is skipped, with the reason."""

from datetime import datetime, timedelta

from tidings.domain.execution import Execution
from tidings.domain.graph import Graph, Send


def lateness_of(graph: Graph, execution: Execution, node: str, now: datetime) -> str | None:
    """Why a send that is due is skipped, if it is too late: counted from the time its schedule planned.

    The execution is the one that decide() gave: its frontier has the planned time until the node's items exist.
    """
    send = graph.nodes[node]
    planned_at = next((ready.due_at for ready in execution.frontier.ready if ready.node == node), now)
    if not isinstance(send, Send) or send.max_lateness is None or now - planned_at <= send.max_lateness:
        return None
    late = timedelta(seconds=int((now - planned_at).total_seconds()))
    return f"late by {late}: it was planned for {planned_at.isoformat()}, and may be late by {send.max_lateness}"
