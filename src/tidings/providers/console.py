"""Messages as log lines: to see what would be sent, before a real provider is set up."""

from datetime import timedelta

import structlog

from tidings.domain.item import Channel, Marked
from tidings.domain.outcome import Accepted, Outcome, RetryLater
from tidings.domain.provider import CannotTell, Doubtful, Evidence, Keyed, MayStart
from tidings.providers.acceptance import refusal_of
from tidings.providers.printable import printable


class ConsoleProvider:
    """Logs one structured line for each message of a channel.

    Its class is keyed, with a retention longer than any item lives: the line carries an id made from the key, so a
    second line is seen to be the same message, and no person gets anything twice. Nothing is ever held in doubt.
    """

    provider_class = Keyed(retention=timedelta(days=36_500))
    concurrency = 100
    call_deadline = timedelta(seconds=5)

    def __init__(self, channel: Channel, *, name: str | None = None) -> None:
        self.name = name or f"console-{channel}"
        self._channel = channel
        self._event = f"{channel} message"
        self._log = structlog.get_logger()

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Log the recipient and the payload, cut short and with control characters escaped."""
        if not may_start():
            return RetryLater(reason="the lease was spent before the call", uses_attempt=False)
        if refusal := refusal_of(self._channel, item):
            return refusal
        message_id = f"console-{item.key.hex()[:32]}"
        # Payload keys stay inside one field: as keyword arguments they could replace the line's own.
        payload = {printable(name): printable(value) for name, value in item.payload.items()}
        self._log.info(self._event, message_id=message_id, recipient=printable(item.recipient), payload=payload)
        return Accepted(message_id)

    async def look_up(self, item: Doubtful) -> Evidence:  # noqa: ARG002
        """Tell nothing: log lines cannot be asked."""
        return CannotTell("log lines cannot be asked")

    async def close(self) -> None:
        """Hold nothing, so let go of nothing."""
