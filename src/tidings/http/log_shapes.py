"""What the log of an execution looks like."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from tidings.http.shapes import Attempt, Json, Printed, Shape


class LogItem(Shape):
    """What became of one message or call of a node."""

    id: UUID
    channel: str
    provider: str
    printed: Printed
    recipient: str
    status: str = Field(description="The item's status, or `in_doubt`.")
    attempts: int
    saw: Any = Field(description="What was rendered.")
    produced: Any
    message_id: str | None
    error: str | None
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: float | None
    failed_attempts: list[Attempt]


class LogContext(Shape):
    """What there was when a node's turn came."""

    data: Json = Field(description="What the execution was given.")
    vars: Json = Field(description="What nodes before had produced, as `vars` in its templates had it.")
    left_out: list[str] = Field(description="The places of the largest values, where all together are above 64 KiB.")


class LogLine(Shape):
    """What one node saw, did and produced."""

    node: str
    kind: str
    status: str
    attempts: int
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: float | None
    saw: Any
    produced: Any
    error: str | None
    items: list[LogItem]
    context: LogContext
