"""How late a message may be: what would leave later than its author wants is skipped, with the reason.

A send of a sequence and an item of a run are judged alike: when they are planned, and again before every mark.
"""

from datetime import datetime, timedelta

import msgspec

from tidings.domain.flow.execution import ExecutionState
from tidings.domain.flow.graph import Graph, Send


class Appointment(msgspec.Struct, frozen=True):
    """When something was to leave, and how late it may be."""

    planned_at: datetime
    longest: timedelta

    def lateness(self, now: datetime) -> str | None:
        """Why it is too late to be sent, or None when it is not."""
        late = now - self.planned_at
        if late <= self.longest:
            return None
        planned = f"it was planned for {self.planned_at.isoformat()}, and may be late by {_whole(self.longest)}"
        return f"late by {_whole(late)}: {planned}"


def appointment_of(graph: Graph, execution: ExecutionState, node: str) -> Appointment | None:
    """When the send that an execution stands at was scheduled to leave; None if it is never too late."""
    send = graph.doers[node]
    if not isinstance(send, Send) or send.max_lateness is None:
        return None
    ready = next((one for one in execution.frontier.ready if one.node == node), None)
    return Appointment(ready.planned_at or ready.due_at, send.max_lateness) if ready else None


def _whole(span: timedelta) -> timedelta:
    return timedelta(seconds=int(span.total_seconds()))
