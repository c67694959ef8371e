"""A provider that reaches nobody and remembers what it was asked to send, and when."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, Marked, Payload
from tidings.domain.flow.outcome import Accepted, Outcome
from tidings.domain.flow.provider import Keyed, MayStart
from tidings.providers.acceptance import refusal_of
from tidings.providers.fake import FakeProvider
from tidings.storage.clock import Clock

CALLS_AT_ONCE = 500
FOR_EVER = timedelta(days=36_500)


@dataclass(frozen=True, slots=True)
class Message:
    """One call as the provider saw it: when, for whom, with what, and what it answered."""

    at: datetime
    channel: Channel
    recipient: str
    payload: Payload
    outcome: Outcome
    workspace: Workspace

    @property
    def was_accepted(self) -> bool:
        """Whether the person would have received it."""
        return isinstance(self.outcome, Accepted)


class Recorder(FakeProvider):
    """Accept whatever its channel can send, unless `answer` or `script` says otherwise.

    What the real channel would refuse, such as an e-mail without a subject, is refused here for the same reason.

    Its class is keyed: a repeat after doubt is the same message, so nothing is ever left to a person unless a test
    answers Unknown on purpose.
    """

    def __init__(self, channel: Channel, clock: Clock) -> None:
        super().__init__(
            f"recorded-{channel}",
            provider_class=Keyed(retention=FOR_EVER),
            concurrency=CALLS_AT_ONCE,
            record=False,  # it keeps its own, with the time
        )
        self.channel = channel
        self.messages: list[Message] = []
        self._clock = clock

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Answer as `answer` and `script` say, and keep the call."""
        at = self._clock.carried()
        outcome = refusal_of(self.channel, item) or await super().send(item, may_start)
        self.messages.append(Message(at, self.channel, item.recipient, item.payload, outcome, item.workspace))
        return outcome
