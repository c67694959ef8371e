"""Messages on the terminal instead of in the post: to see what would be sent, before a real provider is set up.

Chosen by name (the setting `print`), never a stand-in for a provider that is missing. What was printed counts as such:
the name of the provider says it, wherever an item is shown.
"""

import sys
from datetime import timedelta

from tidings.domain.flow.item import Channel, Marked, in_reading_order
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater
from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Keyed, MayStart
from tidings.domain.flow.readiness import PRINTING
from tidings.log import log
from tidings.providers.acceptance import refusal_of
from tidings.providers.printable import printable

LONGEST_LINE = 500
MOST_LINES = 40


class ConsoleProvider:
    """Prints each message of a channel on a terminal; elsewhere logs that there was one, and not what it says.

    Its class is keyed, with a retention longer than any item lives: the line carries an id made from the key, so a
    second line is seen to be the same message, and no person gets anything twice. Nothing is ever held in doubt.
    """

    provider_class = Keyed(retention=timedelta(days=36_500))
    concurrency = 100
    call_deadline = timedelta(seconds=5)

    def __init__(self, channel: Channel, *, on_terminal: bool | None = None) -> None:
        self.name = f"{PRINTING}{channel}"
        self._channel = channel
        self._on_terminal = sys.stdout.isatty() if on_terminal is None else on_terminal

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Print the recipient and the payload, cut short and with control characters escaped."""
        if not may_start():
            return RetryLater(reason="the lease was spent before the call", uses_attempt=False)
        if refusal := refusal_of(self._channel, item):
            return refusal
        message_id = f"console-{item.key.hex()[:32]}"
        if self._on_terminal:
            sys.stdout.write(_letter(self._channel, item))
            sys.stdout.flush()
        else:  # a server's log is read, kept and sent on by people whom the message is not for
            log.info("message_printed", channel=self._channel, item=str(item.id), message_id=message_id)
        return Accepted(message_id)

    async def look_up(self, item: Doubtful) -> Evidence:  # noqa: ARG002
        """Tell nothing: a terminal cannot be asked."""
        return CannotTell("a terminal cannot be asked")

    async def close(self) -> None:
        """Hold nothing, so let go of nothing."""


def _letter(channel: Channel, item: Marked) -> str:
    """The message as a person reads it, in one piece: several processes may share the terminal."""
    head = f"{channel} to {printable(item.recipient)} (printed, not sent)"
    lines = [f"  {line}" for name, text in in_reading_order(item.payload) for line in _field(printable(name), text)]
    return "\n".join([head, *lines]) + "\n"


def _field(name: str, text: str) -> list[str]:
    lines = [printable(line, LONGEST_LINE) for line in text.splitlines()[: MOST_LINES + 1]] or [""]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES] = "…"
    return [f"{name}: {lines[0]}", *(f"  {line}" for line in lines[1:])]
